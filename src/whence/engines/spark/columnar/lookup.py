"""Rows of states by key, as Arrow columns: from what is decoded on this machine, or else by a job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import pyarrow as pa
import pyspark.sql.functions as F
from pyspark.sql import SparkSession

from whence.engines.spark.pages import Paging, TooLargeError
from whence.engines.spark.registry import Registry
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

    def find(self, name: str, positions: Sequence[int], keys: Sequence[pa.Array]) -> pa.Table:
        """The rows of a state that hold one of the keys, as its codec has them, and perhaps a few others.

        Of counts a row can have several, which add up. Of anything else, rows that are gone are not among them.
        """
        if not positions and len(self._registry[name].base) > self._paging.whole:
            raise TooLargeError
        parts = [self._in_base(name, positions, keys)]
        names = [f"c{at}" for at in positions]
        recent = self._registry.recent(name)
        parts += [heap.with_keys(names, keys) if names else heap.table() for heap in recent]
        return self._counted(self._registry.put_together(name, parts))

    def _in_base(self, name: str, positions: Sequence[int], keys: Sequence[pa.Array]) -> pa.Table:
        codec, segments = self._registry.codec(name), self._registry[name].base.segments
        schema = codec.schema
        if segments is None:
            return schema.empty_table()
        heaps = segments.heaps()
        if heaps is not None:
            names = [f"c{at}" for at in positions]
            found = [heap.with_keys(names, keys) if names else heap.table() for heap in heaps]
            return pa.concat_tables([schema.empty_table(), *found])
        frame = segments.frame
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
