"""The files of a directory: the lock that one process holds, the database, and the version of its last commit.

The database is made whole or not at all. All of them are looked at before they are touched.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import stat
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from whence.errors import StateError
from whence.model.updates import Version
from whence.storage.sqlite.values import SUM_MASK, checksum

LOCK_FILE = "lock"


class DirectoryLock:
    """Held from the start. The lock file says which process holds it."""

    # No other writer can come while this one lives, so that there is nothing to count.
    epoch = 0
    can_be_taken = False

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        check_regular(directory / LOCK_FILE)
        # Not through a link, which may lead to any file, and it is written to.
        descriptor = os.open(directory / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        self._close = weakref.finalize(self, os.close, descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 32).decode("ascii", "replace").strip() or "unknown"
            self._close()
            raise StateError(
                f"the database in {directory} is open already, in process {holder}",
                hint="close it there first: a directory serves one process at a time",
            ) from None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        _held.add(self)

    def check(self) -> None:
        """Raises in a forked child, which does not have the lock of its parent."""
        if not self.is_held:
            raise StateError(f"the database in {self._directory} is open in another process, which this one came from")

    @property
    def is_held(self) -> bool:
        return self._close.alive

    def release(self) -> None:
        self._close()


def check_regular(file: Path) -> None:
    """Raises where there is something else than a file, which could lead anywhere, or keep its reader waiting."""
    try:
        mode = file.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        raise StateError(f"{file} is not a file of a database", hint="take it away, or choose another directory")


_held: weakref.WeakSet[DirectoryLock] = weakref.WeakSet()


def _let_go() -> None:
    # A forked child shares the lock of its parent, and would keep it after the parent's death.
    for lock in list(_held):
        lock.release()


os.register_at_fork(after_in_child=_let_go)


DATABASE_FILE = "whence.db"
_NEW_FILE = "whence.db.new"
# What a crash while the file was made leaves behind.
_REMAINS = {LOCK_FILE, _NEW_FILE, f"{_NEW_FILE}-journal", f"{_NEW_FILE}-wal", f"{_NEW_FILE}-shm"}

FORMAT_VERSION = 3
APPLICATION_ID = int.from_bytes(b"whnc", "big")

# What SQLite and its module raise over bytes that are none of theirs, those of its schema included.
UNREADABLE = (sqlite3.Error, UnicodeError)

_MAGIC = b"SQLite format 3\0"
_HEADER_SIZE = 100

# The checksum of a catalog without anything in it.
EMPTY_CATALOG = checksum([], [], [], [])

# `relations` has one record per table or view that users know; its text is Datalog, and has the auxiliary relations of
# a view as well. `spans` are places in the text of `source`, which is the user's own. `state.catalog` is a checksum of
# all that belongs to definitions. A `digest` is the sum of the checksums of a table's rows. Changes of a relation up to
# version `dropped` are no longer in `changes`; the newest is that of version `newest`, and each knows the `former` one.
_SCHEMA = f"""
    CREATE TABLE state (
        version INTEGER NOT NULL, time TEXT, by_wall INTEGER, timestamp TEXT, catalog INTEGER NOT NULL,
        checksum INTEGER NOT NULL);
    INSERT INTO state VALUES (0, NULL, NULL, NULL, {EMPTY_CATALOG}, {checksum(0, None, None, None, EMPTY_CATALOG)});
    CREATE TABLE relations (
        number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, is_view INTEGER NOT NULL,
        text TEXT NOT NULL, source INTEGER, spans TEXT NOT NULL);
    CREATE TABLE sources (
        number INTEGER PRIMARY KEY, name TEXT NOT NULL, text TEXT NOT NULL, is_datalog INTEGER NOT NULL);
    CREATE TABLE functions (name TEXT PRIMARY KEY, returns TEXT NOT NULL);
    CREATE TABLE notices (number INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
    CREATE TABLE vitals (
        relation INTEGER PRIMARY KEY, digest INTEGER NOT NULL, dropped INTEGER NOT NULL, newest INTEGER NOT NULL,
        checksum INTEGER NOT NULL);
    CREATE TABLE changes (
        version INTEGER NOT NULL, relation INTEGER NOT NULL, timestamp TEXT NOT NULL, former INTEGER NOT NULL,
        delta BLOB NOT NULL, PRIMARY KEY (version, relation)) WITHOUT ROWID;
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
    sync(directory)
    sync(directory.absolute().parent)


def check_identity(directory: Path) -> None:
    """Read the first bytes only, so that what is no database of this version stays as it is."""
    file = directory / DATABASE_FILE
    for ending in ("", "-wal", "-shm", "-version"):
        check_regular(directory / f"{DATABASE_FILE}{ending}")
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
            yield connection
    except UNREADABLE as error:
        raise damaged(directory, str(error)) from error


def check_pages(directory: Path, connection: sqlite3.Connection) -> None:
    """Raises where the pages of the database do not fit together. That takes a look at each of them."""
    try:
        problems = [problem for (problem,) in connection.execute("PRAGMA quick_check(1)")]
    except UNREADABLE as error:
        raise damaged(directory, str(error)) from error
    if problems != ["ok"]:
        raise damaged(directory, problems[0])


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


def sync(path: Path) -> None:
    """What is known of a file or directory is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Vitals(NamedTuple):
    """The sum of the checksums of a table's rows; the newest version whose changes are forgotten, and the newest."""

    digest: int = 0
    dropped: Version = Version(0)
    newest: Version = Version(0)

    def after(self, newest: Version, growth: int) -> Vitals:
        """With changes of that version, which make the digest grow."""
        return Vitals((self.digest + growth) & SUM_MASK, self.dropped, newest)


def read_vitals(connection: sqlite3.Connection, directory: Path, number: int) -> Vitals | None:
    """Those of a relation; None if it is not there."""
    found = connection.execute(
        "SELECT digest, dropped, newest, checksum FROM vitals WHERE relation = ?", (number,)
    ).fetchone()
    if found is None:
        return None
    *vitals, written = found
    if checksum(number, *vitals) != written:
        raise damaged(directory, "what it knows about a table or view is not what was written")
    return Vitals(*vitals)


def write_vitals(connection: sqlite3.Connection, number: int, vitals: Vitals) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO vitals VALUES (?, ?, ?, ?, ?)", (number, *vitals, checksum(number, *vitals))
    )


VERSION_FILE = f"{DATABASE_FILE}-version"
_SIZE = 64


class VersionFile:
    """Written after each commit. It need not be safe on disk at once: it may be behind, and is never ahead."""

    def __init__(self, directory: Path) -> None:
        self._descriptor = os.open(directory / VERSION_FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        self.close = weakref.finalize(self, os.close, self._descriptor)

    def write(self, version: int) -> None:
        # The commit is on disk, whether this is or not.
        with suppress(OSError):
            os.pwrite(self._descriptor, f"{version} {checksum(version)}\n".ljust(_SIZE).encode(), 0)


def check_version(directory: Path, version: int) -> None:
    """Raises if the database has been at a later version than this one, or has had a later commit."""
    check_regular(directory / VERSION_FILE)
    file = directory / VERSION_FILE
    written = file.read_bytes().split() if file.is_file() else []
    if not written:
        return
    if len(written) != 2 or not all(each.isdigit() for each in written) or checksum(int(written[0])) != int(written[1]):
        raise damaged(directory, f"{VERSION_FILE} is not what was written")
    if int(written[0]) > version:
        raise damaged(directory, f"version {int(written[0])} was committed, and what is left is version {version}")
