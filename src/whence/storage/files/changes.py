"""Changes as bytes: Arrow's format, column by column and compressed, one stream for each table that changes.

They are part of their commit's file. A file of their own would cost a commit another round trip on an object store,
and two more waits for a disk; a file per table would cost that for each table.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

import pyarrow as pa

from whence.errors import InternalError
from whence.model.schema import Column
from whence.model.updates import Version
from whence.session.lifetimes import Tick
from whence.sources.rows import zoneless
from whence.storage.files.manifest import Log, Manifest, ManifestStep, Segment, StoredFeed, StoredProgram, StoredTable

_PLAIN = pa.ipc.IpcWriteOptions()
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="zstd")
# Setting up compression takes many times as long as writing a few rows as they are.
_FEW = 64


def pack(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_PLAIN if table.num_rows <= _FEW else _COMPRESSED) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue())


def unpack(packed: memoryview) -> pa.Table:
    """Raises pa.ArrowInvalid or OSError if these are no such bytes."""
    # In a file they lie anywhere, and in memory where Arrow wants them.
    with pa.ipc.open_stream(pa.py_buffer(bytes(packed))) as reader:
        # Earlier versions stored a TIMESTAMP as a moment in UTC.
        return zoneless(reader.read_all())


@dataclass(frozen=True, slots=True)
class NewTable:
    """The whole state of a table from now on: rows in segments, and over them the changes in `overlay`."""

    kind: str
    columns: tuple[Column, ...]
    segments: tuple[Segment, ...] = ()
    overlay: pa.Table | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitChange:
    """A commit. First tables go, then new ones come, and then there are changes to tables that are there.

    `logs` change tables after all that they have had so far. `appended` segments are counted with what a table has, in
    no order. `feed` is what others see; where that is what a table's log says, give the same object and it is stored
    once; of a relation whose rows lie in many places already, `further` are the other parts of it, with other
    definitions only. The feed of relations that are `renewed` begins with this commit. Streams have brought these
    `batches`. Without a `program` or a `clock`, those from before stay.
    """

    timestamp: datetime.datetime
    dropped: Collection[str] = ()
    tables: Mapping[str, NewTable] = field(default_factory=dict)
    appended: Mapping[str, Sequence[Segment]] = field(default_factory=dict)
    logs: Mapping[str, pa.Table] = field(default_factory=dict)
    feed: Mapping[str, pa.Table | Segment] = field(default_factory=dict)
    further: Mapping[str, Sequence[Segment]] = field(default_factory=dict)
    renewed: Collection[str] = ()
    program: StoredProgram | None = None
    clock: Tick | None = None
    batches: Mapping[str, int] = field(default_factory=dict)
    notices: Sequence[str] = ()


class CommitFileDraft:
    """The sections of a commit's file in the making."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.sections: list[bytes] = []
        self.logs: dict[Log, pa.Table] = {}

    def add(self, changes: pa.Table) -> Log:
        log = Log(self.number, len(self.sections), changes.num_rows)
        self.sections.append(pack(changes))
        self.logs[log] = changes
        return log

    def restructure(self, manifest: Manifest, change: CommitChange) -> Manifest:
        """What a step cannot say: other tables, another program. The same object if there is nothing of that."""
        tables = {name: table for name, table in manifest.tables.items() if name not in change.dropped}
        tables.update((name, self._table(name, new)) for name, new in change.tables.items())
        for name, segments in change.appended.items():
            tables[name] = replace(tables[name], segments=(*tables[name].segments, *segments))
        began = manifest.began
        if change.program is not None:
            began = _began(manifest, change.program, change.renewed)
        notices = tuple(dict.fromkeys((*manifest.notices, *change.notices)))
        restructured = replace(
            manifest,
            program=manifest.program if change.program is None else change.program,
            tables=tables,
            feeds=(*_without(manifest.feeds, change.renewed), *_further(manifest, change)),
            forgotten={name: at for name, at in manifest.forgotten.items() if name not in change.renewed},
            began=began,
            notices=notices,
        )
        return manifest if restructured == manifest else restructured

    def step(self, manifest: Manifest, change: CommitChange, since: int, keep_versions: int) -> ManifestStep:
        logs = {name: self._log(name, manifest, changes) for name, changes in change.logs.items() if changes.num_rows}
        version = Version(manifest.version + 1)
        return ManifestStep(
            number=self.number,
            since=since,
            version=version,
            timestamp=change.timestamp,
            kept_after=Version(version - keep_versions),
            clock=change.clock or manifest.clock,
            batches={**manifest.batches, **change.batches},
            logs=logs,
            feed={name: self._seen(name, seen, change, logs) for name, seen in change.feed.items()},
        )

    def _table(self, name: str, new: NewTable) -> StoredTable:
        logs: tuple[Log, ...] = ()
        if new.overlay is not None and new.overlay.num_rows:
            _check_columns(name, new.columns, new.overlay)
            logs = (self.add(new.overlay),)
        return StoredTable(new.kind, new.columns, new.segments, logs)

    def _log(self, name: str, manifest: Manifest, changes: pa.Table) -> Log:
        _check_columns(name, manifest.tables[name].columns, changes)
        return self.add(changes)

    def _seen(
        self, name: str, seen: pa.Table | Segment, change: CommitChange, logs: Mapping[str, Log]
    ) -> Log | Segment:
        if isinstance(seen, Segment):
            return seen
        return logs[name] if seen is change.logs.get(name) and name in logs else self.add(seen)


def _without(feeds: tuple[StoredFeed, ...], renewed: Collection[str]) -> tuple[StoredFeed, ...]:
    if not renewed:
        return feeds
    kept = (
        replace(feed, changes={name: each for name, each in feed.changes.items() if name not in renewed})
        for feed in feeds
    )
    return tuple(feed for feed in kept if feed.changes)


def _further(manifest: Manifest, change: CommitChange) -> Iterator[StoredFeed]:
    """Parts of the feed of the next version, beside what its step has."""
    for parts in zip_longest(*change.further.values()):
        found = {name: part for name, part in zip(change.further, parts, strict=True) if part is not None}
        yield StoredFeed(Version(manifest.version + 1), change.timestamp, found)


def _began(manifest: Manifest, program: StoredProgram, renewed: Collection[str]) -> dict[str, Version]:
    """What is new begins with the next version."""
    known = {each.name for each in manifest.program.definitions}
    next_version = Version(manifest.version + 1)
    return {
        each.name: next_version if each.name not in known or each.name in renewed else manifest.began[each.name]
        for each in program.definitions
        if each.name not in known or each.name in renewed or each.name in manifest.began
    }


def _check_columns(name: str, columns: tuple[Column, ...], changes: pa.Table) -> None:
    """What does not fit is found now, and not when the database is opened again."""
    expected = [column.name for column in columns]
    if changes.column_names != expected:
        raise InternalError(f"changes of {name!r} have columns {changes.column_names}, and not {expected}")
