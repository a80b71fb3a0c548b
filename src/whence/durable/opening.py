"""A directory becomes a session: made, or opened as the last commit left it."""

from __future__ import annotations

import datetime
import sqlite3
from pathlib import Path

from whence.durable import files
from whence.durable.catalog import Known, read_definitions
from whence.durable.checksums import checksum
from whence.durable.journal import StoredHistory, StoredJournal
from whence.durable.lock import DirectoryLock
from whence.errors import StateError, WhenceError
from whence.session.clock import Tick
from whence.session.journal import State, TableState
from whence.session.session import Session


def open_directory(directory: Path, session: Session, keep_versions: int) -> None:
    """Fill a new session with what is in the directory, and keep there what it commits from now on."""
    try:
        is_new = files.is_new(directory)
        if is_new:
            directory.mkdir(parents=True, exist_ok=True)
        lock = DirectoryLock(directory)
    except OSError as error:
        raise _unusable(directory, error) from error
    try:
        # Another process may have made it while this one waited for nothing.
        if is_new and files.is_new(directory):
            files.create(directory)
        files.check_identity(directory)
        with files.reading(directory) as connection:
            state, known = read_state(directory, connection)
        connection = files.writing(directory)
    except (OSError, sqlite3.Error) as error:
        lock.release()
        raise _unusable(directory, error) from error
    except BaseException:
        lock.release()
        raise
    journal = StoredJournal(directory, lock, connection, known, keep_versions)
    try:
        session.restore(state, journal, StoredHistory(journal, keep_versions))
    except BaseException:
        journal.close()
        raise


def read_state(directory: Path, connection: sqlite3.Connection) -> tuple[State, dict[str, Known]]:
    """Everything but the changes of old versions."""
    version, tick = read_version(directory, connection)
    try:
        definitions, known = read_definitions(connection, directory)
    except StateError:
        raise
    except WhenceError as error:
        raise files.damaged(directory, f"its definitions cannot be understood: {error.message}") from error
    tables: dict[str, TableState] = {}
    for name, each in known.items():
        if each.rows is not None:
            tables[name], found = each.rows.read(connection)
            vitals = connection.execute("SELECT digest FROM vitals WHERE relation = ?", (each.number,)).fetchone()
            if vitals != (found,):
                raise files.damaged(directory, f"the rows of {name!r} are not those that were written")
    return State(version, definitions, tables, tick, read_notices(connection)), known


def read_version(directory: Path, connection: sqlite3.Connection) -> tuple[int, Tick | None]:
    """The last commit's version, and the last time that was advanced to."""
    *state, written = connection.execute("SELECT version, time, by_wall, checksum FROM state").fetchone()
    if checksum(*state) != written:
        raise files.damaged(directory, "its version is not the one that was written")
    version, time, by_wall = state
    return version, None if time is None else Tick(datetime.datetime.fromisoformat(time), bool(by_wall))


def read_notices(connection: sqlite3.Connection) -> list[str]:
    return [text for (text,) in connection.execute("SELECT text FROM notices ORDER BY number")]


def _unusable(directory: Path, error: Exception) -> StateError:
    return StateError(f"the database in {directory} cannot be opened: {error}")
