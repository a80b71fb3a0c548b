"""Rows of a forest as others read them: decoded when somebody looks, not before."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from whence.engines.local.forest.interning import Interner
from whence.engines.local.forest.layout import Array
from whence.engines.local.forest.values import ValueColumn
from whence.model.types import Row, Type, Value
from whence.model.updates import CountedDelta


class Change(NamedTuple):
    """Rows of a relation as the kernels have them: so many that come, and after them those that go."""

    ids: Array  # int32 [row, column]: interned values
    costs: Array  # one for each row, where there are costs
    come: int


class Decoder:
    """Integers to rows. A relation with a `value` has its costs in that column, and the others interned."""

    def __init__(
        self, interner: Interner, types: Sequence[Type], positions: Sequence[int], value: ValueColumn | None
    ) -> None:
        self.interner = interner
        self.types = types
        self.positions = positions
        self.value = value

    def rows(self, change: Change) -> list[Row]:
        """All rows of a change, those that come and those that go."""
        return list(zip(*self.columns(change), strict=True))

    def columns(self, change: Change) -> list[list[Value]]:
        columns: list[list[Value]] = [[]] * len(self.types)
        for at, position in enumerate(self.positions):
            columns[position] = self.interner.decode(change.ids[:, at])
        if self.value is not None:
            columns[self.value.position] = self.value.decode(change.costs)
        return columns


class ForestDelta(CountedDelta):
    """Rows that come and rows that go. Copies of their integers are kept, not the rows."""

    def __init__(self, decoder: Decoder, change: Change) -> None:
        self.decoder = decoder
        self.change = change
        self._rows: dict[Row, int] | None = None

    def reversed(self) -> ForestDelta:
        """What takes it back."""
        ids, costs, come = self.change
        turned = [np.concatenate([each[come:], each[:come]]) for each in (ids, costs)]
        return ForestDelta(self.decoder, Change(turned[0], turned[1], len(ids) - come))

    @property
    def totals(self) -> tuple[int, int]:
        return self.change.come, len(self.change.ids) - self.change.come

    def columns(self) -> tuple[Sequence[Sequence[Value]], Sequence[int]]:
        come, gone = self.totals
        return self.decoder.columns(self.change), [1] * come + [-1] * gone

    def _decoded(self) -> Mapping[Row, int]:
        if self._rows is None:
            rows = self.decoder.rows(self.change)
            self._rows = dict.fromkeys(rows[self.change.come :], -1)
            self._rows.update(dict.fromkeys(rows[: self.change.come], 1))
        return self._rows

    def __getitem__(self, row: Row) -> int:
        return self._decoded()[row]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._decoded())

    def __len__(self) -> int:
        return len(self.change.ids)

    def items(self) -> ItemsView[Row, int]:
        return self._decoded().items()
