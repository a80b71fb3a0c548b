"""Decision diagrams as integers: a node's annotations, worked on by the batch in compiled kernels."""

from pathlib import Path

from whence.engines.local.forest.caching import forget_stale_kernels

forget_stale_kernels(Path(__file__).parent)
