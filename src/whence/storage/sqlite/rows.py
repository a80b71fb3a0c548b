"""The rows of a base table in SQLite: one record per row, with the number of its copies."""

from __future__ import annotations

import datetime
import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from itertools import compress, repeat
from operator import itemgetter, sub
from typing import TypeAlias, cast

from whence.columns.arrow import ListedColumns
from whence.model.schema import Relation
from whence.model.types import Row
from whence.session.contents import counts_of
from whence.session.journal import TableChange, TableState
from whence.storage.sqlite.values import (
    SUM_MASK,
    Stored,
    checksum,
    columns_of,
    digest,
    row_reader,
    stored_columns,
    stored_rows,
    time_text,
    value_columns,
)

# What follows a row's own columns: how many copies there are, when they leave, by which numbers they came, and a
# checksum of all that where there is more than the table's digest knows.
_MARKS = ("copies INTEGER NOT NULL", "leaves TEXT", "arrivals TEXT", "checksum INTEGER")
_MARK_NAMES = [mark.split()[0] for mark in _MARKS]
# All but the first of them.
_Marks: TypeAlias = tuple[str | None, str | None, int | None]
_UNMARKED: _Marks = (None, None, None)

_ANY_MARK = " OR ".join(f"{name} NOTNULL" for name in _MARK_NAMES[1:])

# So many columns find a row, or nearly.
_INDEXED = 32

_DELETE = "DELETE FROM {table}"
_UPDATE = "UPDATE {table} SET copies = ?, leaves = ?, arrivals = ?, checksum = ?"


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
        key = [names.index(name) for name in relation.key] or list(range(relation.arity))
        found_by = [self._columns[at] for at in key]
        self._key_of: Callable[[Stored], Stored] = _picked(key)
        self._index = f"CREATE INDEX IF NOT EXISTS find_{self._name} ON {self._name} ({', '.join(found_by[:_INDEXED])})"
        # IS, and not =, because NULL is a value like others here. SQLite takes no expression that is a thousand deep,
        # and without parentheses each condition is inside the one after it.
        conditions = [f"{name} IS ?" for name in found_by]
        parts = [conditions[at : at + _INDEXED] for at in range(0, len(conditions), _INDEXED)]
        self._where = " AND ".join(f"({' AND '.join(part)})" for part in parts) or "TRUE"
        self._keeps_leaves = relation.ttl is not None and relation.ttl.column is None
        self._is_marked = self._keeps_leaves or relation.window is not None
        written = [*self._columns, *_MARK_NAMES[: None if self._is_marked else 1]]
        self._insert = f"INSERT INTO {self._name} ({', '.join(written)}) VALUES ({', '.join('?' * len(written))})"

    def create(self, connection: sqlite3.Connection) -> None:
        columns = [f"{name} {c.type.sqlite}" for name, c in zip(self._columns, self._relation.columns, strict=True)]
        connection.execute(f"CREATE TABLE {self._name} ({', '.join((*columns, *_MARKS))})")

    def drop(self, connection: sqlite3.Connection) -> None:
        connection.execute(f"DROP TABLE {self._name}")

    def write(self, connection: sqlite3.Connection, change: TableChange) -> int | None:
        """Do the change, and return by how much the digest grows; None if rows that must be there are not."""
        values, differences = columns_of(change.delta)
        columns = stored_columns(self._relation.columns, values)
        stored = stored_rows(columns, len(differences))
        after = counts_of(change.counts, change.delta)
        before = list(map(sub, after, differences))
        growth = digest(stored, after) - digest(stored, before)
        records: Iterable[tuple[object, ...]] = zip(*columns, after, strict=True)
        marks: Sequence[_Marks] = ()
        if self._is_marked:
            marks = list(map(self._marks, change.delta, repeat(change), stored, after))
            records = (record + each for record, each in zip(records, marks, strict=True))
        is_new = [not copies for copies in before]
        changed: list[tuple[object, ...]] = []
        removed: list[Stored] = []
        if not all(is_new):
            every = marks or [_UNMARKED] * len(stored)
            for found_by, old, copies, each in zip(map(self._key_of, stored), before, after, every, strict=True):
                if old and copies:
                    changed.append((copies, *each, *found_by))
                elif old:
                    removed.append(found_by)
        for row in self._only_marked(change) if self._is_marked else ():
            (as_stored,) = stored_rows(stored_columns(self._relation.columns, [[value] for value in row]), 1)
            copies = change.counts[row]
            changed.append((copies, *self._marks(row, change, as_stored, copies), *self._key_of(as_stored)))
        # In this order, because a row that goes may have the key of one that comes.
        found = self._find(connection, _DELETE, removed) if removed else 0
        found += self._find(connection, _UPDATE, changed) if changed else 0
        if found != len(removed) + len(changed):
            return None
        connection.executemany(self._insert, compress(records, is_new))
        return growth & SUM_MASK

    def read(self, connection: sqlite3.Connection, expected: int) -> TableState | None:
        """All rows; None if their digest is another one. Nothing is made of bytes before they are known."""
        cursor = connection.execute(f"SELECT * FROM {self._name} LIMIT 0")
        if [name for name, *_ in cursor.description] != [*self._columns, *_MARK_NAMES]:
            # A flipped bit in SQLite's schema is another schema to it.
            return None
        if self._is_marked or not self._columns:
            return self._read_marked(connection, expected)
        # The same order twice: that of the records, and not that of an index.
        records = f"FROM {self._name} NOT INDEXED"
        (marked,) = connection.execute(f"SELECT count(*) {records} WHERE {_ANY_MARK}").fetchone()
        stored = connection.execute(f"SELECT {', '.join(self._columns)} {records}").fetchall()
        copies = [1] * len(stored)
        if connection.execute(f"SELECT 1 {records} WHERE copies IS NOT 1 LIMIT 1").fetchone():
            copies = [count for (count,) in connection.execute(f"SELECT copies {records}")]
        if marked or digest(stored, copies) & SUM_MASK != expected:
            return None
        columns = [list(map(itemgetter(at), stored)) for at in range(len(self._columns))]
        return TableState(ListedColumns(value_columns(self._relation.columns, columns), copies), {}, {})

    def _read_marked(self, connection: sqlite3.Connection, expected: int) -> TableState | None:
        arity = len(self._columns)
        records = connection.execute(f"SELECT * FROM {self._name}").fetchall()
        found = 0
        for record in records:
            found += checksum(record[:arity], record[arity])
            if record[-1] != (checksum(*record[:-1]) if self._is_marked else None):
                return None
        if found & SUM_MASK != expected:
            return None
        reader = row_reader(self._relation.columns)
        counts: dict[Row, int] = {}
        leaves: dict[Row, Sequence[datetime.datetime]] = {}
        arrivals: dict[Row, Sequence[int]] = {}
        for record in records:
            row = reader(record[:arity])
            copies, leaving, arriving, _ = record[arity:]
            counts[row] = copies
            if leaving is not None:
                leaves[row] = [datetime.datetime.fromisoformat(text) for text in json.loads(leaving)]
            if arriving is not None:
                arrivals[row] = json.loads(arriving)
        return TableState(counts, leaves, arrivals)

    def _find(self, connection: sqlite3.Connection, statement: str, records: Sequence[Sequence[object]]) -> int:
        """Run a statement for the records, which end with the values that rows are found by; how many it found."""
        if self._columns:
            connection.execute(self._index)
        return connection.executemany(f"{statement.format(table=self._name)} WHERE {self._where}", records).rowcount

    def _marks(self, row: Row, change: TableChange, stored: Stored, copies: int) -> _Marks:
        leaves = change.leaves.get(row) if self._keeps_leaves else None
        arrivals = change.arrivals.get(row)
        marks = (
            None if leaves is None else json.dumps([time_text(leave) for leave in sorted(leaves)]),
            None if arrivals is None else json.dumps(arrivals),
        )
        return (*marks, checksum(*stored, copies, *marks))

    def _only_marked(self, change: TableChange) -> list[Row]:
        """Rows of which there are as many copies as before, but newer ones."""
        marked = [*(change.leaves if self._keeps_leaves else ()), *change.arrivals]
        return [row for row in dict.fromkeys(marked) if row not in change.delta and row in change.counts]


def _picked(positions: list[int]) -> Callable[[Stored], Stored]:
    """What takes some columns out of a stored row."""
    if len(positions) == 1:
        return cast("Callable[[Stored], Stored]", itemgetter(slice(positions[0], positions[0] + 1)))
    return itemgetter(*positions) if positions else itemgetter(slice(0))
