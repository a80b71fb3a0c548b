"""A database below a root: its commits, its segments, and the removal of files that nothing needs any more."""

from __future__ import annotations

import logging
import time
import weakref
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from whence.algebra.deltas import first_to_merge
from whence.errors import StateError, WhenceError
from whence.model.schema import Column
from whence.model.updates import Version
from whence.session.definitions import Definitions
from whence.session.journal import KEEP_VERSIONS
from whence.storage.files.changes import CommitChange, CommitFileDraft, NewTable
from whence.storage.files.commits import COMMITS, Current, commit_number, read_logs, unfinished_number
from whence.storage.files.feeds import FeedPart, read_feed
from whence.storage.files.files import Files, open_files, temporary_files
from whence.storage.files.manifest import Log, Manifest, ManifestStep, Segment, StoredTable
from whence.storage.files.segments import (
    SEGMENTS,
    check_segment,
    new_segment_path,
    read_segment,
    segment_epoch,
    write_segment,
    write_table,
)
from whence.storage.files.sorted_copies import collect_copies, remove_copies
from whence.storage.files.writer import CommitWriter, Lock, begin, check_root, take_lock
from whence.storage.sqlite.files import check_version, damaged

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def collect(files: Files, current: Current, epoch: int, is_spared: Callable[[str], bool]) -> None:
    """Delete what neither the current manifest nor its feeds need.

    Segments are spared that no commit has named yet, or that someone may still read. What a writer of a later epoch
    has made is left alone too: it knows better.
    """
    manifest = current.manifest
    for name in _commits(files, manifest, current.since):
        files.delete(f"{COMMITS}/{name}")
    needed = {segment.path for segment in manifest.segments()}
    for entry in files.entries(SEGMENTS):
        path = f"{SEGMENTS}/{entry.name}"
        if path not in needed and segment_epoch(entry.name) <= epoch and not is_spared(path):
            files.delete(path)
    collect_copies(files)


def _commits(files: Files, manifest: Manifest, since: int) -> list[str]:
    """Older commits that hold no log that is needed, and what is left of those that were never made."""
    needed = {log.number for log in manifest.logs()}
    found = []
    for entry in files.entries(COMMITS):
        number, unfinished = commit_number(entry.name), unfinished_number(entry.name)
        is_old = number is not None and number < since and number not in needed
        if is_old or (unfinished is not None and unfinished <= manifest.number):
            found.append(entry.name)
    return found


logger = logging.getLogger("whence")

# So long a query of another process may read segments that the writer has no use for any more.
READER_SECONDS = 600.0

# After so many steps there is a whole manifest again, so that few files are read when a database is opened.
STEPS = 64


class Storage:
    """One writer's view of a root. A commit that returns is kept; if it raises, `current` tells whether it is."""

    def __init__(self, spark: SparkSession | None, files: Files, keep_versions: int) -> None:
        """Open a root; use `Storage.open`."""
        self.files = files
        self._spark = spark
        self._keep_versions = keep_versions
        # Written, and not in a commit yet.
        self._new_segments: set[str] = set()
        # In the state before the last one, which may still be read.
        self._former_segments: set[str] = set()
        # Since when nothing needs a segment that is still there.
        self._unneeded: dict[str, float] = {}
        # Nobody else knows where a database is that goes away when it is closed.
        self._reader_seconds = READER_SECONDS
        self._remove: weakref.finalize[..., Storage] | None = None
        # The logs of the steps since the last whole manifest.
        self._recent: dict[Log, pa.Table] = {}
        try:
            check_root(files)
            for name in (COMMITS, SEGMENTS):
                files.make_directory(name)
            self._lock: Lock = take_lock(files)
        except OSError as error:
            raise _unusable(files.root, error) from error
        try:
            self._current = begin(files, self._lock)
            if files.directory is not None:
                check_version(files.directory, self.current.number)
            for segment in self.current.segments():
                check_segment(files, segment)
            self._writer = CommitWriter(files, self._lock, self.current.number)
        except OSError as error:
            self._lock.release()
            raise _unusable(files.root, error) from error
        except BaseException:
            self._lock.release()
            raise
        self._collect()

    @classmethod
    def open(cls, spark: SparkSession | None, root: str | None, keep_versions: int = KEEP_VERSIONS) -> Storage:
        """The database in a root, or a new one there. Without a root, one that goes away when it is closed."""
        try:
            files = temporary_files(spark) if root is None else open_files(spark, root)
        except OSError as error:
            raise _unusable(root or "Spark's file system", error) from error
        storage = cls(spark, files, keep_versions)
        if root is None:
            storage._reader_seconds = 0
            storage._remove = weakref.finalize(storage, files.delete, "")
            # At the end of the process there is no Spark any more.
            storage._remove.atexit = files.directory is not None
        return storage

    @property
    def current(self) -> Manifest:
        return self._current.manifest

    def definitions(self) -> Definitions:
        """What the program was. The functions that views call are known by their signatures only."""
        try:
            return self.current.program.restore()
        except WhenceError as error:
            raise damaged(self.files.root, f"its definitions cannot be understood: {error.message}") from error

    def logs(self, names: Collection[str]) -> dict[str, pa.Table]:
        """All changes that are not in the segments of these tables, in their order; no entry where there are none."""
        tables = {name: self.current.tables[name] for name in names}
        found = read_logs(self.files, [log for table in tables.values() for log in table.logs])
        return {
            name: pa.concat_tables([found[log] for log in table.logs], promote_options="default")
            for name, table in tables.items()
            if table.logs
        }

    def feed(self, name: str, since: Version) -> list[FeedPart]:
        """The changes of a relation after a version. Raises where some of them are forgotten."""
        return read_feed(self.files, self.current, name, since, self._keep_versions)

    def write_segment(self, frame: DataFrame) -> Segment:
        """Write rows for a commit to come. Until then they are safe from being collected, and after a crash gone."""
        return self._write_new(lambda path: write_segment(self.files, frame, path))

    def write_table(self, table: pa.Table) -> Segment:
        """The same for rows of this process, which takes no job where files are on this machine."""
        return self._write_new(lambda path: write_table(self._spark, self.files, table, path))

    def _write_new(self, write: Callable[[str], Segment]) -> Segment:
        path = new_segment_path(self._lock.epoch)
        self._new_segments.add(path)
        try:
            return write(path)
        except BaseException:
            self._new_segments.discard(path)
            raise

    def read_segment(self, segment: Segment, columns: tuple[Column, ...]) -> DataFrame:
        assert self._spark is not None
        return read_segment(self._spark, self.files, segment, columns)

    def is_new(self, segment: Segment) -> bool:
        """Whether no commit has it yet."""
        return segment.path in self._new_segments

    def discard(self, segments: Collection[Segment]) -> None:
        """These are in no commit, and will not be."""
        for segment in segments:
            self._new_segments.discard(segment.path)
            # What cannot be removed now is collected another time.
            with suppress(OSError):
                self.files.delete(segment.path)
                remove_copies(self.files, segment.path)

    def commit(self, change: CommitChange) -> Manifest:
        """The next version."""
        draft = CommitFileDraft(self.current.number + 1)
        structure = draft.restructure(self.current, change)
        step = draft.step(structure, change, self._current.since, self._keep_versions)
        manifest = structure.after(step)
        if structure is self.current and step.number - step.since < STEPS:
            self._put(step, draft, manifest, step.since)
            self._recent.update((log, draft.logs[log]) for log in step.logs.values())
        else:
            self._put_whole(draft, manifest)
        return self.current

    def rewrite(self, tables: Mapping[str, NewTable]) -> Manifest:
        """The same rows in other files: the version stays."""
        draft = CommitFileDraft(self.current.number + 1)
        change = CommitChange(timestamp=self.current.timestamp, tables=tables)
        self._put_whole(draft, replace(draft.restructure(self.current, change), number=draft.number))
        return self.current

    def close(self) -> None:
        self._writer.stop(f"the database in {self.files.root} is closed")
        self._lock.release()
        if self._remove is not None:
            self._remove()

    def _put_whole(self, draft: CommitFileDraft, manifest: Manifest) -> None:
        before = self.current
        tables = {name: self._with_merged_logs(draft, table) for name, table in manifest.tables.items()}
        manifest = replace(manifest, tables=tables)
        self._put(manifest, draft, manifest, manifest.number)
        self._recent.clear()
        self._former_segments = {segment.path for segment in before.segments()}
        self._collect()

    def _with_merged_logs(self, draft: CommitFileDraft, table: StoredTable) -> StoredTable:
        first = first_to_merge([log.rows for log in table.logs])
        kept, old = table.logs[:first], table.logs[first:]
        if len(old) < 2:
            return table
        known = {**self._recent, **draft.logs}
        found = {**known, **read_logs(self.files, [log for log in old if log not in known])}
        return replace(
            table, logs=(*kept, draft.add(pa.concat_tables([found[log] for log in old], promote_options="default")))
        )

    def _put(self, header: Manifest | ManifestStep, draft: CommitFileDraft, manifest: Manifest, since: int) -> None:
        try:
            self._writer.put(header, draft.sections)
        finally:
            if self._writer.last == draft.number:
                self._current = Current(manifest, since)
                if self._new_segments:
                    self._new_segments.difference_update(segment.path for segment in manifest.segments())

    def _is_spared(self, path: str) -> bool:
        if path in self._new_segments or path in self._former_segments:
            return True
        now = time.monotonic()
        return now < self._unneeded.setdefault(path, now) + self._reader_seconds

    def _collect(self) -> None:
        """What cannot be removed now is removed another time."""
        try:
            collect(self.files, self._current, self._lock.epoch, self._is_spared)
        except OSError as error:
            logger.warning("files that are not needed stay in %s: %s", self.files.root, error)
        there = {f"{SEGMENTS}/{entry.name}" for entry in self.files.entries(SEGMENTS)} if self._unneeded else ()
        self._unneeded = {path: since for path, since in self._unneeded.items() if path in there}


def _unusable(root: str, error: OSError) -> StateError:
    return StateError(f"the database in {root} cannot be opened: {error}")
