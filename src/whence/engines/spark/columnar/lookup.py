"""Rows of states by key, as Arrow columns: from what is decoded on this machine, or else by a job."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager

import pyarrow as pa
import pyspark.sql.functions as F
from pyspark.sql import SparkSession

from whence.engines.spark.decoded_segment import Heap
from whence.engines.spark.pages import Paging, TooLargeError
from whence.engines.spark.registry import COUNTS, Registry
from whence.engines.spark.types import arrow_frame

# Opens a phase of a view, in which jobs are counted.
Phase = Callable[[str, str], AbstractContextManager[None]]


class ColumnLookup:
    """What one commit looks up. It may touch so many bytes, and no more."""

    def __init__(self, spark: SparkSession, registry: Registry, paging: Paging, phase: Phase) -> None:
        self._spark = spark
        self._registry = registry
        self._paging = paging
        self._phase = phase
        self.touched = 0

    def find(
        self, name: str, positions: Sequence[int], keys: Sequence[pa.Array], *, used: Collection[int] | None = None
    ) -> pa.Table:
        """The rows of a state that hold one of the keys, as its codec has them, and perhaps a few others.

        Of counts a row can have several, which add up, and columns that are not `used` are left out. Of anything else,
        rows that are gone are not among them.
        """
        if not positions and len(self._registry[name].base) > self._paging.whole:
            raise TooLargeError
        codec = self._registry.codec(name)
        columns = codec.schema.names
        if used is not None and codec.kind == COUNTS:
            columns = [*(f"c{at}" for at in sorted(used)), codec.known]
        names = [f"c{at}" for at in positions]
        parts = [self._in_base(name, positions, keys, columns)]
        parts += [_found(heap, names, keys, columns) for heap in self._registry.recent(name)]
        return self._counted(self._registry.put_together(name, parts))

    def _in_base(
        self, name: str, positions: Sequence[int], keys: Sequence[pa.Array], columns: Sequence[str]
    ) -> pa.Table:
        codec, segments = self._registry.codec(name), self._registry[name].base.segments
        schema = pa.schema([codec.schema.field(column) for column in columns])
        if segments is None:
            return schema.empty_table()
        heaps = segments.heaps()
        if heaps is not None:
            names = [f"c{at}" for at in positions]
            return pa.concat_tables([schema.empty_table(), *(_found(heap, names, keys, columns) for heap in heaps)])
        frame = segments.frame.select(*columns)
        if positions:
            wanted = arrow_frame(self._spark, pa.table(list(keys), [f"k{at}" for at in range(len(keys))]))
            matches = []
            for number, position in enumerate(positions):
                left, right = frame[f"c{position}"], wanted[f"k{number}"]
                is_nullable = codec.relation.columns[position].nullable
                matches.append(left.eqNullSafe(right) if is_nullable else left == right)
            frame = frame.join(F.broadcast(wanted), matches, "left_semi")
        with self._phase(name, "fetch what the change touches"):
            return frame.toArrow().cast(schema)

    def _counted(self, found: pa.Table) -> pa.Table:
        self.touched += found.nbytes
        if self.touched > self._paging.touched:
            raise TooLargeError
        return found


def _found(heap: Heap, names: Sequence[str], keys: Sequence[pa.Array], columns: Sequence[str]) -> pa.Table:
    return heap.with_keys(names, keys, columns) if names else heap.table().select(columns)
