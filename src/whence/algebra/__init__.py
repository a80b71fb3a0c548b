"""Annotations and deltas: the one place where they are added and negated."""
