"""The rows of a relation with hash indexes on the columns that joins probe.

A store is what components read of the relations below them. It changes only when a commit settles, so that during a
commit every component sees the rows from before, and the change beside them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType
from typing import TypeAlias

from whence.model.types import Row, Value
from whence.model.updates import Delta

Key: TypeAlias = "Value | tuple[Value, ...]"
# Rows by key; per row how often it is there.
Index: TypeAlias = dict[Key, dict[Row, int]]

_NOTHING: Mapping[Row, int] = MappingProxyType({})


class Store:
    """Counts per row; never 0. An index is made when it is first asked for, and kept up to date from then on."""

    def __init__(self, counts: Mapping[Row, int] | None = None) -> None:
        self.counts: dict[Row, int] = dict(counts or {})
        self._indexes: dict[tuple[int, ...], Index] = {}

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        """The rows whose columns at these positions hold the key: a bare value for one position, else a tuple.

        No positions at all match every row, with the key ().
        """
        if not positions:
            return self.counts
        index = self._indexes.get(positions)
        if index is None:
            index = self._indexes[positions] = index_of(self.counts, positions)
        return index.get(key, _NOTHING)

    def apply(self, delta: Delta) -> None:
        """Add a change to the counts and to every index."""
        for row, change in delta.items():
            count = self.counts.get(row, 0) + change
            if count:
                self.counts[row] = count
            else:
                del self.counts[row]
            for positions, index in self._indexes.items():
                key = itemgetter(*positions)(row)
                rows = index.setdefault(key, {})
                if count:
                    rows[row] = count
                else:
                    del rows[row]
                    if not rows:
                        del index[key]


def index_of(counts: Mapping[Row, int], positions: Sequence[int]) -> Index:
    """The rows of a relation or of a change by the values at the positions, of which there is at least one."""
    key = itemgetter(*positions)
    index: Index = {}
    for row, count in counts.items():
        index.setdefault(key(row), {})[row] = count
    return index
