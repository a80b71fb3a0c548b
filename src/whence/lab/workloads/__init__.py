"""Data to try views on, made from a seed: the same parameters always give the same rows."""
