"""The sorted copies of one segment: written by Spark, and read here a few bytes at a time."""

from __future__ import annotations

from collections.abc import Sequence

import pyspark.sql.functions as functions
from pyspark.sql import DataFrame

from whence.engines.spark.sorted_copy import GROUP_BYTES, GROUP_ROWS, CopyFile, SortedCopy
from whence.engines.spark.sorted_lookups import ELEMENT
from whence.storage.files.files import Files
from whence.storage.files.manifest import Segment
from whence.storage.files.sorted_copies import remove_copy, stored_copies, write_copy

# A file of a copy is made of about so many bytes of the segment.
PART = 1 << 26
SMALL_GROUPS = {
    "parquet.block.row.count.limit": str(GROUP_ROWS),
    "parquet.block.size": str(GROUP_BYTES),
    "parquet.writer.max-padding": "0",
}
_DESCRIPTION = "spark.job.description"


class SegmentCopies:
    def __init__(self, files: Files, segment: Segment, frame: DataFrame) -> None:
        self.bytes = segment.bytes
        self._files = files
        self._path = segment.path
        self._frame = frame

    def stored(self) -> list[SortedCopy]:
        return [self._open(order, sizes) for order, sizes in stored_copies(self._files, self._path).items()]

    def write(self, order: Sequence[str]) -> SortedCopy:
        frame = self._frame
        if order[0] == ELEMENT:
            frame = frame.withColumn(ELEMENT, functions.explode("support")).drop("support")
        context = frame.sparkSession.sparkContext
        parts = max(context.defaultParallelism, self.bytes // PART)
        ordered = frame.repartitionByRange(parts, *order).sortWithinPartitions(*order)
        before = context.getLocalProperty(_DESCRIPTION)
        context.setLocalProperty(_DESCRIPTION, f"whence: sort a copy by {', '.join(order)}")
        try:
            write_copy(self._files, self._path, order, ordered, SMALL_GROUPS)
        finally:
            context.setLocalProperty(_DESCRIPTION, before)  # type: ignore[arg-type] # None takes it away
        return self._open(order, stored_copies(self._files, self._path)[tuple(order)])

    def remove(self, copy: SortedCopy) -> None:
        remove_copy(self._files, self._path, copy.order)

    def _open(self, order: Sequence[str], sizes: dict[str, int]) -> SortedCopy:
        return SortedCopy(order, [CopyFile(path, size) for path, size in sizes.items()], self._files)
