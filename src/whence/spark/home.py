"""Frames on storage: written once, read from there."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from whence.engines.spark.decoded_segment import ParquetSource, Points, Reachable
from whence.engines.spark.pages import Paging
from whence.engines.spark.payloads import Codec, CountPayload
from whence.engines.spark.registry import COUNTS
from whence.engines.spark.sorted_lookups import SortedLookups
from whence.engines.spark.types import column_names
from whence.model.schema import Column, Relation
from whence.spark.segment_copies import SegmentCopies
from whence.storage.files.files import Files
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

    def points(self, frame: DataFrame, codec: Codec[Any], paging: Paging, known: pa.Table | None) -> Points:
        segment, files = self.segment(frame), self._storage.files
        is_decoded = segment.bytes <= (paging.mapped if files.directory is not None else paging.fetched)
        if is_decoded:
            reachable = Reachable(partial(_sources, files, segment), segment.bytes, self._scratch, segment.in_files)
            return Points(reachable, codec.schema, known)
        # Copies lie beside the files, and are of all columns.
        if segment.bytes <= paging.fetched or segment.columns is not None:
            return Points(None, codec.schema)
        copies, names = SegmentCopies(files, segment, frame), column_names(codec.relation.arity)
        return Points(None, codec.schema, lookup=SortedLookups(copies, codec.schema, names))

    @property
    def _scratch(self) -> Path:
        """Where files are that nobody else reads, and that have no names."""
        return self.scratch or Path(tempfile.gettempdir())

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


def _sources(files: Files, segment: Segment) -> Iterator[ParquetSource]:
    """The files of a segment: where they are on this machine, or what is in them."""
    for entry in sorted(files.entries(segment.path)):
        if entry.name.endswith(".parquet"):
            path = f"{segment.path}/{entry.name}"
            yield pa.BufferReader(files.read(path)) if files.directory is None else files.directory / path
