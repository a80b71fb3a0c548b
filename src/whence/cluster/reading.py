"""The files of a database, read beside whoever writes them, without a lock and without Spark."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.parquet as parquet

from whence.engines.spark.storage.chain import read_commit, read_current, read_logs
from whence.engines.spark.storage.commits import COMMITS, commit_number
from whence.engines.spark.storage.feeds import COUNT
from whence.engines.spark.storage.files import Files, open_files
from whence.engines.spark.storage.manifest import Log, Manifest, Segment
from whence.engines.spark.types import rows_from_arrow
from whence.errors import StateError
from whence.model.schema import Relation
from whence.session.arrow import changes_table
from whence.session.history import Entry, changes

# A writer may collect files while they are read; then there are newer ones.
TRIES = 20

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Piece:
    """What a commit changed, or one file of it."""

    version: int
    timestamp: datetime.datetime
    changes: Log | Segment
    file: str | None = None


class DatabaseFiles:
    """A database below a root."""

    def __init__(self, root: str) -> None:
        self._root = root

    @property
    def files(self) -> Files:
        return open_files(None, self._root)

    def manifest(self) -> Manifest:
        """The newest one."""

        def read() -> Manifest:
            current = read_current(self.files)
            if current is None:
                raise StateError(f"there is no database in {self._root}", hint="it has to be made first")
            return current.manifest

        return self._again(read)

    def newest(self) -> int:
        """The version of the last commit."""

        def read() -> int:
            numbers = self._numbers()
            if not numbers:
                raise StateError(f"there is no database in {self._root}", hint="it has to be made first")
            return read_commit(self.files, max(numbers)).header.version

        return self._again(read)

    def _numbers(self) -> list[int]:
        return [number for entry in self.files.entries(COMMITS) if (number := commit_number(entry.name)) is not None]

    def _again(self, read: Callable[[], Answer]) -> Answer:
        """Read until no file has vanished under the reader's eyes."""
        for _ in range(TRIES):
            before = self._numbers()
            try:
                return read()
            except StateError:
                if self._numbers() == before:
                    raise
        return read()


class FeedFiles(DatabaseFiles):
    """The feed of one relation."""

    def __init__(self, root: str, name: str) -> None:
        super().__init__(root)
        self._name = name

    def relation(self) -> Relation:
        return self.manifest().program.restore().relation(self._name)

    def pieces(self, relation: Relation, since: int, until: int) -> list[Piece]:
        """The changes after one version and up to another. Raises where some of them are forgotten."""
        manifest = self.manifest()
        self._check_kept(manifest, relation, since)
        return [
            piece
            for feed in manifest.feeds
            if since < feed.version <= until and relation.name in feed.changes
            for piece in self._parts(relation, Piece(feed.version, feed.timestamp, feed.changes[relation.name]))
        ]

    def read(self, relation: Relation, piece: Piece) -> pa.Table:
        """The changes row by row, as `changes_table` has them."""
        try:
            if isinstance(piece.changes, Log):
                table = read_logs(self.files, [piece.changes])[piece.changes]
            else:
                table = self._segment(piece.changes, piece.file)
        except (StateError, FileNotFoundError):
            self._check_kept(self.manifest(), relation, piece.version - 1)
            raise
        if piece.file is not None:
            return _by_column(relation, table, piece)
        delta = dict(zip(rows_from_arrow(table, relation), table.column(COUNT).to_pylist(), strict=True))
        return changes_table(relation, changes(relation, [Entry(piece.version, piece.timestamp, delta)]))

    def _check_kept(self, manifest: Manifest, relation: Relation, since: int) -> None:
        forgotten = manifest.forgotten.get(relation.name, 0)
        if since < forgotten:
            raise StateError(
                f"the changes of {relation.name!r} are there from version {forgotten + 1} on; older ones are forgotten",
                hint=f'read those with .option("since", {forgotten}) or later, '
                "or keep more with connect(keep_versions=...)",
            )

    def _parts(self, relation: Relation, piece: Piece) -> Iterator[Piece]:
        """A large change in parts that can be read side by side. The two images of an update stay together."""
        if isinstance(piece.changes, Log) or relation.key:
            yield piece
            return
        for entry in self.files.entries(piece.changes.path):
            if not entry.name.startswith((".", "_")):
                yield replace(piece, file=entry.name)

    def _segment(self, segment: Segment, file: str | None) -> pa.Table:
        assert self.files.directory is not None
        path = self.files.directory / segment.path
        return parquet.read_table(path if file is None else path / file, coerce_int96_timestamp_unit="us")


def _by_column(relation: Relation, table: pa.Table, piece: Piece) -> pa.Table:
    """Changes of a relation without a key, in any order."""
    counts = table.column(COUNT)
    kinds = compute.if_else(compute.greater(counts, 0), "insert", "delete")
    stamps = changes_table(relation, [((None,) * relation.arity, "", piece.version, piece.timestamp)])
    columns = [table.column(f"c{at}").cast(stamps.schema.field(at).type) for at in range(relation.arity)]
    columns += [kinds, *(pa.repeat(stamps.column(name)[0], len(counts)) for name in stamps.column_names[-2:])]
    copies = np.repeat(np.arange(len(counts)), np.abs(counts.to_numpy()))
    return pa.Table.from_arrays(columns, names=stamps.column_names).take(pa.array(copies))
