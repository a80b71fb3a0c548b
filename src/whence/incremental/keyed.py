"""Relations with a key: their rows are found by it, and a change says what becomes of the row of each key.

A row has a hash that Python computes again each time, from all its values. A key is a value or two of them, and of rows
that have one nothing else needs to be hashed.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence, ValuesView
from functools import cached_property, lru_cache
from itertools import chain, repeat
from operator import itemgetter
from typing import TypeAlias

from whence.model.schema import Relation
from whence.model.types import Row, Value
from whence.model.updates import CountedDelta

KNOWN_RELATIONS = 1_000

# The values of some columns, without a tuple around them if there is only one.
Key: TypeAlias = "Value | tuple[Value, ...]"


@lru_cache(maxsize=KNOWN_RELATIONS)
def key_positions(relation: Relation) -> tuple[int, ...]:
    """The columns of a relation's key, in the order of the columns; none if it has no key."""
    names = relation.column_names
    return tuple(sorted(names.index(name) for name in relation.key))


class KeyedRows(Mapping[Row, int]):
    """Rows of which no two have the same key, each of them once."""

    def __init__(self, positions: Sequence[int]) -> None:
        self.by_key: dict[Key, Row] = {}
        self.key_of: Callable[[Row], Key] = itemgetter(*positions)

    def __getitem__(self, row: Row) -> int:
        if self.by_key.get(self.key_of(row)) == row:
            return 1
        raise KeyError(row)

    def __contains__(self, row: object) -> bool:
        return isinstance(row, tuple) and self.by_key.get(self.key_of(row)) == row

    def __iter__(self) -> Iterator[Row]:
        return iter(self.by_key.values())

    def __len__(self) -> int:
        return len(self.by_key)

    def items(self) -> ItemsView[Row, int]:
        return _Items(self)

    def values(self) -> ValuesView[int]:
        return _Values(self)


class KeyedDelta(CountedDelta):
    """A change of such rows: by key the row before and the row after, None where there is none; the two differ.

    As a mapping it is what every change is, rows and how often they come or go.
    """

    def __init__(
        self,
        positions: tuple[int, ...],
        keys: Sequence[Key],
        before: Sequence[Row | None],
        after: Sequence[Row | None],
    ) -> None:
        self.positions = positions
        self.changed = keys
        self.before = before
        self.after = after
        self.gone = [row for row in before if row is not None]
        self.came = [row for row in after if row is not None]

    def __getitem__(self, row: Row) -> int:
        return self._counts[row]

    def __iter__(self) -> Iterator[Row]:
        return chain(self.gone, self.came)

    def __len__(self) -> int:
        return len(self.gone) + len(self.came)

    def items(self) -> ItemsView[Row, int]:
        return _Items(self)

    def values(self) -> ValuesView[int]:
        return _Values(self)

    @property
    def totals(self) -> tuple[int, int]:
        return len(self.came), len(self.gone)

    def columns(self) -> tuple[Sequence[Sequence[Value]], Sequence[int]]:
        return list(zip(*self, strict=True)), list(self.values())

    @cached_property
    def _counts(self) -> dict[Row, int]:
        return dict(self.items())


class _Items(ItemsView[Row, int]):
    """Goes through the rows without looking them up."""

    _mapping: KeyedRows | KeyedDelta

    def __iter__(self) -> Iterator[tuple[Row, int]]:
        return zip(self._mapping, self._mapping.values(), strict=True)


class _Values(ValuesView[int]):
    _mapping: KeyedRows | KeyedDelta

    def __iter__(self) -> Iterator[int]:
        if isinstance(self._mapping, KeyedRows):
            return repeat(1, len(self._mapping))
        return chain(repeat(-1, len(self._mapping.gone)), repeat(1, len(self._mapping.came)))
