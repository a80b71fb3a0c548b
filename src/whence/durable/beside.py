"""A directory read beside the process that has it open: one moment of it at a time, without a lock or a trace.

SQLite lets readers in beside the one who writes, and each sees the last commit before it began. A commit that is only
half in the log, because its writer is at it or has died, is not there.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeAlias, TypeVar

from whence.durable import files
from whence.errors import StateError, UnknownNameError
from whence.session.history import ForgottenError

T = TypeVar("T")

# Which file it is, how long, and when it was written; None where there is none.
_Stamp: TypeAlias = tuple[int, int, int] | None

# Somebody opens or closes the database just now: a moment later that is done.
_ATTEMPTS = 10
_PAUSE = 0.02

_IMMUTABLE = "immutable=1"
_LOG_HEADER = 32


def read_beside(directory: Path, read: Callable[[sqlite3.Connection], T]) -> T:
    """What `read` finds, in one transaction. It is called again where the files came, went or changed meanwhile."""
    for attempt in range(1, _ATTEMPTS + 1):
        before = _stamps(directory)
        try:
            mode = _mode(directory, is_first=attempt == 1)
            found = _read(directory, mode, read)
            if mode != _IMMUTABLE or _stamps(directory) == before:
                return found
        except (sqlite3.Error, OSError, StateError) as error:
            is_settled = attempt > 1 and _stamps(directory) == before
            is_final = isinstance(error, ForgottenError) or is_settled or attempt == _ATTEMPTS
            if is_final and isinstance(error, StateError):
                raise
            if is_final:
                raise _unreadable(directory, error) from error
        time.sleep(_PAUSE)
    raise StateError(f"the database in {directory} was opened and closed again whenever it was read")


def check_database(directory: Path) -> None:
    """Raises where there is none, or one of another program or version."""
    if files.is_new(directory):
        raise UnknownNameError(f"there is no database in {directory}")
    files.check_identity(directory)


def _read(directory: Path, mode: str, read: Callable[[sqlite3.Connection], T]) -> T:
    uri = f"{(directory / files.DATABASE_FILE).absolute().as_uri()}?{mode}"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        return read(connection)


def _unreadable(directory: Path, error: Exception) -> StateError:
    if isinstance(error, OSError | sqlite3.OperationalError):
        return StateError(f"the database in {directory} cannot be read: {error}")
    return files.damaged(directory, str(error))


def _mode(directory: Path, *, is_first: bool) -> str:
    """How SQLite reads without writing anything, not even its index of the log.

    Where there is no log it must not make one. It needs an index of its own only beside a log that has none, which is
    that of a copied directory, or one whose writer died at its first bytes.
    """
    index, log = (directory / f"{files.DATABASE_FILE}{ending}" for ending in ("-shm", "-wal"))
    if not index.exists():
        return "mode=ro" if files.has_log(directory) else _IMMUTABLE
    # SQLite looks in vain for an index of a log without any page, and for a long time.
    if is_first and log.exists() and log.stat().st_size != _LOG_HEADER:
        return "mode=ro&readonly_shm=1"
    return "mode=ro"


def _stamps(directory: Path) -> list[_Stamp]:
    return [_stamp(directory / f"{files.DATABASE_FILE}{ending}") for ending in ("", "-wal", "-shm")]


def _stamp(file: Path) -> _Stamp:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
