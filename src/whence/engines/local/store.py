"""The rows of a relation with hash indexes on the columns that joins probe.

A store is what components read of the relations below them. It changes only when a commit settles, so that during a
commit every component sees the rows from before, and the change beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

from whence.model.schema import Relation
from whence.model.types import Row, Value
from whence.model.updates import Delta

Key: TypeAlias = "Value | tuple[Value, ...]"
# Rows by key; per row how often it is there.
Index: TypeAlias = dict[Key, dict[Row, int]]
# The rows that hold a key, each once; a mapping to their counts where they can be there more than once.
Lookup: TypeAlias = Callable[[Key], Collection[Row]]

_NOTHING: Mapping[Row, int] = MappingProxyType({})


class Readable(Protocol):
    """A relation that components can read."""

    @property
    def counts(self) -> Mapping[Row, int]: ...

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]: ...


class Store:
    """Counts per row; never 0. An index is made when it is first asked for, and kept up to date from then on.

    No two rows have the same values in the columns `key`, if there are any.
    """

    def __init__(self, counts: Mapping[Row, int] | None = None, key: tuple[int, ...] = ()) -> None:
        self.counts: dict[Row, int] = dict(counts or {})
        self._indexes: dict[tuple[int, ...], _Index] = {}
        self._key = key
        self._by_key: _Index | None = None

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        """The rows whose columns at these positions hold the key: a bare value for one position, else a tuple.

        No positions at all match every row, with the key ().
        """
        return self._index(positions)[key] if positions else self.counts

    def lookup(self, positions: tuple[int, ...]) -> Lookup:
        """What finds the rows by their values at the positions, as `matching` does, until the next change."""
        if not positions:
            return lambda _: self.counts
        if positions != self._key:
            return self._index(positions).__getitem__
        if self._by_key is None:
            key = itemgetter(*positions)
            self._by_key = _Index((key(row), (row,)) for row in self.counts)
        return self._by_key.__getitem__

    def apply(self, delta: Delta) -> None:
        """Add a change to the counts and to every index."""
        counts = self.counts
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
        if self._by_key is not None:
            _follow_key(self._by_key, self._key, changed)

    def _index(self, positions: tuple[int, ...]) -> _Index:
        index = self._indexes.get(positions)
        if index is None:
            index = self._indexes[positions] = _Index(index_of(self.counts, positions))
        return index


class _Index(dict[Key, Any]):
    """Rows by key, and none for a key that is not there."""

    def __missing__(self, _: Key) -> Mapping[Row, int]:
        return _NOTHING


def table_store(relation: Relation) -> Store:
    """An empty store for a base table, whose key is a key because no commit may break it."""
    names = relation.column_names
    return Store(key=tuple(sorted(names.index(name) for name in relation.key)))


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


def _follow_key(index: _Index, positions: Sequence[int], changed: Sequence[tuple[Row, int]]) -> None:
    key_of = itemgetter(*positions)
    # A row may leave after another one with its key has come.
    for row, count in changed:
        if not count:
            del index[key_of(row)]
    for row, count in changed:
        if count:
            index[key_of(row)] = (row,)
