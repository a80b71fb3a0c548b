"""Frames on storage: written once, read from there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
from pyspark.sql import DataFrame

from whence.engines.spark.decoded_segment import Reachable
from whence.model.schema import Column
from whence.storage.files.manifest import Segment
from whence.storage.files.segments import SEGMENTS, columns_of_arrow, columns_of_frame
from whence.storage.files.store import Storage


class StorageHome:
    """Where an engine keeps its frames. A frame that was read from a segment knows which."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._segments: dict[int, tuple[DataFrame, Segment]] = {}
        # Of segments that were asked about.
        self._least: dict[str, int | None] = {}

    def keep(self, name: str, frame: DataFrame) -> DataFrame:  # noqa: ARG002 - a segment goes by a number
        segment = self._storage.write_segment(frame)
        return self.read(segment, columns_of_frame(frame.schema))

    def keep_table(self, name: str, table: pa.Table) -> DataFrame:  # noqa: ARG002 - likewise
        segment = self._storage.write_table(table)
        return self.read(segment, columns_of_arrow(table.schema))

    @property
    def scratch(self) -> Path | None:
        directory = self._storage.files.directory
        return None if directory is None else directory / SEGMENTS

    def read(self, segment: Segment, columns: tuple[Column, ...]) -> DataFrame:
        frame = self._storage.read_segment(segment, columns)
        self._segments[id(frame)] = (frame, segment)
        return frame

    def rows(self, frame: DataFrame) -> int:
        return self.segment(frame).rows

    def reachable(self, frame: DataFrame, most: int) -> Reachable | None:
        segment, directory = self.segment(frame), self._storage.files.directory
        if directory is None or segment.bytes > most:
            return None
        return Reachable(sorted((directory / segment.path).glob("*.parquet")), directory / SEGMENTS)

    def least_count(self, frame: DataFrame) -> int | None:
        """The least number in the column `n` of a kept frame, as the footers of its files have it, if that is known."""
        segment, directory = self.segment(frame), self._storage.files.directory
        if directory is None:
            return None
        if segment.path not in self._least:
            self._least[segment.path] = _least_count(sorted((directory / segment.path).glob("*.parquet")))
        return self._least[segment.path]

    def segment(self, frame: DataFrame) -> Segment:
        return self._segments[id(frame)][1]

    def retain(self, frames: Iterable[DataFrame]) -> None:
        """Between commits these are all that is read. Others are forgotten, and removed where no commit has them."""
        read = {id(frame) for frame in frames}
        self._least = {path: least for path, least in self._least.items() if path in self._paths()}
        others = [self._segments.pop(number)[1] for number in self._segments.keys() - read]
        self._storage.discard([segment for segment in others if self._storage.is_new(segment)])

    def discard(self, frame: DataFrame) -> None:
        """Nobody reads it any more, and it is in no commit."""
        _, segment = self._segments.pop(id(frame))
        self._storage.discard([segment])

    def _paths(self) -> set[str]:
        return {segment.path for _, segment in self._segments.values()}


def _least_count(files: Sequence[Path]) -> int | None:
    least: list[int] = []
    for file in files:
        try:
            footer = parquet.read_metadata(file)
        except pa.ArrowInvalid:
            # Whoever reads its rows says what is wrong with it.
            return None
        if footer.num_rows:
            at = footer.schema.names.index("n") if "n" in footer.schema.names else None
            groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
            found = [None if at is None else group.column(at).statistics for group in groups]
            if any(each is None or not each.has_min_max for each in found):
                return None
            least += [each.min for each in found if each is not None]
    return min(least, default=1)
