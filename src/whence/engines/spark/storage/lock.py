"""One writer at a time.

On a disk of this machine the operating system sees to that. Elsewhere nobody can tell whether a writer is still alive,
so that whoever opens takes over: it takes the next epoch, and a writer of an older one is refused.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Protocol

from whence.durable.lock import DirectoryLock
from whence.engines.spark.storage.files import Files
from whence.errors import StateError

EPOCHS = "epochs"


class Lock(Protocol):
    @property
    def epoch(self) -> int:
        """Higher than that of all writers before, where there is no other way to tell them apart."""

    @property
    def can_be_taken(self) -> bool:
        """Whether another writer may come while this one lives."""

    def check(self) -> None:
        """Raises if this is no longer the writer."""

    def release(self) -> None: ...


def take_lock(files: Files) -> Lock:
    return EpochLock(files) if files.directory is None else LocalLock(files.directory)


class LocalLock:
    epoch = 0
    can_be_taken = False

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = DirectoryLock(directory)

    def check(self) -> None:
        if not self._lock.held:
            raise StateError(f"the database in {self._directory} is open in another process, which this one came from")

    def release(self) -> None:
        self._lock.release()


class EpochLock:
    can_be_taken = True

    def __init__(self, files: Files) -> None:
        self._files = files
        files.make_directory(EPOCHS)
        holder = f"process {os.getpid()} on {socket.gethostname()}".encode()
        self.epoch = -1
        # An epoch of which the file has been deleted already can be created again, and is not the newest then.
        while self.epoch != (newest := self._newest()):
            if files.create(_path(newest + 1), holder):
                self.epoch = newest + 1
        for entry in files.entries(EPOCHS):
            if entry.name.isdecimal() and int(entry.name) < self.epoch:
                files.delete(f"{EPOCHS}/{entry.name}")

    def check(self) -> None:
        newest = self._newest()
        if newest != self.epoch:
            raise StateError(
                f"the database in {self._files.root} has been opened by {self._holder(newest)}, and goes on there",
                hint="let one process write at a time; this one can only be closed",
            )

    def release(self) -> None:
        """The next writer takes the next epoch, whether this one is alive or not."""

    def _holder(self, epoch: int) -> str:
        try:
            return self._files.read(_path(epoch)).decode("utf-8", "replace")
        except FileNotFoundError:
            # There is a still newer one.
            return "another process"

    def _newest(self) -> int:
        return max((int(entry.name) for entry in self._files.entries(EPOCHS) if entry.name.isdecimal()), default=0)


def _path(epoch: int) -> str:
    return f"{EPOCHS}/{epoch:020}"
