"""What the engine keeps, as it lies in memory, beside the database: opening maps it, and builds nothing.

Like the columns of a table it is a copy, and never the truth. It counts only for the same definitions and the same
layout of memory, together with the changes of tables that it was made after; what came later is read from the feed, and
followed. In every other case it is passed over.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from whence.algebra.deltas import added, negated
from whence.engines.engine import SavesState
from whence.errors import StateError
from whence.model.updates import Delta, Update
from whence.session.definitions import Definitions
from whence.session.journal import TableState
from whence.storage.sqlite import checkpoint
from whence.storage.sqlite.array_file import map_arrays, read_head, remove_unfinished, write_arrays
from whence.storage.sqlite.checkpoint import Mark, made_after
from whence.storage.sqlite.definitions import StoredRelation
from whence.storage.sqlite.feeds import read_changes
from whence.storage.sqlite.files import DATABASE_FILE, read_vitals

_FILE = f"{DATABASE_FILE}-state"


class EngineStates:
    """Writes that of an open database."""

    def __init__(
        self, directory: Path, connection: sqlite3.Connection, engine: Callable[[], SavesState | None]
    ) -> None:
        """`engine` answers None where nobody knows its state for certain."""
        self._directory = directory
        self._connection = connection
        self._engine = engine
        # Rows of tables that have changed since it was written, as far as this process knows, and how many there were
        # when that was last looked at.
        self._changed = self._size = 0

    def count(self, rows: int) -> None:
        self._changed += rows

    def write(self, known: Iterable[StoredRelation], *, is_last: bool) -> None:
        """If as much has changed as there is; the last time, if it is not there. Does not raise."""
        if not is_last and self._changed < max(checkpoint.LEAST_CHANGED, self._size):
            return
        # Nothing is lost with a state that could not be written.
        with suppress(OSError, StateError, sqlite3.Error):
            engine, file = self._engine(), self._directory / _FILE
            if is_last:
                remove_unfinished(file)
            if engine is None:
                return
            saved = engine.saved()
            self._size = 0 if saved is None else saved["size"]
            if saved is None or self._size < checkpoint.LEAST_ROWS:
                if is_last:
                    file.unlink(missing_ok=True)
            elif is_last or self._changed >= self._size:
                about = [engine.layout(), self._catalog, self._marks(known)]
                head = read_head(file)
                if head is None or head.about != about:
                    write_arrays(file, about, saved)
                self._changed = 0

    @property
    def _catalog(self) -> int:
        (catalog,) = self._connection.execute("SELECT catalog FROM state").fetchone()
        return int(catalog)

    def _marks(self, known: Iterable[StoredRelation]) -> list[list[Any]]:
        """What was the newest change of each table."""
        numbers = [each.number for each in known if each.rows is not None]
        vitals = [read_vitals(self._connection, self._directory, number) for number in numbers]
        found = zip(numbers, vitals, strict=True)
        return [list(made_after(self._connection, number, each)) for number, each in found if each is not None]


def has_state(directory: Path) -> bool:
    return (directory / _FILE).exists()


def load_engine(
    connection: sqlite3.Connection,
    directory: Path,
    engine: SavesState,
    catalog: int,
    definitions: Definitions,
    known: Mapping[str, StoredRelation],
    read_table: Callable[[StoredRelation], TableState],
) -> frozenset[str] | None:
    """Let an engine have the state that is there, and what came after it. Answers whose rows are in that state; None
    if no state leads to what is there now, and the engine is as before.

    `read_table` reads the rows of other tables as they are now.
    """
    head = read_head(directory / _FILE)
    if head is None or head.about[:2] != [engine.layout(), catalog]:
        return None
    tables = {name: each for name, each in known.items() if each.rows is not None}
    later = _later(connection, directory, tables, [Mark(*mark) for mark in head.about[2]])
    saved = None if later is None else map_arrays(directory / _FILE, head)
    if later is None or saved is None:
        return None
    if sum(map(len, later.values())) * checkpoint.ROWS_PER_CHANGE > saved["size"]:
        return None
    names = frozenset(name for name, _ in saved["tables"])
    rows: dict[str, Delta] = {}
    for name in tables.keys() - names:
        table = read_table(tables[name])
        # As they were when the state was saved.
        rows[name] = added(table.counts, *table.later, negated(later.get(name, {})))
    computable = definitions.waiting.computable
    is_loaded = engine.restore(computable, definitions.functions, saved, Update(rows), Update(later))
    return names if is_loaded else None


def _later(
    connection: sqlite3.Connection, directory: Path, tables: Mapping[str, StoredRelation], marks: list[Mark]
) -> dict[str, Delta] | None:
    """What changed in tables since a state was saved; None if nothing leads from there to what is there now."""
    if [mark.number for mark in marks] != [each.number for each in tables.values()]:
        return None
    later: dict[str, Delta] = {}
    for (name, each), mark in zip(tables.items(), marks, strict=True):
        vitals = read_vitals(connection, directory, each.number)
        if vitals is not None and mark.is_of(vitals):
            continue
        if vitals is None or not mark.is_before(vitals, connection):
            return None
        try:
            later[name] = added({}, *(entry.delta for entry in read_changes(connection, directory, each, mark.newest)))
        except StateError:
            return None
    return later
