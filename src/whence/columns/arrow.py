"""Rows that came as Arrow columns and stay so until somebody reads them one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, overload

from whence.algebra.deltas import add_to
from whence.model.schema import Relation
from whence.model.types import Row, Value
from whence.model.updates import CountedDelta

if TYPE_CHECKING:
    import pyarrow as pa


class ArrowRows(Sequence[Row]):
    """Rows in arrays of just the types that Arrow has for a relation's columns, each value checked."""

    def __init__(self, relation: Relation, arrays: Sequence[pa.Array]) -> None:
        self.relation = relation
        self.arrays = arrays

    def __len__(self) -> int:
        return len(self.arrays[0])

    @overload
    def __getitem__(self, at: int) -> Row: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Row]: ...

    def __getitem__(self, at: int | slice) -> Row | Sequence[Row]:
        return self._rows[at]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def values(self) -> list[list[Value]]:
        """The values, column by column."""
        return [
            column.type.from_arrow(array.to_pylist())
            for column, array in zip(self.relation.columns, self.arrays, strict=True)
        ]

    @cached_property
    def _rows(self) -> list[Row]:
        return list(zip(*self.values(), strict=True))


class ArrowDelta(CountedDelta):
    """Rows that all come, or all go. As a mapping it has as many entries as rows as long as these are all different."""

    def __init__(self, rows: ArrowRows, weight: int) -> None:
        self.rows = rows
        self.weight = weight

    def __getitem__(self, row: Row) -> int:
        return self._counts[row]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def totals(self) -> tuple[int, int]:
        return (len(self), 0) if self.weight > 0 else (0, len(self))

    def columns(self) -> tuple[Sequence[Sequence[Value]], Sequence[int]]:
        return self.rows.values(), [self.weight] * len(self)

    @cached_property
    def _counts(self) -> dict[Row, int]:
        counts: dict[Row, int] = {}
        add_to(counts, [(row, self.weight) for row in self.rows])
        return counts
