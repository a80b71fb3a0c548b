"""One writer at a time, from the moment it opens a root.

On a disk of this machine the operating system sees to that. Elsewhere nobody can tell whether a writer is still alive,
so that the last one to open takes over: it takes the next epoch, and a writer of an older one is refused.
"""

from __future__ import annotations

import os
import secrets
import socket
from typing import Protocol

from whence.errors import StateError
from whence.model.updates import Version
from whence.session.lifetimes import wall_clock
from whence.storage.files.commits import COMMITS, Current, commit_path, encode, read_current
from whence.storage.files.files import Files
from whence.storage.files.manifest import Manifest, ManifestStep
from whence.storage.files.segments import SEGMENTS
from whence.storage.sqlite.files import DATABASE_FILE, LOCK_FILE, DirectoryLock, VersionFile, damaged

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
    return EpochLock(files) if files.directory is None else DirectoryLock(files.directory)


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


class CommitWriter:
    """`last` is the number of the last commit that is known to be kept, also after an error."""

    def __init__(self, files: Files, lock: Lock, last: int) -> None:
        self.last = last
        self._files = files
        self._lock = lock
        self._name = secrets.token_hex(8)
        # Elsewhere no file can be written over.
        self._version_file = None if files.directory is None else VersionFile(files.directory)
        # Why nothing is taken any more, and what to do.
        self._refusal: tuple[str, str | None] | None = None

    def put(self, header: Manifest | ManifestStep, sections: list[bytes]) -> None:
        if self._refusal is not None:
            raise self.stop(*self._refusal)
        data = encode(header, sections, self._name)
        path = commit_path(header.number)
        try:
            self._lock.check()
            # A store that was asked twice may answer the second time that there is such a file: this one.
            is_mine = self._files.create(path, data) or self._files.read(path) == data
        except BaseException as error:
            if self._is_there(path, data):
                self.last = header.number
            if isinstance(error, OSError):
                raise self._failure(error, is_kept=self.last == header.number) from error
            raise
        if not is_mine:
            raise self.stop(
                f"another process has committed to the database in {self._files.root}",
                hint="open it again to go on from there",
            )
        self.last = header.number
        if self._version_file is not None:
            self._version_file.write(header.number)
        if self._lock.can_be_taken:
            self._check_again()

    def stop(self, message: str, hint: str | None = None) -> StateError:
        """Refuse all that comes, and say why."""
        self._refusal = message, hint
        return StateError(message, hint=hint)

    def _is_there(self, path: str, data: bytes) -> bool:
        try:
            return self._files.read(path) == data
        except FileNotFoundError:
            return False
        except OSError as error:
            self.stop(
                f"whether the last commit is in {self._files.root} cannot be told: {_reason(error)}",
                hint="open the database again to see",
            )
            return False

    def _check_again(self) -> None:
        """A number is free again when its file has been collected, by one who took over long ago."""
        try:
            self._lock.check()
        except (OSError, StateError) as error:
            reason = _reason(error) if isinstance(error, OSError) else error.message
            raise self.stop(
                f"{reason}; whether it has the last commit is to be seen there", hint="open the database again to see"
            ) from error

    def _failure(self, error: OSError, *, is_kept: bool) -> StateError:
        if self._refusal is not None:
            return self.stop(*self._refusal)
        if is_kept:
            return StateError(f"the commit is in {self._files.root}, and may not survive there: {_reason(error)}")
        return StateError(
            f"the commit could not be written to {self._files.root}: {_reason(error)}",
            hint="it did not happen; the database can be read as before",
        )


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def check_root(files: Files) -> None:
    """Raises if something else is there."""
    if files.directory is not None and files.directory.is_file():
        raise StateError(f"{files.root} is a file, and a database is kept in a directory")
    names = {entry.name for entry in files.entries("")}
    if COMMITS in names:
        return
    if DATABASE_FILE in names:
        raise StateError(
            f"the database in {files.root} belongs to the local engine",
            hint="open it without engine='spark', or choose another directory",
        )
    if SEGMENTS in names and files.entries(SEGMENTS):
        raise damaged(files.root, f"{COMMITS} is missing")
    if names - {LOCK_FILE, SEGMENTS, EPOCHS}:
        raise StateError(
            f"{files.root} holds other files, and no database of whence",
            hint="choose a directory that is empty, or does not exist yet",
        )


def begin(files: Files, lock: Lock) -> Current:
    """The database as the last commit left it, or a new one."""
    while True:
        current = read_current(files)
        if current is None:
            if files.entries(SEGMENTS):
                raise damaged(files.root, f"{COMMITS} is empty")
            first = Manifest(number=1, version=Version(0), timestamp=wall_clock())
            if files.create(commit_path(1), encode(first, (), secrets.token_hex(8))):
                return Current(first, 1)
        elif not lock.can_be_taken:
            return current
        else:
            lock.check()
            if (mine := _take_over(files, current)) is not None:
                return mine


def _take_over(files: Files, current: Current) -> Current | None:
    """Take the number that a writer from before would commit with next; None if that one was faster."""
    manifest = current.manifest
    step = ManifestStep(
        number=manifest.number + 1,
        since=current.since,
        version=manifest.version,
        timestamp=manifest.timestamp,
        kept_after=Version(0),
        clock=manifest.clock,
        batches=manifest.batches,
        logs={},
        feed={},
    )
    taken = files.create(commit_path(step.number), encode(step, (), secrets.token_hex(8)))
    return Current(manifest.after(step), current.since) if taken else None
