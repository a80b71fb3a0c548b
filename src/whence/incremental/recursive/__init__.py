"""Recursive components: one core that deletes, re-proves and spreads, and strategies that differ in what they keep."""
