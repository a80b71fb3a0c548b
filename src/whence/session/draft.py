"""Changes to base tables that are to become one commit: each sees those before it, and nothing has happened yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import TypeAlias

from whence.errors import DataError, Hint, Way
from whence.incremental.keyed import KNOWN_RELATIONS, Key, key_positions
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta, Update
from whence.session.clock import Clock
from whence.session.keyed import KeyedChanges
from whence.session.lifetimes import Arrival, Departure, expiry
from whence.session.windows import Window, WindowDraft
from whence.sources.columns import listed
from whence.sources.rows import row_text

__all__ = ["ROW", "Contents", "Draft", "Key", "Place", "TableDraft", "key_of"]

# What a row goes by in a message, by its index.
Place: TypeAlias = Callable[[int], str]
ROW: Place = "rows[{}]".format


@dataclass(frozen=True, slots=True)
class Contents:
    """A table as it is now.

    `keys` finds the row of a key, and is empty for a table without one; `window` is None for a table without one.
    """

    relation: Relation
    counts: Mapping[Row, int]
    keys: Mapping[Key, Row]
    window: Window | None


class TableDraft:
    """The changes to one table."""

    def __init__(self, contents: Contents, clock: Clock) -> None:
        self.contents = contents
        self.relation = contents.relation
        self.clock = clock
        # All rows of a commit arrive at once.
        self.now = clock.now
        # What was changed: by key, or by row in a table without one.
        self._counts: dict[Row, int] = {}
        key = key_of(self.relation)
        self._keyed = None if key is None else KeyedChanges(self.relation, contents.keys, key)
        self.events: list[Arrival | Departure] = []
        self.window = None if contents.window is None else WindowDraft(contents.window, self.relation)
        self.expired = 0
        self.evicted = 0
        self._place = ROW
        self._is_plain = self.relation.ttl is None and self.window is None

    @property
    def delta(self) -> Delta:
        """How often each row comes or goes."""
        return self._counts if self._keyed is None else self._keyed.delta

    @property
    def keys(self) -> Mapping[Key, Row | None]:
        """What became of the keys that changed: their row, or None for one that is free."""
        return {} if self._keyed is None else self._keyed.after

    def present(self, row: Row) -> int:
        if self._keyed is not None:
            return int(self._keyed.holder(row) == row)
        return self.contents.counts.get(row, 0) + self._counts.get(row, 0)

    def insert(self, rows: Sequence[Row], place: Place = ROW) -> None:
        """`place` names a row in a message by its number."""
        self._place = place
        if self._keyed is not None and self._is_plain and self._keyed.take_all(rows):
            return
        for index, row in enumerate(rows):
            leaves = None if self.relation.ttl is None else expiry(self.relation, row, self.now)
            if self.clock.has_passed(leaves):
                self.expired += 1
                continue
            is_there = self._is_there(row, index)
            if leaves is not None:
                self.events.append(Arrival(row, leaves))
            if not is_there:
                self._add(row, 1)
            if self.window is not None:
                self._make_room(self.window.insert(row))

    def delete(self, rows: list[Row], *, ignore_missing: bool = False, place: Place = ROW) -> None:
        self._place = place
        if self._keyed is not None and self._is_plain and self._keyed.free_all(rows):
            return
        for index, row in enumerate(rows):
            if self.present(row):
                self.remove(row, 1)
            elif not ignore_missing:
                raise self._missing(row, index)

    def remove(self, row: Row, copies: int) -> None:
        if self.window is not None:
            self.window.remove(row, copies)
        self._leave(row, copies)

    def expire(self, due: Mapping[Row, int]) -> None:
        """Rows whose time has come leave."""
        for row, copies in due.items():
            self.remove(row, copies)
            self.expired += copies

    def _make_room(self, oldest: Row | None) -> None:
        if oldest is not None:
            self._leave(oldest, 1)
            self.evicted += 1

    def _leave(self, row: Row, copies: int) -> None:
        self._add(row, -copies)
        if self.relation.ttl is not None:
            self.events += [Departure(row)] * copies

    def _add(self, row: Row, copies: int) -> None:
        """So many copies come or go. Of a row with a key there is one or none."""
        if self._keyed is not None:
            (self._keyed.take if copies > 0 else self._keyed.free)(row)
            return
        total = self._counts.pop(row, 0) + copies
        if total:
            self._counts[row] = total

    def _is_there(self, row: Row, index: int) -> bool:
        """Whether a row that comes adds nothing to a set. Raises where another one has its key."""
        if self._keyed is None:
            return self.relation.distinct and self.present(row) > 0
        holder = self._keyed.holder(row)
        if holder is None:
            return False
        if holder != row:
            raise self._conflict(row, holder, index)
        return True

    def _missing(self, row: Row, index: int) -> DataError:
        return DataError(
            f"{self._place(index)} is not in {self.relation.name!r}, so it cannot be deleted: {row_text(row)}",
            hint=Hint("{} passes over rows that are not there", (Way("option", 'missing="ignore"'),)),
        )

    def _conflict(self, row: Row, holder: Row, index: int) -> DataError:
        return DataError(
            f"{self._place(index)} has the key of another row of {self.relation.name!r}, {listed(self.relation.key)}: "
            f"{row_text(row)}",
            related=[(f"the row with that key is {row_text(holder)}", None)],
            hint="delete that row first; in the same batch the two make an update",
        )


class Draft:
    """The changes to all tables."""

    def __init__(self, contents: Callable[[Relation], Contents], clock: Clock) -> None:
        self.clock = clock
        self.tables: dict[str, TableDraft] = {}
        self._contents = contents

    def table(self, relation: Relation) -> TableDraft:
        if relation.name not in self.tables:
            self.tables[relation.name] = TableDraft(self._contents(relation), self.clock)
        return self.tables[relation.name]

    @property
    def update(self) -> Update:
        return Update({name: table.delta for name, table in self.tables.items() if table.delta})

    @property
    def expired(self) -> int:
        return sum(table.expired for table in self.tables.values())

    @property
    def evicted(self) -> int:
        return sum(table.evicted for table in self.tables.values())


@lru_cache(maxsize=KNOWN_RELATIONS)
def key_of(relation: Relation) -> Callable[[Row], Key] | None:
    """What takes the key out of a row, or None for a relation without one."""
    if not relation.key:
        return None
    return itemgetter(*key_positions(relation))
