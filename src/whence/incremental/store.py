"""The rows of a relation with hash indexes on the columns that joins probe.

A store is what components read of the relations below them. It changes only when a commit settles, so that during a
commit every component sees the rows from before, and the change beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import repeat
from math import prod
from operator import itemgetter
from types import MappingProxyType
from typing import Protocol, TypeAlias

from whence.algebra.deltas import negated
from whence.incremental.keyed import Key, KeyedDelta, KeyedRows, key_positions
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import CountedDelta, Delta
from whence.planning.statistics import COUNTED_ROWS, distinct_values

__all__ = [
    "Holder",
    "Index",
    "Key",
    "KeyedStore",
    "ProbedRelation",
    "Store",
    "StoreStatistics",
    "index_of",
    "table_store",
]

# Rows by key; per row how often it is there.
Index: TypeAlias = dict[Key, dict[Row, int]]
# The one row that holds a key, if there is one.
Holder: TypeAlias = "Callable[[Key], Row | None]"

_NOTHING: Mapping[Row, int] = MappingProxyType({})


class ProbedRelation(Protocol):
    """A relation that components can read."""

    @property
    def counts(self) -> Mapping[Row, int]: ...

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]: ...

    def matching_all(self, positions: tuple[int, ...], keys: Sequence[Key]) -> Sequence[Collection[Row]]: ...


class Store:
    """Counts per row; never 0. An index is made when it is first asked for, and kept up to date from then on."""

    def __init__(self, counts: Mapping[Row, int] | None = None) -> None:
        self._counts: dict[Row, int] = dict(counts or {})
        self._indexes: dict[tuple[int, ...], Index] = {}
        # How many rows have changed so far, and of columns how many different values they had after so many.
        self._changed = 0
        self._values: dict[int, tuple[int, int]] = {}

    @property
    def counts(self) -> Mapping[Row, int]:
        return self._counts

    def contents(self) -> Mapping[Row, int]:
        """The counts, for a reader that looks once."""
        return self.counts

    @property
    def size(self) -> int:
        """How many different rows there are."""
        return len(self.counts)

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        """The rows whose columns at these positions hold the key: a bare value for one position, else a tuple.

        No positions at all match every row, with the key ().
        """
        if not positions:
            return self.counts
        index = self._indexes.get(positions)
        if index is None:
            index = self._index(positions)
        rows: Mapping[Row, int] = index.get(key, _NOTHING)
        return rows

    def matching_all(self, positions: tuple[int, ...], keys: Sequence[Key]) -> list[Collection[Row]]:
        """The same for many keys. Where rows cannot be there more than once, no counts come with them."""
        return list(map(self._index(positions).get, keys, repeat(_NOTHING))) if positions else [self.counts] * len(keys)

    @property
    def indexes(self) -> Collection[tuple[int, ...]]:
        """The columns by which rows are found at once, in every combination that there is so far."""
        return self._indexes.keys()

    def holder(self, positions: tuple[int, ...]) -> Holder | None:  # noqa: ARG002 - those with a key do look
        """What finds the row that holds a key, where there can be but one; None where there can be more."""
        return None

    def distinct(self, positions: tuple[int, ...]) -> int | None:
        """How many different keys the rows hold at these positions: exact where there is an index, and for one position
        of few rows; else about. Several positions are taken for independent of each other.

        None where they are not counted, and counting would take more time than it saves.
        """
        index = self._index_on(positions)
        if index is not None:
            return len(index)
        return min(self.size, prod(map(self._distinct_values, positions)))

    def _distinct_values(self, position: int) -> int:
        index = self._index_on((position,))
        if index is not None:
            return len(index)
        if self.size <= COUNTED_ROWS:
            return distinct_values(self.counts, position)
        known = self._values.get(position)
        if known is None or self._changed - known[1] > self.size // 2:
            known = self._values[position] = distinct_values(self.counts, position), self._changed
        return known[0]

    def _index_on(self, positions: tuple[int, ...]) -> Collection[Key] | None:
        return self._indexes.get(positions)

    def apply(self, delta: Delta) -> None:
        """Add a change to the counts and to every index."""
        counts = self._counts
        changed: list[tuple[Row, int]] = []
        if counts:
            for row, change in delta.items():
                count = counts.pop(row, 0) + change
                if count:
                    counts[row] = count
                changed.append((row, count))
        else:
            counts.update(delta)
            changed.extend(delta.items())
        for positions, index in self._indexes.items():
            _follow(index, positions, changed)
        self._changed += len(delta)

    @property
    def by_key(self) -> Mapping[Key, Row]:
        """The row of each key, in a store of rows with a key."""
        raise NotImplementedError

    def take_back(self, delta: Delta) -> None:
        """The last change, which was this one, has not happened."""
        self.apply(negated(delta))

    def drop(self) -> None:
        """No change is under way any more. A store of rows has nothing of it."""

    def _index(self, positions: tuple[int, ...]) -> Index:
        index = self._indexes.get(positions)
        if index is None:
            index = self._indexes[positions] = index_of(self.counts, positions)
        return index


class KeyedStore(Store):
    """The rows of a relation with a key. They are kept by it alone, and other indexes have keys for rows."""

    def __init__(self, positions: tuple[int, ...]) -> None:
        super().__init__()
        self._key = positions
        self._rows = KeyedRows(positions)
        self._buckets: dict[tuple[int, ...], dict[Key, dict[Key, Row]]] = {}

    @property
    def counts(self) -> KeyedRows:
        return self._rows

    @property
    def by_key(self) -> Mapping[Key, Row]:
        return self._rows.by_key

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        return dict.fromkeys(self.matching_all(positions, [key])[0], 1) if positions else self._rows

    def matching_all(self, positions: tuple[int, ...], keys: Sequence[Key]) -> list[Collection[Row]]:
        if not positions:
            return [self._rows.by_key.values()] * len(keys)
        if positions == self._key:
            return [() if row is None else (row,) for row in map(self._rows.by_key.get, keys)]
        return [() if rows is None else rows.values() for rows in map(self._by(positions).get, keys)]

    @property
    def indexes(self) -> Collection[tuple[int, ...]]:
        return (self._key, *self._buckets)

    def holder(self, positions: tuple[int, ...]) -> Holder | None:
        return self._rows.by_key.get if positions == self._key else None

    def apply(self, delta: Delta) -> None:
        changes = list(_by_key(delta, self._key, self._rows.key_of))
        by_key = self._rows.by_key
        for key, _, after in changes:
            if after is None:
                del by_key[key]
            else:
                by_key[key] = after
        for positions, index in self._buckets.items():
            _follow_keys(index, itemgetter(*positions), changes)
        self._changed += len(delta)

    def _index_on(self, positions: tuple[int, ...]) -> Collection[Key] | None:
        return self._rows.by_key if positions == self._key else self._buckets.get(positions)

    def _by(self, positions: tuple[int, ...]) -> dict[Key, dict[Key, Row]]:
        index = self._buckets.get(positions)
        if index is None:
            index = {}
            value_of = itemgetter(*positions)
            for key, row in self._rows.by_key.items():
                index.setdefault(value_of(row), {})[key] = row
            # When it is complete: a reader may be interrupted before.
            self._buckets[positions] = index
        return index


def table_store(relation: Relation) -> Store:
    """An empty store for a base table, whose key is a key because no commit may break it."""
    positions = key_positions(relation)
    return KeyedStore(positions) if positions else Store()


def index_of(counts: Mapping[Row, int], positions: Sequence[int]) -> Index:
    """The rows of a relation or of a change by the values at the positions, of which there is at least one."""
    key = itemgetter(*positions)
    index: Index = {}
    for row, count in counts.items():
        index.setdefault(key(row), {})[row] = count
    return index


def _follow(index: Index, positions: Sequence[int], changed: Iterable[tuple[Row, int]]) -> None:
    key_of = itemgetter(*positions)
    for row, count in changed:
        key = key_of(row)
        rows = index.get(key)
        if rows is None:
            index[key] = {row: count}
        elif count:
            rows[row] = count
        elif len(rows) > 1:
            del rows[row]
        else:
            del index[key]


# A key, the row that had it before and the one that has it after, of which not both are None.
_Change: TypeAlias = "tuple[Key, Row | None, Row | None]"


def _by_key(delta: Delta, positions: tuple[int, ...], key_of: Callable[[Row], Key]) -> Iterable[_Change]:
    if isinstance(delta, KeyedDelta) and delta.positions == positions:
        return zip(delta.changed, delta.before, delta.after, strict=True)
    gone = {key_of(row): row for row, change in delta.items() if change < 0}
    came = {key_of(row): row for row, change in delta.items() if change > 0}
    return [(key, gone.get(key), came.get(key)) for key in gone | came]


def _follow_keys(index: dict[Key, dict[Key, Row]], value_of: Callable[[Row], Key], changes: Iterable[_Change]) -> None:
    for key, before, after in changes:
        value = None if after is None else value_of(after)
        if before is not None and (after is None or value_of(before) != value):
            old = value_of(before)
            rows = index[old]
            if len(rows) > 1:
                del rows[key]
            else:
                del index[old]
        if after is not None:
            found = index.get(value)
            if found is None:
                index[value] = {key: after}
            else:
                found[key] = after


class StoreStatistics:
    """Of relations in stores, and of changes that are about to come into them."""

    def __init__(self, stores: Mapping[str, ProbedRelation], coming: Mapping[str, Delta] | None = None) -> None:
        self._stores = stores
        self.coming = coming or {}

    def size(self, relation: str) -> int:
        """Rows that come count as well as those that go."""
        return self._stored(relation) + len(self.coming.get(relation, ()))

    def distinct(self, relation: str, columns: tuple[int, ...]) -> int | None:
        store, coming = self._stores[relation], self.coming.get(relation, {})
        if len(coming) > self._stored(relation):
            # What was there says little about what will be.
            if not isinstance(coming, dict | KeyedDelta):
                return None
            return min(len(coming), prod(distinct_values(coming, column) for column in columns))
        return store.distinct(columns) if isinstance(store, Store) else None

    def _stored(self, relation: str) -> int:
        store = self._stores[relation]
        return store.size if isinstance(store, Store) else len(store.counts)


# Of changes that wait, at most so many, with a few times as many rows in all as the relation had.
MAX_WAITING_CHANGES = 1_000
MAX_WAITING_TIMES = 4


class LazyStore(Store):
    """A store of a set that keeps changes as they came until its counts are first read, and then is like any other."""

    def __init__(self, everything: Callable[[], Delta]) -> None:
        """`everything` is asked after a commit, for all rows that are there then."""
        super().__init__()
        self._everything = everything
        # What is not in the counts yet; None once it is.
        self._waiting: list[CountedDelta] | None = []
        self._rows_waiting = 0
        self._most_rows = 0

    @property
    def is_read(self) -> bool:
        """Whether the counts have been read, so that they are kept up to date from now on."""
        return self._waiting is None

    @property
    def counts(self) -> Mapping[Row, int]:
        self._materialize()
        return self._counts

    def _materialize(self) -> None:
        if self._waiting is not None:
            self._counts, self._waiting = _summed(self._waiting), None

    def contents(self) -> Mapping[Row, int]:
        return self._counts if self._waiting is None else _summed(self._waiting)

    def as_change(self) -> CountedDelta | None:
        """All rows as one change that has come, if that is how they are kept."""
        return self._waiting[0] if self._waiting is not None and len(self._waiting) == 1 else None

    @property
    def size(self) -> int:
        if self._waiting is None:
            return len(self._counts)
        return sum(come - gone for come, gone in (delta.totals for delta in self._waiting))

    def distinct(self, positions: tuple[int, ...]) -> int | None:
        return super().distinct(positions) if self._waiting is None else None

    def apply(self, delta: Delta) -> None:
        # Only a change that knows its totals can be counted without making its rows.
        if self._waiting is None or not isinstance(delta, CountedDelta):
            self._materialize()
            super().apply(delta)
            return
        self._waiting.append(delta)
        self._rows_waiting += len(delta)
        if self._rows_waiting > self._most_rows or len(self._waiting) > MAX_WAITING_CHANGES:
            everything = self._everything()
            assert isinstance(everything, CountedDelta)
            self._waiting, self._rows_waiting = [everything], len(everything)
            self._most_rows = MAX_WAITING_TIMES * len(everything) + MAX_WAITING_CHANGES


def _summed(changes: Iterable[CountedDelta]) -> dict[Row, int]:
    """The rows of a set after these changes."""
    counts: dict[Row, int] = {}
    for delta in changes:
        for row, change in delta.items():
            if change > 0:
                counts[row] = change
            else:
                del counts[row]
    return counts
