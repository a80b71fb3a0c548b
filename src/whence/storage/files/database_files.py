"""A database below a root as one who only reads sees it: beside the writer, and without its lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa

from whence.errors import DataError, StateError
from whence.model.schema import Relation
from whence.model.updates import Version
from whence.storage.files.commits import commit_mark, commit_numbers, read_commit, read_current, read_logs
from whence.storage.files.feeds import FeedPart
from whence.storage.files.files import Files
from whence.storage.files.manifest import Log, Manifest, Segment, StoredTable
from whence.storage.files.segments import check_segment
from whence.storage.sqlite.files import damaged

# A writer may collect files while they are read; then there are newer ones.
TRIES = 20

Answer = TypeVar("Answer")


class DatabaseFiles:
    def __init__(self, files: Files) -> None:
        self.files = files

    def manifest(self) -> Manifest:
        """The newest one."""
        return self.consistent(self._manifest)

    def newest(self) -> int:
        """The version of the last commit."""

        def read() -> int:
            numbers = commit_numbers(self.files)
            if not numbers:
                raise self._nothing_there()
            return read_commit(self.files, max(numbers)).header.version

        return self.consistent(read)

    def newest_mark(self) -> bytes:
        """What only the last commit has of all that there were, also in another database in this place."""

        def read() -> bytes:
            numbers = commit_numbers(self.files)
            if not numbers:
                raise self._nothing_there()
            return commit_mark(self.files, max(numbers))

        return self.consistent(read)

    def contents(self, name: str, version: int | None) -> StoredVersion:
        """What a relation consists of at a version, the newest one if none is given."""

        def read() -> StoredVersion:
            manifest = self._manifest()
            definitions = manifest.program.restore()
            relation = definitions.relation(name)
            table = manifest.tables.get(relation.name)
            if table is None:
                raise StateError(
                    f"{relation.name!r} has no rows yet: it calls a function that its writer has not brought again"
                )
            found = read_logs(self.files, table.logs)
            logs = [found[log] for log in table.logs]
            later = later_changes(self.files, manifest, relation, version)
            stored = StoredVersion(relation, table, logs, later, relation.name not in definitions.views)
            self.check(stored)
            return stored

        return self.consistent(read)

    def check(self, stored: StoredVersion) -> None:
        """Raises if files are not there that hold rows."""
        later = [part.changes for part in stored.later if isinstance(part.changes, Segment)]
        for segment in (*stored.table.segments, *later):
            self._check(segment, stored.relation)

    def consistent(self, read: Callable[[], Answer]) -> Answer:
        """Read until no file has vanished under the reader's eyes."""
        for _ in range(TRIES):
            before = commit_numbers(self.files)
            try:
                return read()
            except StateError:
                if commit_numbers(self.files) == before:
                    raise
        return read()

    def _manifest(self) -> Manifest:
        current = read_current(self.files)
        if current is None:
            raise self._nothing_there()
        return current.manifest

    def _nothing_there(self) -> StateError:
        return StateError(f"there is no database in {self.files.root}", hint="it has to be made first")

    def _check(self, segment: Segment, relation: Relation) -> None:
        try:
            check_segment(self.files, segment)
        except StateError:
            raise damaged(
                self.files.root,
                f"{segment.path}, which holds rows of {relation.name!r}, has lost files; other relations can be read",
            ) from None


class StoredVersion:
    """A relation at a version: its state now, and the changes `later` than that version, which have to be undone."""

    def __init__(
        self, relation: Relation, table: StoredTable, logs: list[pa.Table], later: list[FeedPart], is_table: bool
    ) -> None:
        self.relation = relation
        self.table = table
        self.logs = logs
        self.later = later
        self.is_table = is_table


def later_changes(files: Files, manifest: Manifest, relation: Relation, version: int | None) -> list[FeedPart]:
    """The changes of a relation after a version. Raises where that version is not kept."""
    if version is None or version == manifest.version:
        return []
    if isinstance(version, bool) or not isinstance(version, int):
        raise DataError(f"a version is a number, and not {version!r}")
    first = max(manifest.forgotten.get(relation.name, 0), manifest.began.get(relation.name, 0))
    if not first <= version <= manifest.version:
        raise StateError(
            f"version {version} of {relation.name!r} is not there: versions {first} to {manifest.version} are kept",
            hint="keep more with connect(keep_versions=...)" if version < first else None,
        )
    feeds = [feed for feed in manifest.feeds if feed.version > version and relation.name in feed.changes]
    logs = read_logs(files, [each for feed in feeds if isinstance(each := feed.changes[relation.name], Log)])
    return [
        FeedPart(Version(feed.version), feed.timestamp, logs[change] if isinstance(change, Log) else change)
        for feed in feeds
        for change in (feed.changes[relation.name],)
    ]
