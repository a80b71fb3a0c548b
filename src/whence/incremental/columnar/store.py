"""A store in columns: what other components read of a relation, as batches of numbers or row by row."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from math import prod

import numpy as np

from whence.columns import NotInColumnsError
from whence.columns.arrow import ArrowDelta, ArrowRows, CountedColumns
from whence.columns.delta import ColumnDelta
from whence.columns.encoding import INTEGER, Array, Encoding, Encodings
from whence.columns.rows import (
    TableRows,
    counts_of,
    encoded_arrow,
    encoded_columns,
    encoded_keys,
    encoded_rows,
    has_all,
    rows_of,
)
from whence.columns.table import MANY_CHANGED, ColumnTable, Matches
from whence.incremental.keyed import Key, KeyedDelta, KnowsKeys, key_positions
from whence.incremental.store import Holder, Store
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta
from whence.planning.statistics import COUNTED_ROWS


class ColumnStore(Store):
    """The table of a relation, in which a change is staged when it is first read, and settled when it is applied."""

    def __init__(self, table: ColumnTable) -> None:
        super().__init__()
        self.table = table
        self._rows = TableRows(table)
        self._staged: tuple[Delta, ColumnDelta] | None = None
        # How many rows had a number before all of those that are staged.
        self._before_new: int | None = None

    def lent(self) -> ColumnStore:
        """The same rows for one question: indexes that it makes are its own, and go with it."""
        lent = copy(self)
        lent.table = self.table.lent()
        return lent

    def stage(self, delta: Delta) -> ColumnDelta:
        """The change in columns. From now on it can be seen beside what was there before."""
        if self._staged is None or self._staged[0] is not delta:
            size = self.table.size
            self._staged = delta, self._stage(delta)
            self._before_new = size if self.table.size - size == len(delta) else None
        return self._staged[1]

    def _stage(self, delta: Delta) -> ColumnDelta:
        table = self.table
        table.make_room(len(delta))
        if isinstance(delta, dict):
            return self._stage_counts(delta)
        if isinstance(delta, ColumnDelta):
            return table.stage(delta.words, delta.weights)
        if isinstance(delta, ArrowDelta):
            weights = np.full(len(delta), delta.weight, INTEGER)
            known = table.recall(delta.rows)
            if known is not None:
                return table.stage_rows(known[0], weights, known[1])
            return table.stage(encoded_arrow(table.encodings, delta.rows), weights)
        if isinstance(delta, CountedColumns):
            return table.stage(encoded_columns(table.encodings, delta), np.array(delta.counts, INTEGER))
        if isinstance(delta, KeyedDelta):
            known = table.recall(delta.gone)
            if known is not None:
                return self._stage_keyed(delta, np.array([*delta.values()], INTEGER), *known)
        return self._stage_counts(delta)

    def _stage_counts(self, delta: Delta) -> ColumnDelta:
        rows, weights = list(delta), np.array([*delta.values()], INTEGER)
        known = self.table.recall(rows)
        if known is not None:
            return self.table.stage_rows(known[0], weights, known[1])
        return self.table.stage(encoded_rows(self.table.encodings, rows), weights)

    def _stage_keyed(self, delta: KeyedDelta, weights: Array, numbers: Array, words: Array) -> ColumnDelta:
        """The rows that go have just been looked up."""
        first = self.table.size
        if delta.came:
            coming = encoded_rows(self.table.encodings, delta.came)
            numbers = np.concatenate([numbers, self.table.enter(coming)])
            words = np.concatenate([words, coming], axis=1)
        return self.table.stage_rows(numbers, weights, words, first=first)

    def drop(self) -> None:
        """What was staged does not happen."""
        if self._staged is not None:
            self._staged = None
            self.table.drop()

    def apply(self, delta: Delta) -> None:
        self.stage(delta)
        self._staged = None
        self.table.settle()
        if isinstance(delta, ArrowDelta) and self._before_new is not None and len(delta) >= MANY_CHANGED:
            # Feeds keep the change for long, and need not keep its rows.
            delta.rows.borrow(self.table.range(self._before_new, self._before_new + len(delta)).arrow)
        if self.table.is_worth_packing:
            self.table.pack()

    @property
    def encodings(self) -> Sequence[Encoding]:
        return self.table.encodings

    @property
    def counts(self) -> Mapping[Row, int]:
        return self._rows

    @property
    def indexes(self) -> Collection[tuple[int, ...]]:
        return self.table.indexed

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        if not positions:
            return self._rows
        matches = self._matches(positions, [key])
        return dict(zip(rows_of(self.table, matches.rows), matches.weights.tolist(), strict=True))

    def matching_all(self, positions: tuple[int, ...], keys: Sequence[Key]) -> list[Collection[Row]]:
        if not positions:
            return [self._rows] * len(keys)
        matches = self._matches(positions, keys)
        if not len(matches.rows):
            return [{} for _ in keys]
        found: list[dict[Row, int]] = [{} for _ in keys]
        rows = rows_of(self.table, matches.rows)
        for key, row, weight in zip(matches.keys.tolist(), rows, matches.weights.tolist(), strict=True):
            found[key][row] = weight
        return [*found]

    def _matches(self, positions: tuple[int, ...], keys: Sequence[Key]) -> Matches:
        parts = [keys] if len(positions) == 1 else list(zip(*keys, strict=True)) or [()] * len(positions)
        encoded: list[Array] = []
        possible: Array | None = None
        for at, values in zip(positions, parts, strict=True):
            numbers, fits = encoded_keys(self.table.encodings[at], values)
            encoded.append(numbers)
            if fits is not None:
                possible = fits if possible is None else possible & fits
        matches = self.table.probe(positions, encoded, len(keys), is_after=False)
        assert matches is not None
        if possible is None:
            return matches
        chosen = possible[matches.keys]
        return Matches(*[each[chosen] for each in matches])

    def distinct(self, positions: tuple[int, ...]) -> int | None:
        return min(self.table.present, prod(map(self._distinct_values, positions)))

    def _distinct_values(self, position: int) -> int:
        known = self._values.get(position)
        changed = self.table.size
        if known is None or abs(changed - known[1]) > self.table.present // 2:
            known = self._values[position] = distinct_numbers(self.table, position), changed
        return known[0]


def distinct_numbers(table: ColumnTable, column: int) -> int:
    """How many different values a column has: exact for few rows, and else told from a sample of them."""
    rows = table.live()
    if len(rows) <= COUNTED_ROWS:
        return len(np.unique(table.column(column, rows)))
    sample = table.column(column, rows[:: max(1, len(rows) // COUNTED_ROWS)])
    values, counts = np.unique(sample, return_counts=True)
    once, taken = int(np.count_nonzero(counts == 1)), len(sample)
    # As for rows: see `planning.statistics`.
    return min(len(rows), round(len(values) / (1 - (1 - taken / len(rows)) * once / taken)))


class KeyedColumnStore(ColumnStore):
    """The rows of a relation with a key."""

    def __init__(self, table: ColumnTable, positions: tuple[int, ...]) -> None:
        super().__init__(table)
        self._key = positions
        self._by_key = TableKeys(self, positions)

    @property
    def by_key(self) -> TableKeys:
        return self._by_key

    def holder(self, positions: tuple[int, ...]) -> Holder | None:
        return self.by_key.get if positions == self._key else None


class ViewStore(ColumnStore):
    """The table of a view that is kept in columns. Its maintainer stages what changes in it."""

    def _stage(self, delta: Delta) -> ColumnDelta:
        assert isinstance(delta, ColumnDelta), "its maintainer has made it"
        return delta

    def drop(self) -> None:
        self._staged = None

    def apply(self, delta: Delta) -> None:  # noqa: ARG002 - it is staged
        # Those that are built next read it; the maintainer may have settled it before, and removes what is gone.
        self._staged = None
        self.table.settle(is_final=False)

    def take_back(self, delta: Delta) -> None:  # noqa: ARG002
        self.table.unsettle()


class TableKeys(KnowsKeys):
    """The row of each key."""

    def __init__(self, store: ColumnStore, positions: tuple[int, ...]) -> None:
        self._positions = positions
        self._find = partial(store.matching_all, positions)
        self._store = store

    def __getitem__(self, key: Key) -> Row:
        for row in self._find([key])[0]:
            return row
        raise KeyError(key)

    def __iter__(self) -> Iterator[Key]:
        bare = len(self._positions) == 1
        for row in self._store.counts:
            key = tuple([row[at] for at in self._positions])
            yield key[0] if bare else key

    def __len__(self) -> int:
        return self._store.size

    def rows(self, keys: Sequence[Key]) -> list[Row | None]:
        """The rows of many keys, None where there is none."""
        return [next(iter(rows), None) for rows in self._find(keys)]

    def holds(self, rows: list[Row]) -> bool:
        """Whether all of these rows are there."""
        try:
            return 0 not in counts_of(self._store.table, rows)
        except NotInColumnsError:
            return False

    def are_free(self, rows: ArrowRows) -> bool:
        """Whether none of the rows has a key that is taken."""
        table = self._store.table
        keys = [table.encodings[at].from_arrow(rows.arrays[at]) for at in self._positions]
        return not table.holds(self._positions, keys, len(rows), is_after=False).any()

    def has_all(self, rows: ArrowRows) -> bool:
        """Whether the rows are all there."""
        return has_all(self._store.table, rows)


def column_table_store(relation: Relation, encodings: Encodings) -> ColumnStore:
    """An empty store for a base table."""
    positions = key_positions(relation)
    table = ColumnTable(encodings.of_relation(relation), is_set=relation.distinct, identity=positions or None)
    return KeyedColumnStore(table, positions) if positions else ColumnStore(table)


def difference(before: ColumnTable, after: ColumnTable) -> ColumnDelta:
    """What leads from the rows of one table to those of another with the same columns."""
    tables = [(table, table.live()) for table in (before, after)]
    words = [table.words(rows) for table, rows in tables]
    gone, come = (table.counts(rows) for table, rows in tables)
    together = ColumnTable(after.encodings, is_set=False)
    return together.stage(np.concatenate(words, axis=1), np.concatenate([-gone, come]))


def mirror(relation: Relation, store: Store, encodings: Encodings) -> ColumnStore:
    """A second store for a relation that is kept row by row, for readers of columns."""
    made = ColumnStore(ColumnTable(encodings.of_relation(relation), is_set=relation.distinct))
    if store.size:
        made.apply(store.contents())
    return made
