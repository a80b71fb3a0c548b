"""The rows of a relation with hash indexes on the columns that joins probe.

A store is what components read of the relations below them. It changes only when a commit settles, so that during a
commit every component sees the rows from before, and the change beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

from whence.incremental.keyed import Key, KeyedDelta, KeyedRows, key_positions
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta

__all__ = ["Holder", "Index", "Key", "KeyedStore", "Readable", "Store", "index_of", "table_store"]

# Rows by key; per row how often it is there.
Index: TypeAlias = dict[Key, dict[Row, int]]
# The one row that holds a key, if there is one.
Holder: TypeAlias = "Callable[[Key], Row | None]"

_NOTHING: Mapping[Row, int] = MappingProxyType({})


class Readable(Protocol):
    """A relation that components can read."""

    @property
    def counts(self) -> Mapping[Row, int]: ...

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]: ...

    def matching_all(self, positions: tuple[int, ...], keys: Sequence[Key]) -> Sequence[Collection[Row]]: ...


class Store:
    """Counts per row; never 0. An index is made when it is first asked for, and kept up to date from then on."""

    def __init__(self, counts: Mapping[Row, int] | None = None) -> None:
        self._counts: dict[Row, int] = dict(counts or {})
        self._indexes: dict[tuple[int, ...], _Index] = {}

    @property
    def counts(self) -> Mapping[Row, int]:
        return self._counts

    def contents(self) -> Mapping[Row, int]:
        """The counts, for those who look once."""
        return self.counts

    @property
    def size(self) -> int:
        """How many different rows there are."""
        return len(self.counts)

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        """The rows whose columns at these positions hold the key: a bare value for one position, else a tuple.

        No positions at all match every row, with the key ().
        """
        return self._index(positions)[key] if positions else self._counts

    def matching_all(self, positions: tuple[int, ...], keys: Sequence[Key]) -> list[Collection[Row]]:
        """The same for many keys. Where rows cannot be there more than once, no counts come with them."""
        return list(map(self._index(positions).__getitem__, keys)) if positions else [self._counts] * len(keys)

    def holder(self, positions: tuple[int, ...]) -> Holder | None:  # noqa: ARG002 - those with a key do look
        """What finds the row that holds a key, where there can be but one; None where there can be more."""
        return None

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

    def _index(self, positions: tuple[int, ...]) -> _Index:
        index = self._indexes.get(positions)
        if index is None:
            index = self._indexes[positions] = _Index(index_of(self._counts, positions))
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

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        return dict.fromkeys(self.matching_all(positions, [key])[0], 1) if positions else self._rows

    def matching_all(self, positions: tuple[int, ...], keys: Sequence[Key]) -> list[Collection[Row]]:
        if not positions:
            return [self._rows.by_key.values()] * len(keys)
        if positions == self._key:
            return [() if row is None else (row,) for row in map(self._rows.by_key.get, keys)]
        return [() if rows is None else rows.values() for rows in map(self._by(positions).get, keys)]

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

    def _by(self, positions: tuple[int, ...]) -> dict[Key, dict[Key, Row]]:
        index = self._buckets.get(positions)
        if index is None:
            index = self._buckets[positions] = {}
            value_of = itemgetter(*positions)
            for key, row in self._rows.by_key.items():
                index.setdefault(value_of(row), {})[key] = row
        return index


class _Index(dict[Key, Any]):
    """Rows by key, and none for a key that is not there."""

    def __missing__(self, _: Key) -> Mapping[Row, int]:
        return _NOTHING


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


def _follow(index: _Index, positions: Sequence[int], changed: Iterable[tuple[Row, int]]) -> None:
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
