"""A relation's rows during evaluation, found by any of their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from whence.model.types import Row, Value

Counted: TypeAlias = tuple[Row, int]


class Table:
    """Rows and how often each is there. Never changed once made, so that indexes stay true."""

    def __init__(self, counts: Mapping[Row, int]) -> None:
        self.counts = counts
        self._indexes: dict[tuple[int, ...], dict[tuple[Value, ...], list[Counted]]] = {}

    def __len__(self) -> int:
        return len(self.counts)

    def matching(self, positions: tuple[int, ...], values: tuple[Value, ...]) -> Sequence[Counted]:
        """The rows that hold `values` at `positions`."""
        index = self._indexes.get(positions)
        if index is None:
            index = self._indexes[positions] = self._index(positions)
        return index.get(values, ())

    def _index(self, positions: tuple[int, ...]) -> dict[tuple[Value, ...], list[Counted]]:
        index: dict[tuple[Value, ...], list[Counted]] = {}
        for row, count in self.counts.items():
            index.setdefault(tuple(row[position] for position in positions), []).append((row, count))
        return index


EMPTY = Table({})
