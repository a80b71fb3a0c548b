"""The questions that a database answers, each kind in a class of its own."""
