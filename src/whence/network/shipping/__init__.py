"""Ship operators: which of the derivations that a node finds it tells the row's node of, and when."""
