"""Commits on disk, one transaction each, and the change feeds that are read back from there."""

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from whence.durable.catalog import Known, write_definitions
from whence.durable.checksums import SUM_MASK, checksum
from whence.durable.feeds import pack, unpack
from whence.durable.files import damaged
from whence.durable.lock import DirectoryLock
from whence.durable.values import time_text
from whence.errors import StateError
from whence.session.history import Entry, History, check_kept
from whence.session.journal import Record


class StoredJournal:
    """Appends commits; an append that returns is on disk."""

    def __init__(
        self,
        directory: Path,
        lock: DirectoryLock | None,
        connection: sqlite3.Connection,
        known: dict[str, Known],
        keep_versions: int,
    ) -> None:
        """Without the lock it can be read, and that is all."""
        self.directory = directory
        self._lock = lock
        self._connection = connection
        self._known = known
        self._keep_versions = keep_versions

    @property
    def version(self) -> int:
        try:
            (version,) = self._connection.execute("SELECT version FROM state").fetchone()
        except sqlite3.Error as error:
            raise StateError(f"the database in {self.directory} cannot be read any more: {error}") from error
        return int(version)

    def append(self, record: Record) -> None:
        if self._lock is None or not self._lock.held:
            raise StateError(f"the database in {self.directory} is open in another process, which this one came from")
        known = self._known
        try:
            with self._transaction():
                self._known = write_definitions(self._connection, record.before, record.after, known)
                self._write(record)
        except BaseException as error:
            if self.version < record.version:
                self._known = known
            if isinstance(error, sqlite3.Error | OverflowError):
                raise StateError(
                    f"the commit could not be written to {self.directory}: {error}",
                    hint="it did not happen; the database can be read as before",
                ) from error
            raise

    def changes(self, name: str, since: int) -> list[Entry]:
        """The changes of a relation after a version. Raises where some of them have been dropped."""
        return read_changes(self._connection, self.directory, self._known[name], since, self._keep_versions)

    def close(self) -> None:
        self._connection.close()
        if self._lock is not None:
            self._lock.release()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _write(self, record: Record) -> None:
        for change in record.tables:
            known = self._known[change.relation.name]
            assert known.rows is not None
            growth = known.rows.write(self._connection, change)
            if growth is None:
                raise damaged(self.directory, f"rows of {change.relation.name!r} are not where they should be")
            self._connection.execute(
                f"UPDATE vitals SET digest = (digest + ?) & {SUM_MASK} WHERE relation = ?", (growth, known.number)
            )
        self._drop_changes(record.version - self._keep_versions)
        timestamp = record.timestamp.isoformat()
        for name, delta in record.seen.items():
            known = self._known[name]
            place = (record.version, known.number, timestamp)
            packed = pack(known.relation, delta, place)
            self._connection.execute("INSERT INTO changes VALUES (?, ?, ?, ?)", (*place, packed))
        notices = [(notice,) for notice in record.notices]
        self._connection.executemany("INSERT OR IGNORE INTO notices (text) VALUES (?)", notices)
        clock = (None, None) if record.tick is None else (time_text(record.tick.time), int(record.tick.by_wall))
        state = (record.version, *clock)
        self._connection.execute(
            "UPDATE state SET version = ?, time = ?, by_wall = ?, checksum = ?", (*state, checksum(*state))
        )

    def _drop_changes(self, oldest: int) -> None:
        """Forget the changes up to a version, and remember for each relation which ones that were."""
        dropped = self._connection.execute(
            "SELECT max(version), relation FROM changes WHERE version <= ? GROUP BY relation", (oldest,)
        ).fetchall()
        if dropped:
            self._connection.executemany("UPDATE vitals SET dropped = ? WHERE relation = ?", dropped)
            self._connection.execute("DELETE FROM changes WHERE version <= ?", (oldest,))


def read_changes(
    connection: sqlite3.Connection, directory: Path, known: Known, since: int, keep_versions: int | None = None
) -> list[Entry]:
    """The changes of a relation after a version. Raises where some of them have been dropped."""
    vitals = connection.execute("SELECT dropped FROM vitals WHERE relation = ?", (known.number,)).fetchone()
    if vitals is None:
        raise StateError(f"{known.relation.name!r} is gone, or another one has its name", hint="ask again")
    check_kept(known.relation.name, since, vitals[0], keep_versions)
    stored = connection.execute(
        "SELECT version, relation, timestamp, delta FROM changes WHERE version > ? AND relation = ?",
        (since, known.number),
    )
    try:
        return [_entry(directory, known, *record) for record in stored]
    except sqlite3.Error as error:
        raise damaged(directory, str(error)) from error


def _entry(directory: Path, known: Known, version: int, number: int, timestamp: str, packed: bytes) -> Entry:
    delta = unpack(known.relation, packed, (version, number, timestamp))
    if delta is None:
        raise damaged(directory, f"the changes of {known.relation.name!r} in version {version} are not those written")
    return Entry(version, datetime.datetime.fromisoformat(timestamp), delta)


class StoredHistory(History):
    """A history that is read from the journal when somebody asks."""

    def __init__(self, journal: StoredJournal, keep_versions: int) -> None:
        super().__init__(keep_versions)
        self._journal = journal

    def record(self, name: str, entry: Entry) -> None:
        """The journal has it."""

    def forget(self, name: str) -> None:
        """The journal has."""

    def trim(self, current: int) -> None:
        """The journal has."""

    def since(self, name: str, version: int) -> Sequence[Entry]:
        return self._journal.changes(name, version)
