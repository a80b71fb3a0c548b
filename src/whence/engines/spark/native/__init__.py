"""What Spark computes itself: calls and casts for which its functions give exactly the values that ours give.

Each builder makes a column of columns, or None where Spark would answer differently; then Python does it.
"""
