"""Rows of a forest's relations: all of them as a mapping that is read in place, and those that a change moved."""

from __future__ import annotations

from array import array
from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whence.columns.arrow import CountedColumns
from whence.columns.compiled import inlined, kernel
from whence.columns.encoding import Encoding
from whence.engines.local.forest.layout import ALIVE, COLUMNS, NOTED, RELATION, STATUS, Array
from whence.engines.local.forest.values import Interner, ValueColumn
from whence.model.types import Row, Type, Value
from whence.model.updates import CountedDelta

if TYPE_CHECKING:
    from whence.engines.local.forest.maintainer import ForestMaintainer


class ForestCounts(Mapping[Row, int]):
    """A relation of the forest, read in place."""

    def __init__(self, forest: ForestMaintainer, relation: str) -> None:
        self._forest = forest
        self._relation = relation

    def __getitem__(self, row: Row) -> int:
        if self._forest.node(self._relation, row) is None:
            raise KeyError(row)
        return 1

    def __iter__(self) -> Iterator[Row]:
        return iter(self._forest.rows(self._relation))

    def __len__(self) -> int:
        return len(self._forest.alive(self._relation))

    def columns(self) -> Sequence[Sequence[Value]]:
        """All rows, column by column."""
        everything = self._forest.everything(self._relation)
        assert isinstance(everything, CountedDelta)
        return everything.columns()[0]

    def page(self, bound: Mapping[int, Value], offset: int, limit: int) -> list[tuple[Row, int]]:
        """Some of the rows that have these values at these positions, and none besides."""
        reader = self._forest.reader()
        if bound:
            found = reader.matching(self._relation, list(bound), list(bound.values()))
            return [(row, 1) for row in islice(found, offset, offset + limit)]
        return [(reader.row(node), 1) for node in self._forest.alive(self._relation)[offset : offset + limit].tolist()]

    def items(self) -> ItemsView[Row, int]:
        # All at once: looking up each row that was just read would take far longer.
        return dict.fromkeys(self._forest.rows(self._relation), 1).items()


# Among so many rows, values are looked for that come more than once.
_MANY = 64
# So many rows are made at a time, for those who may not want all of them.
_AT_A_TIME = 1 << 12


class ForestChange(NamedTuple):
    """Rows of a relation as the kernels have them: so many that come, and after them those that go."""

    ids: Array  # int32 [row, column]: interned values
    costs: Array  # one for each row, where there are costs
    come: int


@dataclass(frozen=True, eq=False)
class Decoder:
    """Integers to rows. A relation with a `value` has its costs in that column, and the others interned."""

    interner: Interner
    types: Sequence[Type]
    positions: Sequence[int]
    value: ValueColumn | None

    def rows(self, change: ForestChange) -> list[Row]:
        """All rows of a change, those that come and those that go."""
        return list(zip(*self.columns(change), strict=True))

    def columns(self, change: ForestChange) -> list[list[Value]]:
        columns: list[list[Value]] = [[]] * len(self.types)
        for at, position in enumerate(self.positions):
            columns[position] = self.interner.decode(change.ids[:, at])
        if self.value is not None:
            columns[self.value.position] = self.value.decode(change.costs)
        return columns


class ForestDelta(CountedColumns):
    """Rows that come and rows that go. Copies of their integers are kept, not the rows."""

    def __init__(self, decoder: Decoder, change: ForestChange) -> None:
        super().__init__(array("b", [1]) * change.come + array("b", [-1]) * (len(change.ids) - change.come))
        self.decoder = decoder
        self.change = change

    def reversed(self) -> ForestDelta:
        """What takes it back."""
        ids, costs, come = self.change
        turned = [np.concatenate([each[come:], each[:come]]) for each in (ids, costs)]
        return ForestDelta(self.decoder, ForestChange(turned[0], turned[1], len(ids) - come))

    @property
    def totals(self) -> tuple[int, int]:
        return self.change.come, len(self.change.ids) - self.change.come

    def columns(self) -> tuple[Sequence[Sequence[Value]], Sequence[int]]:
        return self.value_columns(), list(self.counts)

    def value_columns(self) -> Sequence[Sequence[Value]]:
        return self.decoder.columns(self.change)

    def encoded(self, encodings: Sequence[Encoding]) -> list[Array]:
        """The columns as those of tables."""
        decoder, (ids, costs, _) = self.decoder, self.change
        columns: list[Array] = [costs] * len(encodings)
        for at, position in enumerate(decoder.positions):
            columns[position] = _encoded(decoder.interner, ids[:, at], encodings[position])
        if decoder.value is not None:
            position = decoder.value.position
            columns[position] = encodings[position].encode(decoder.value.decode(costs))
        return columns

    @cached_property
    def as_rows(self) -> dict[Row, int]:
        """First the rows that go."""
        rows, come = self.decoder.rows(self.change), self.change.come
        return {**dict.fromkeys(rows[come:], -1), **dict.fromkeys(rows[:come], 1)}


def _encoded(interner: Interner, ids: Array, encoding: Encoding) -> Array:
    if len(ids) < _MANY or ids.max() > 4 * len(ids):
        return encoding.encode(interner.decode(ids))
    # Each value once.
    different = np.flatnonzero(np.bincount(ids))
    known = np.empty(different[-1] + 1, encoding.dtype)
    known[different] = encoding.encode(interner.decode(different))
    return known[ids]


class ForestRows:
    """Rows that are there, as nodes; `present` reads their integers. Until the next commit."""

    def __init__(self, decoder: Decoder, nodes: Array, present: Callable[[Array], ForestChange]) -> None:
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


@inlined
def _copy(nodes: Array, node: int, rows: Array, at: int) -> None:
    for column in range(rows.shape[1]):
        rows[at, column] = nodes[node, COLUMNS + column]


@kernel
def take_moved(nodes: Array, relation: int, removed: Array, added: Array, rows: Array) -> tuple[int, int]:
    """The columns of what was removed and added of a relation, first what came; returns how many of each there are.

    What was removed is NOTED until then. A tuple that came again has kept its node, and has not changed. There is room
    for all.
    """
    came = 0
    for at in range(len(added)):
        node = added[at]
        if nodes[node, RELATION] == relation and not nodes[node, STATUS] & NOTED:
            _copy(nodes, node, rows, came)
            came += 1
    count = came
    for at in range(len(removed)):
        node = removed[at]
        if nodes[node, RELATION] == relation:
            nodes[node, STATUS] &= ~NOTED
            if not nodes[node, STATUS] & ALIVE:
                _copy(nodes, node, rows, count)
                count += 1
    return came, count - came


@inlined
def _differs(nodes: Array, best: Array, noted: Array, before: Array, at: int) -> bool:
    node, was = noted[at, 0], noted[at, 1] != 0
    is_ = nodes[node, STATUS] & ALIVE != 0
    return bool(was != is_ or (is_ and before[at] != best[node]))


@inlined
def count_differing(nodes: Array, best: Array, noted: Array, before: Array, count: int) -> int:
    """How many rows come and go, of the first `count` nodes that are noted. What has another cost does both."""
    rows = 0
    for at in range(count):
        if _differs(nodes, best, noted, before, at):
            rows += int(nodes[noted[at, 0], STATUS] & ALIVE != 0) + int(noted[at, 1] != 0)
    return rows


@kernel
def take_differing(
    nodes: Array,
    best: Array,
    noted: Array,
    before: Array,
    count: int,
    relation: int,
    rows: Array,
    costs: Array,
) -> tuple[int, int]:
    """The columns and costs of tuples of a relation that are not what they were, first of what came.

    The first `count` nodes that are noted are looked at. Returns how many came, and how many went.
    """
    came = 0
    for at in range(count):
        node = noted[at, 0]
        if (
            nodes[node, RELATION] == relation
            and nodes[node, STATUS] & ALIVE
            and _differs(nodes, best, noted, before, at)
        ):
            _copy(nodes, node, rows, came)
            if len(costs) > 0:
                costs[came] = best[node]
            came += 1
    total = came
    for at in range(count):
        node = noted[at, 0]
        if nodes[node, RELATION] == relation:
            nodes[node, STATUS] &= ~NOTED
            if noted[at, 1] and _differs(nodes, best, noted, before, at):
                _copy(nodes, node, rows, total)
                if len(costs) > 0:
                    costs[total] = before[at]
                total += 1
    return came, total - came
