"""Relations with a key: their rows are found by it, and a change says what becomes of the row of each key.

A row has a hash that Python computes again each time, from all its values. A key is a value or two of them, and of rows
that have one nothing else needs to be hashed. Rows in columns come to a table or leave it as a whole where their keys
tell that all of them can; if not, a look at each tells which cannot.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence, ValuesView
from functools import cached_property, lru_cache
from itertools import chain, repeat
from operator import itemgetter
from typing import Protocol, TypeAlias, runtime_checkable

from whence.columns.arrow import ArrowRows
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


@runtime_checkable
class KnowsWholeRows(Protocol):
    """The rows of a table, where many can be looked for at once."""

    def has_all(self, rows: ArrowRows) -> bool:
        """Whether rows are there, each as often as it is among them."""


class KnowsKeys(Mapping[Key, Row]):
    """Rows by their keys, likewise."""

    @abstractmethod
    def has_all(self, rows: ArrowRows) -> bool: ...

    @abstractmethod
    def are_free(self, rows: ArrowRows) -> bool:
        """Whether none of the rows has a key that is taken."""

    @abstractmethod
    def rows(self, keys: Sequence[Key]) -> list[Row | None]:
        """The rows of many keys, None where there is none."""

    @abstractmethod
    def holds(self, rows: list[Row]) -> bool:
        """Whether all of these rows are there."""


def rows_of(keys: Sequence[Key], stored: Mapping[Key, Row]) -> list[Row | None]:
    """The rows that have these keys, None where there is none."""
    return stored.rows(keys) if keys and isinstance(stored, KnowsKeys) else list(map(stored.get, keys))


def are_stored(rows: list[Row], keys: Sequence[Key], stored: Mapping[Key, Row]) -> bool:
    """Whether these rows are the ones that have these keys."""
    if isinstance(stored, KnowsKeys):
        # Numbers are compared, so that no row has to be made.
        return stored.holds(rows)
    return list(map(stored.get, keys)) == rows


def can_come(rows: ArrowRows, counts: Mapping[Row, int], keys: Mapping[Key, Row]) -> bool:
    """Whether all rows are new. `counts` has those of a table without a key, and `keys` those of one with a key."""
    relation = rows.relation
    if not relation.key:
        # In a bag a row may come as often as it likes; in a set it may be there.
        return not relation.distinct or (not counts and _are_different(rows, range(relation.arity)))
    are_free = not keys or (isinstance(keys, KnowsKeys) and keys.are_free(rows))
    return are_free and _are_different(rows, key_positions(relation))


def can_go(rows: ArrowRows, counts: Mapping[Row, int], keys: Mapping[Key, Row]) -> bool:
    """Whether all rows are there, as often as they are to go."""
    table = keys if rows.relation.key else counts
    return isinstance(table, KnowsWholeRows) and table.has_all(rows)


def _are_different(rows: ArrowRows, positions: Sequence[int]) -> bool:
    import pyarrow as pa

    names = [str(at) for at in positions]
    table = pa.Table.from_arrays([rows.arrays[at] for at in positions], names)
    return bool(table.group_by(names, use_threads=False).aggregate([]).num_rows == len(rows))
