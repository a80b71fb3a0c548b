"""Proofs: why a row is in a view, step by step down to base rows."""
