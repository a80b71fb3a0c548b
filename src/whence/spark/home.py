"""Frames on storage: written once, read from there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame

from whence.engines.spark.decoded_segment import Reachable
from whence.engines.spark.payloads import Codec, CountPayload
from whence.engines.spark.registry import COUNTS
from whence.model.schema import Column, Relation
from whence.storage.files.manifest import Segment
from whence.storage.files.segments import SEGMENTS, columns_of_arrow, columns_of_frame
from whence.storage.files.store import Storage


class StorageHome:
    """Where an engine keeps its frames. A frame that was read from a segment knows which."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._segments: dict[int, tuple[DataFrame, Segment]] = {}

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

    def least_count(self, frame: DataFrame) -> int | None:
        segment = self.segment(frame)
        if not segment.rows:
            return 1
        return None if segment.counts is None else segment.counts[0]

    def counts(self, frame: DataFrame) -> tuple[int, int] | None:
        return self.segment(frame).counts

    def reachable(self, frame: DataFrame, most: int) -> Reachable | None:
        segment, directory = self.segment(frame), self._storage.files.directory
        if directory is None or segment.bytes > most:
            return None
        return Reachable(sorted((directory / segment.path).glob("*.parquet")), directory / SEGMENTS, segment.in_files)

    def projected(self, frame: DataFrame, relation: Relation, positions: Sequence[int], *, repeats: bool) -> DataFrame:
        segment = self.segment(frame).projected(positions, repeats=repeats)
        return self.read(segment, Codec(relation, CountPayload(), COUNTS).columns)

    def repeats(self, frame: DataFrame) -> bool:
        return self.segment(frame).repeats

    def segment(self, frame: DataFrame) -> Segment:
        return self._segments[id(frame)][1]

    def retain(self, frames: Iterable[DataFrame]) -> None:
        """Between commits these are all that is read. Others are forgotten, and removed where no commit has them."""
        read = {id(frame) for frame in frames}
        others = [self._segments.pop(number)[1] for number in self._segments.keys() - read]
        self._storage.discard([segment for segment in others if self._storage.is_new(segment)])

    def discard(self, frame: DataFrame) -> None:
        """Nobody reads it any more, and it is in no commit."""
        _, segment = self._segments.pop(id(frame))
        self._storage.discard([segment])
