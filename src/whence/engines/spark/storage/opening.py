"""A root becomes the home of a database: what is there is looked at before anything is written."""

from __future__ import annotations

import secrets

from whence.durable.files import DATABASE_FILE, damaged
from whence.durable.lock import LOCK_FILE
from whence.engines.spark.storage.chain import Current, read_current
from whence.engines.spark.storage.commits import COMMITS, commit_path, encode
from whence.engines.spark.storage.files import Files
from whence.engines.spark.storage.lock import EPOCHS, Lock
from whence.engines.spark.storage.manifest import Manifest, Step
from whence.engines.spark.storage.segments import SEGMENTS, check_segment
from whence.errors import StateError
from whence.session.clock import wall_clock


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
            first = Manifest(number=1, version=0, timestamp=wall_clock())
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
    step = Step(
        number=manifest.number + 1,
        since=current.since,
        version=manifest.version,
        timestamp=manifest.timestamp,
        kept_after=0,
        clock=manifest.clock,
        batches=manifest.batches,
        logs={},
        feed={},
    )
    taken = files.create(commit_path(step.number), encode(step, (), secrets.token_hex(8)))
    return Current(manifest.after(step), current.since) if taken else None


def check_segments(files: Files, manifest: Manifest) -> None:
    for segment in manifest.segments():
        check_segment(files, segment)
