"""The rows of a relation, for whoever asks for them from outside of a commit."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import pyspark.sql.functions as functions

from whence.engines.spark.native.pieces import literal
from whence.engines.spark.registry import readable
from whence.engines.spark.types import rows_from_arrow
from whence.model.types import Row, Value

if TYPE_CHECKING:
    from whence.engines.spark.engine import SparkEngine


class Contents(Mapping[Row, int]):
    """The rows of a relation: looked up one by one, or brought here as a whole."""

    def __init__(self, engine: SparkEngine, name: str) -> None:
        self._engine = engine
        self._name = name

    def __getitem__(self, row: Row) -> int:
        self._engine.expect(self._name, [row])
        return readable(self._engine.registry[self._name], self._engine.relation(self._name)).counts[row]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._all)

    def items(self) -> ItemsView[Row, int]:
        return self._all.items()

    def values(self) -> ValuesView[int]:
        return self._all.values()

    def __len__(self) -> int:
        return len(self._all)

    @property
    def about(self) -> int:
        """How many rows there are; exact until some have changed since the last compaction."""
        return len(self._engine.registry[self._name].counts)

    def page(self, bound: Mapping[int, Value], offset: int, limit: int) -> list[tuple[Row, int]]:
        """Some of the rows that have these values at these positions, in one job or none."""
        state, relation = self._engine.registry[self._name], self._engine.relation(self._name)
        if state.base.segments is None:
            positions = tuple(sorted(bound))
            key = bound[positions[0]] if len(positions) == 1 else tuple([bound[position] for position in positions])
            found = readable(state, relation).matching(positions, key)
            return list(islice(((row, n) for row, n in found.items() if n > 0), offset, offset + limit))
        frame = self._engine.frame(self._name).where("n > 0")
        for position, value in bound.items():
            column = relation.columns[position]
            wanted = literal(value, column.type)
            frame = frame.where(functions.col(f"c{position}").eqNullSafe(wanted))
        table = frame.offset(offset).limit(limit).toArrow()
        return list(zip(rows_from_arrow(table, relation), table.column("n").to_pylist(), strict=True))

    @cached_property
    def _all(self) -> Mapping[Row, int]:
        state = self._engine.registry[self._name]
        if state.base.segments is None:
            return dict(readable(state, self._engine.relation(self._name)).counts)
        table = self._engine.frame(self._name).toArrow()
        rows = rows_from_arrow(table, self._engine.relation(self._name))
        return dict(zip(rows, table.column("n").to_pylist(), strict=True))
