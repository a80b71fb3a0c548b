"""Recursive components on the cluster, round by round, every row with its support."""
