"""Decision diagrams as integers: a node's annotations, worked on by the batch in compiled kernels.

They are not those of `algebra.diagrams`, which answer a question about one row: a node has an annotation for each of
its rows, finds those that a deleted leaf touches by an index, and ships them as bytes.
"""

from pathlib import Path

from whence.columns.kernel_cache import forget_stale_kernels

forget_stale_kernels(Path(__file__).parent)
