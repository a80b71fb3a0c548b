"""Whether rows in columns can come to a table or leave it as a whole; if not, a look at each tells which cannot."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from whence.columns.arrow import ArrowRows
from whence.incremental.keyed import Key, key_positions
from whence.model.types import Row


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
