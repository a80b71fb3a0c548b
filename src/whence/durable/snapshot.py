"""A directory read while another process may have it open: as it is at one moment, and never written to.

SQLite lets readers in beside the one who writes. Each sees the last commit before it began to read.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import NamedTuple, NoReturn

from whence.durable import files
from whence.durable.catalog import Known, read_definitions
from whence.durable.journal import StoredHistory, StoredJournal, read_changes
from whence.durable.opening import read_state
from whence.errors import StateError, UnknownNameError
from whence.model.schema import Relation
from whence.session.history import Entry
from whence.session.journal import Record
from whence.session.session import Session


def open_snapshot(directory: Path, session: Session, keep_versions: int) -> None:
    """Fill a new session with what is in the directory now. It follows no later commits, and takes none."""
    connection = _connected(directory)
    try:
        connection.execute("BEGIN")
        state, known = read_state(directory, connection)
        journal = ReadOnlyJournal(directory, connection, known, keep_versions)
        session.restore(state, journal, StoredHistory(journal, keep_versions))
    except sqlite3.Error as error:
        connection.close()
        raise files.damaged(directory, str(error)) from error
    except BaseException:
        connection.close()
        raise


class ReadOnlyJournal(StoredJournal):
    """Reads the changes of old versions, and keeps no new ones."""

    def __init__(
        self, directory: Path, connection: sqlite3.Connection, known: dict[str, Known], keep_versions: int
    ) -> None:
        super().__init__(directory, None, connection, known, keep_versions)

    def append(self, record: Record) -> NoReturn:
        raise StateError(
            f"the database in {self.directory} was opened for reading, and takes no version {record.version}",
            hint="whence.connect() opens it for changes, and `whence shell` does",
        )


class News(NamedTuple):
    """What changed in a relation up to a version."""

    relation: Relation
    entries: list[Entry]
    version: int


class FeedReader:
    """The change feeds of a directory, as far as commits have come by the time of each call."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._connection = _connected(directory)

    def version(self) -> int:
        (version,) = self._connection.execute("SELECT version FROM state").fetchone()
        return int(version)

    def changes(self, name: str, since: int) -> News:
        """The changes of a table or view after a version."""
        self._connection.execute("BEGIN")
        try:
            definitions, known = read_definitions(self._connection, self._directory)
            relation = definitions.relation(name)
            entries = read_changes(self._connection, self._directory, known[relation.name], since)
            return News(relation, entries, self.version())
        finally:
            self._connection.execute("ROLLBACK")

    def close(self) -> None:
        self._connection.close()


def _connected(directory: Path) -> sqlite3.Connection:
    if files.is_new(directory):
        raise UnknownNameError(f"there is no database in {directory}")
    files.check_identity(directory)
    uri = f"{(directory / files.DATABASE_FILE).absolute().as_uri()}?mode=ro"
    try:
        return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise StateError(f"the database in {directory} cannot be read: {error}") from error
