"""State as versioned files, on any path that Spark reaches.

A commit is one new file that appears whole or not at all; nothing is ever written over. Large state lies beside it in
Parquet that Spark wrote, and counts from the moment a commit names it.
"""
