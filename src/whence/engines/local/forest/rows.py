"""Rows of a forest as others read them: decoded when somebody looks, not before."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from whence.engines.local.forest.interning import Interner
from whence.engines.local.forest.layout import Array
from whence.engines.local.forest.values import ValueColumn
from whence.model.types import Row, Type, Value
from whence.model.updates import CountedDelta

# So many rows are made at a time, for those who may not want all of them.
_AT_A_TIME = 1 << 12


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


class ForestRows:
    """Rows that are there, as nodes; `present` reads their integers. Until the next commit."""

    def __init__(self, decoder: Decoder, nodes: Array, present: Callable[[Array], Change]) -> None:
        self._decoder = decoder
        self._nodes = nodes
        self._present = present

    def delta(self) -> ForestDelta:
        """All of them, as if they came now."""
        return ForestDelta(self._decoder, self._present(self._nodes))

    def differing(self, positions: Sequence[int]) -> Iterator[Row]:
        change, value = self._present(self._nodes), self._decoder.value
        columns = [change.ids[:, at] for at, position in enumerate(self._decoder.positions) if position in positions]
        if value is not None and value.position in positions:
            columns.append(change.costs)
        return iter(ForestRows(self._decoder, self._nodes[_first_of_each(columns, len(self))], self._present))

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[Row]:
        for start in range(0, len(self._nodes), _AT_A_TIME):
            yield from self._decoder.rows(self._present(self._nodes[start : start + _AT_A_TIME]))


def _first_of_each(columns: Sequence[Array], count: int) -> Array:
    """Where each combination of values stands first."""
    combined: Array = columns[0] if columns else np.zeros(count, np.int32)
    for column in columns[1:]:
        # Numbers below the number of rows, so that they can be multiplied by each other.
        numbers = np.unique(combined, return_inverse=True)[1]
        values, others = np.unique(column, return_inverse=True)
        combined = numbers * len(values) + others
    return np.unique(combined, return_index=True)[1]
