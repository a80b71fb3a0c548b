"""One process at a time: a lock that the operating system takes back when the process dies."""

from __future__ import annotations

import fcntl
import os
import weakref
from pathlib import Path

from whence.errors import StateError

LOCK_FILE = "lock"


class DirectoryLock:
    """Held from the start. The lock file says which process holds it."""

    def __init__(self, directory: Path) -> None:
        descriptor = os.open(directory / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
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

    @property
    def held(self) -> bool:
        return self._close.alive

    def release(self) -> None:
        self._close()


_held: weakref.WeakSet[DirectoryLock] = weakref.WeakSet()


def _let_go() -> None:
    # A forked child shares the lock of its parent, and would keep it after the parent's death.
    for lock in list(_held):
        lock.release()


os.register_at_fork(after_in_child=_let_go)
