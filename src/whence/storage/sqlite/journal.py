"""Commits on disk, one transaction each."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from whence.engines.engine import SavesState
from whence.errors import StateError
from whence.model.types import Row
from whence.model.updates import Version
from whence.session.journal import Entry, Journal, Record
from whence.storage.sqlite.checkpoint import Checkpoints
from whence.storage.sqlite.definitions import StoredRelation, catalog_checksum, write_definitions
from whence.storage.sqlite.engine_state import EngineStates
from whence.storage.sqlite.feeds import read_changes
from whence.storage.sqlite.files import (
    DATABASE_FILE,
    UNREADABLE,
    DirectoryLock,
    VersionFile,
    Vitals,
    check_pages,
    damaged,
    read_vitals,
    write_vitals,
)
from whence.storage.sqlite.values import checksum, pack, time_text


class StoredJournal(Journal):
    """Appends commits; an append that returns is on disk."""

    def __init__(
        self,
        directory: Path,
        lock: DirectoryLock,
        connection: sqlite3.Connection,
        known: dict[str, StoredRelation],
        keep_versions: int,
        contents: Callable[[str], Mapping[Row, int] | None],
        engine: Callable[[], SavesState | None],
        *,
        is_checked: bool,
    ) -> None:
        """`contents` gives the rows of a table as they are in memory, and `engine` who has them; None if nobody knows
        them for certain. Unless the pages of the database are checked, that is done before the first commit.
        """
        self.directory = directory
        self._lock = lock
        self._connection = connection
        self._known = known
        self._keep_versions = keep_versions
        self._version_file = VersionFile(directory)
        # A process may change its working directory.
        self._file = directory.absolute() / DATABASE_FILE
        self._inodes = self._find_inodes()
        self._checkpoints = Checkpoints(self._file.parent, connection, contents)
        self._states = EngineStates(self._file.parent, connection, engine)
        self._is_checked = is_checked

    @property
    def version(self) -> Version:
        try:
            (version,) = self._connection.execute("SELECT version FROM state").fetchone()
        except sqlite3.Error as error:
            raise StateError(f"the database in {self.directory} cannot be read any more: {error}") from error
        return Version(version)

    def begin(self, version: Version) -> None:  # noqa: ARG002 - whichever
        self._lock.check()
        if not self._is_checked:
            check_pages(self.directory, self._connection)
            self._is_checked = True

    def append(self, record: Record) -> None:
        known = self._known
        try:
            with self._transaction():
                if record.after is not record.before:
                    self._known = write_definitions(self._connection, record.before, record.after, known)
                self._write(record)
                self._check_files()
            self._version_file.write(record.version)
        except BaseException as error:
            if self.version < record.version:
                self._known = known
            if isinstance(error, (*UNREADABLE, OverflowError)):
                raise StateError(
                    f"the commit could not be written to {self.directory}: {error}",
                    hint="it did not happen; the database can be read as before",
                ) from error
            raise

    def since(self, name: str, version: Version) -> list[Entry]:
        return read_changes(self._connection, self.directory, self._known[name], version, self._keep_versions)

    def compact(self) -> None:
        """SQLite does that by itself, and tables that have grown are written as columns."""
        self._write_copies(is_last=False)

    def close(self) -> None:
        try:
            if self._lock.is_held:
                self._write_copies(is_last=True)
        finally:
            self._connection.close()
            self._version_file.close()
            self._lock.release()

    def _write_copies(self, *, is_last: bool) -> None:
        self._checkpoints.write(self._known.values(), is_last=is_last)
        self._states.write(self._known.values(), is_last=is_last)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        # A transaction that was left in the middle has not happened.
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _check_files(self) -> None:
        """SQLite goes on writing to files that have been deleted or replaced, which nobody will find again."""
        before, self._inodes = self._inodes, self._find_inodes()
        if before == self._inodes:
            return
        if any(inode not in (0, now) for inode, now in zip(before, self._inodes, strict=True)):
            self._inodes = before
            raise StateError(
                f"the files of the database in {self.directory} have been deleted or replaced",
                hint="the commit did not happen; close the database, and bring the directory back",
            )

    def _find_inodes(self) -> tuple[int, ...]:
        """Of the database and its log; 0 for one that is not there, as the log before the first commit."""
        found = []
        for ending in ("", "-wal"):
            try:
                found.append(Path(f"{self._file}{ending}").stat().st_ino)
            except OSError:
                found.append(0)
        return tuple(found)

    def _write(self, record: Record) -> None:
        self._drop_changes(record.version - self._keep_versions)
        grown: dict[int, int] = {}
        for change in record.tables():
            known = self._known[change.relation.name]
            assert known.rows is not None
            self._checkpoints.count(known.number, len(change.delta))
            self._states.count(len(change.delta))
            growth = known.rows.write(self._connection, change)
            if growth is None:
                raise damaged(self.directory, f"rows of {change.relation.name!r} are not where they should be")
            if growth:
                grown[known.number] = growth
        timestamp = record.timestamp.isoformat()
        for name, delta in record.seen.items():
            known = self._known[name]
            vitals = self._vitals(known.number)
            place = (record.version, known.number, timestamp, vitals.newest)
            packed = pack(known.relation, delta, place)
            self._connection.execute("INSERT INTO changes VALUES (?, ?, ?, ?, ?)", (*place, packed))
            after = vitals.after(record.version, grown.pop(known.number, 0))
            write_vitals(self._connection, known.number, after)
        for number, growth in grown.items():
            vitals = self._vitals(number)
            write_vitals(self._connection, number, vitals.after(vitals.newest, growth))
        clock = (None, None) if record.tick is None else (time_text(record.tick.time), int(record.tick.by_wall))
        if record.notices:
            notices = [(notice,) for notice in record.notices]
            self._connection.executemany("INSERT OR IGNORE INTO notices (text) VALUES (?)", notices)
        if record.after is not record.before or record.notices:
            self._connection.execute("UPDATE state SET catalog = ?", (catalog_checksum(self._connection),))
        (catalog,) = self._connection.execute("SELECT catalog FROM state").fetchone()
        state = (record.version, *clock, timestamp, catalog)
        self._connection.execute(
            "UPDATE state SET version = ?, time = ?, by_wall = ?, timestamp = ?, catalog = ?, checksum = ?",
            (*state, checksum(*state)),
        )

    def _vitals(self, number: int) -> Vitals:
        vitals = read_vitals(self._connection, self.directory, number)
        if vitals is None:
            raise damaged(self.directory, "what it knows about a table or view is missing")
        return vitals

    def _drop_changes(self, oldest: int) -> None:
        """Forget the changes up to a version, and remember for each relation which ones that were."""
        dropped = self._connection.execute(
            "SELECT max(version), relation FROM changes WHERE version <= ? GROUP BY relation", (oldest,)
        ).fetchall()
        for version, number in dropped:
            write_vitals(self._connection, number, self._vitals(number)._replace(dropped=version))
        if dropped:
            self._connection.execute("DELETE FROM changes WHERE version <= ?", (oldest,))
