"""Views without recursion over columns: the same plans and the same equation as in `counting/`, a batch at a time."""
