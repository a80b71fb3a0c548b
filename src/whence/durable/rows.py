"""The rows of a base table in SQLite: one record per row, with the number of its copies."""

from __future__ import annotations

import datetime
import json
import sqlite3
from collections.abc import Sequence

from whence.durable.checksums import SUM_MASK, checksum
from whence.durable.values import Stored, affinity, row_reader, row_writer, time_text
from whence.model.schema import Relation
from whence.model.types import Row
from whence.session.journal import TableChange, TableState

# What follows a row's own columns: how many copies there are, when they leave, by which numbers they came.
_MARKS = ("copies INTEGER NOT NULL", "leaves TEXT", "arrivals TEXT")

_DELETE = "DELETE FROM {table}"
_UPDATE = "UPDATE {table} SET copies = ?, leaves = coalesce(?, leaves), arrivals = coalesce(?, arrivals)"


class RowTable:
    """A table's records, by the number of its relation.

    A row is found by its key, or by all its columns where it has none. There is no index for that until the first row
    has to be found, since a table that only grows never needs one.
    """

    def __init__(self, number: int, relation: Relation) -> None:
        self._name = f"rows_{number}"
        self._relation = relation
        self._columns = [f"c{at}" for at in range(relation.arity)]
        names = relation.column_names
        self._key = [names.index(name) for name in relation.key] or list(range(relation.arity))
        self._keeps_leaves = relation.ttl is not None and relation.ttl.column is None

    def create(self, connection: sqlite3.Connection) -> None:
        columns = [f"{name} {affinity(c.type)}" for name, c in zip(self._columns, self._relation.columns, strict=True)]
        connection.execute(f"CREATE TABLE {self._name} ({', '.join((*columns, *_MARKS))})")

    def drop(self, connection: sqlite3.Connection) -> None:
        connection.execute(f"DROP TABLE {self._name}")

    def write(self, connection: sqlite3.Connection, change: TableChange) -> int | None:
        """Do the change, and return by how much the digest grows; None if rows that must be there are not."""
        writer = row_writer(self._relation.columns)
        added: list[tuple[object, ...]] = []
        changed: list[tuple[object, ...]] = []
        removed: list[Stored] = []
        growth = 0
        marked = bool(change.leaves or change.arrivals)
        for row, difference in change.delta.items():
            after = change.counts.get(row, 0)
            before = after - difference
            stored = writer(row)
            if before:
                growth -= checksum(stored, before)
            if after:
                growth += checksum(stored, after)
            marks = self._marks(row, change) if marked else (None, None)
            if not before:
                added.append((*stored, after, *marks))
            elif after:
                changed.append((after, *marks, *self._key_of(stored)))
            else:
                removed.append(self._key_of(stored))
        changed += (
            (change.counts[row], *self._marks(row, change), *self._key_of(writer(row)))
            for row in self._only_marked(change)
        )
        # In this order, because a row that goes may have the key of one that comes.
        found = self._find(connection, _DELETE, removed)
        found += self._find(connection, _UPDATE, changed)
        if found != len(removed) + len(changed):
            return None
        places = ", ".join("?" * (len(self._columns) + len(_MARKS)))
        connection.executemany(f"INSERT INTO {self._name} VALUES ({places})", added)
        return growth & SUM_MASK

    def read(self, connection: sqlite3.Connection) -> tuple[TableState, int]:
        """All rows, and their digest."""
        reader = row_reader(self._relation.columns)
        arity = len(self._columns)
        counts: dict[Row, int] = {}
        leaves: dict[Row, Sequence[datetime.datetime]] = {}
        arrivals: dict[Row, Sequence[int]] = {}
        digest = 0
        for record in connection.execute(f"SELECT * FROM {self._name}"):
            stored, (copies, leaving, arriving) = record[:arity], record[arity:]
            digest += checksum(stored, copies)
            row = reader(stored)
            counts[row] = copies
            if leaving is not None:
                leaves[row] = [datetime.datetime.fromisoformat(text) for text in json.loads(leaving)]
            if arriving is not None:
                arrivals[row] = json.loads(arriving)
        return TableState(counts, leaves, arrivals), digest & SUM_MASK

    def _find(self, connection: sqlite3.Connection, statement: str, records: Sequence[Sequence[object]]) -> int:
        """Run a statement for the records, which end with the values that rows are found by; how many it found."""
        if not records:
            return 0
        found_by = [self._columns[at] for at in self._key]
        if found_by:
            connection.execute(f"CREATE INDEX IF NOT EXISTS find_{self._name} ON {self._name} ({', '.join(found_by)})")
        # IS, and not =, because NULL is a value like others here.
        where = " AND ".join(f"{name} IS ?" for name in found_by) or "TRUE"
        return connection.executemany(f"{statement.format(table=self._name)} WHERE {where}", records).rowcount

    def _key_of(self, stored: Stored) -> Stored:
        return tuple([stored[at] for at in self._key])

    def _marks(self, row: Row, change: TableChange) -> tuple[str | None, str | None]:
        leaves = change.leaves.get(row) if self._keeps_leaves else None
        arrivals = change.arrivals.get(row)
        return (
            None if leaves is None else json.dumps([time_text(leave) for leave in sorted(leaves)]),
            None if arrivals is None else json.dumps(arrivals),
        )

    def _only_marked(self, change: TableChange) -> list[Row]:
        """Rows of which there are as many copies as before, but newer ones."""
        marked = [*(change.leaves if self._keeps_leaves else ()), *change.arrivals]
        return [row for row in dict.fromkeys(marked) if row not in change.delta and row in change.counts]
