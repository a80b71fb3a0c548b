"""Recursive components built on the cluster, round by round, every row with its support."""

from whence.engines.spark.recursion.building import build
from whence.engines.spark.recursion.rounds import Progress

__all__ = ["Progress", "build"]
