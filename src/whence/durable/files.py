"""The file that holds everything: made whole or not at all, and looked at before it is touched."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from whence.durable.checksums import checksum
from whence.durable.lock import LOCK_FILE
from whence.errors import StateError

DATABASE_FILE = "whence.db"
_NEW_FILE = "whence.db.new"
# What a crash while the file was made leaves behind.
_REMAINS = {LOCK_FILE, _NEW_FILE, f"{_NEW_FILE}-journal", f"{_NEW_FILE}-wal", f"{_NEW_FILE}-shm"}

FORMAT_VERSION = 2
APPLICATION_ID = int.from_bytes(b"whnc", "big")

_MAGIC = b"SQLite format 3\0"
_HEADER_SIZE = 100

# `relations` has one record per table or view that users know; its text is Datalog, and has the auxiliary relations of
# a view as well. `spans` are places in the text of `source`, which is the user's own. A `digest` is the sum of the
# checksums of a table's rows. Changes of a relation up to version `dropped` are no longer in `changes`.
_SCHEMA = f"""
    CREATE TABLE state (version INTEGER NOT NULL, time TEXT, by_wall INTEGER, checksum INTEGER NOT NULL);
    INSERT INTO state VALUES (0, NULL, NULL, {checksum(0, None, None)});
    CREATE TABLE relations (
        number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, is_view INTEGER NOT NULL,
        text TEXT NOT NULL, source INTEGER, spans TEXT NOT NULL, checksum INTEGER NOT NULL);
    CREATE TABLE sources (
        number INTEGER PRIMARY KEY, name TEXT NOT NULL, text TEXT NOT NULL, is_datalog INTEGER NOT NULL);
    CREATE TABLE functions (name TEXT PRIMARY KEY, returns TEXT NOT NULL);
    CREATE TABLE notices (number INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
    CREATE TABLE vitals (relation INTEGER PRIMARY KEY, digest INTEGER NOT NULL, dropped INTEGER NOT NULL);
    CREATE TABLE changes (
        version INTEGER NOT NULL, relation INTEGER NOT NULL, timestamp TEXT NOT NULL, delta BLOB NOT NULL,
        PRIMARY KEY (version, relation)) WITHOUT ROWID;
"""


def is_new(directory: Path) -> bool:
    """Whether a database can be made in the directory, which need not exist."""
    if not directory.exists():
        return True
    if not directory.is_dir():
        raise StateError(f"{directory} is a file, and a database is kept in a directory")
    names = {entry.name for entry in directory.iterdir()}
    if DATABASE_FILE in names:
        return False
    if any(name.startswith(DATABASE_FILE) and name not in _REMAINS for name in names):
        raise damaged(directory, f"{DATABASE_FILE} is missing")
    if names - _REMAINS:
        raise StateError(
            f"{directory} holds other files, and no database of whence",
            hint="choose a directory that is empty, or does not exist yet",
        )
    return True


def create(directory: Path) -> None:
    """Make an empty database. A crash on the way leaves nothing that would be taken for one."""
    new = directory / _NEW_FILE
    for name in _REMAINS - {LOCK_FILE}:
        (directory / name).unlink(missing_ok=True)
    with closing(sqlite3.connect(new, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
        connection.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
    new.rename(directory / DATABASE_FILE)
    _sync(directory)
    _sync(directory.absolute().parent)


def check_identity(directory: Path) -> None:
    """Read the first bytes only, so that what is no database of this version stays as it is."""
    file = directory / DATABASE_FILE
    with file.open("rb") as opened:
        header = opened.read(_HEADER_SIZE)
    if len(header) < _HEADER_SIZE or not header.startswith(_MAGIC):
        raise damaged(directory, f"{DATABASE_FILE} does not begin as it should")
    pages, version, application = (int.from_bytes(header[at : at + 4], "big") for at in (28, 60, 68))
    if application != APPLICATION_ID:
        raise StateError(f"{file} belongs to another program", hint="choose another directory")
    if version != FORMAT_VERSION:
        raise StateError(
            f"the database in {directory} has format {version}, and this version of whence reads format "
            f"{FORMAT_VERSION}",
            hint="open it with the version of whence that wrote it",
        )
    # A page size of 65536 is written as 1. With a log beside it, the file may be behind what its header says.
    page_size = int.from_bytes(header[16:18], "big") & 0xFFFE or 65536
    if not has_log(directory) and file.stat().st_size < pages * page_size:
        raise damaged(directory, f"the end of {DATABASE_FILE} is missing")


@contextmanager
def reading(directory: Path) -> Iterator[sqlite3.Connection]:
    """A connection that writes nothing to the database. Whatever it cannot read is damaged."""
    # Without a log to be read, SQLite need not write even the index of one. Nobody else writes: there is the lock.
    mode = "mode=ro" if has_log(directory) else "immutable=1"
    uri = f"{(directory / DATABASE_FILE).absolute().as_uri()}?{mode}"
    try:
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
            problems = [problem for (problem,) in connection.execute("PRAGMA quick_check(1)")]
            if problems != ["ok"]:
                raise damaged(directory, problems[0])
            yield connection
    except sqlite3.Error as error:
        raise damaged(directory, str(error)) from error


def writing(directory: Path) -> sqlite3.Connection:
    """The connection for commits: what it has committed is on disk."""
    # The database's own lock lets one thread in at a time.
    connection = sqlite3.connect(directory / DATABASE_FILE, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def damaged(directory: Path | str, how: str) -> StateError:
    return StateError(
        f"the database in {directory} is damaged: {how}",
        hint="nothing has been written to it; bring back a copy of the whole directory",
    )


def has_log(directory: Path) -> bool:
    """Whether there are commits that SQLite has not moved to their place yet, because the process died."""
    log = directory / f"{DATABASE_FILE}-wal"
    return log.exists() and log.stat().st_size > 0


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
