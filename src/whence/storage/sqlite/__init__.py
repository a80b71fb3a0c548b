"""A database that outlives its process: base rows, change feeds and definitions in SQLite, one process at a time.

Memory is ahead of the disk by at most one commit, the one that nobody has been told about yet.
"""
