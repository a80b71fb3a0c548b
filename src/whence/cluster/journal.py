"""Commits of a database on Spark, written down: what changed in every state, and what others see of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from whence.cluster.home import StorageHome
from whence.cluster.sides import side_changes, side_name, side_tables
from whence.engines.spark.engine import SparkEngine
from whence.engines.spark.frames import FrameDelta
from whence.engines.spark.registry import Appended, Changed, Replaced, StateChange
from whence.engines.spark.storage.changes import Change, NewTable
from whence.engines.spark.storage.feeds import feed_entries
from whence.engines.spark.storage.manifest import Segment
from whence.engines.spark.storage.store import Storage
from whence.model.types import Row
from whence.model.updates import Delta
from whence.session.definitions import Definitions
from whence.session.history import Entry, History
from whence.session.journal import Record
from whence.session.session import renewed

# An overlay is folded into its base when it has grown to this part of it, and to so many rows.
COMPACTED_AT = 0.1
SMALL_OVERLAY = 20_000
# A base has up to so many segments, and more only as long as those after the first have few rows.
FEW_SEGMENTS = 16
MOST_SEGMENTS = 64
# A log is written anew when it has so many times the rows that have really changed.
LONG_WINDED = 3


class ClusterJournal:
    """Keeps commits in storage. `batches` are what streams bring with the commit that comes next."""

    def __init__(self, storage: Storage, home: StorageHome, engine: SparkEngine) -> None:
        self._storage = storage
        self._home = home
        self._engine = engine
        self.batches: dict[str, int] = {}

    @property
    def version(self) -> int:
        return self._storage.current.version

    def append(self, record: Record) -> None:
        unwritten, self._engine.unwritten = self._engine.unwritten, {}
        writing = _Writing(self._engine, self._home, self._storage, unwritten)
        writing.add_states()
        writing.add_feed(record.seen)
        side_logs, sides = side_changes(record, self._storage)
        program = None
        if record.after is not record.before:
            program = self._storage.current.program.following(record.before, record.after)
        self._storage.commit(
            Change(
                timestamp=record.timestamp,
                dropped=self._storage.current.tables.keys() - self._engine.registry.names() - _sides(record.after),
                tables={**writing.tables, **sides},
                appended=writing.appended,
                logs={**writing.logs, **side_logs},
                feed=writing.feed,
                renewed=renewed(record.before, record.after),
                program=program,
                clock=record.tick,
                batches=self.batches,
                notices=record.notices,
            )
        )
        self.batches = {}

    def compact(self) -> Collection[str]:
        """Write new bases where much has changed since, or came in many parts, and say for which states.

        Logs are written anew where rows have come and gone so often that most of what they say is of no account.
        """
        registry = self._engine.registry
        kept: dict[str, DataFrame] = {}
        tables: dict[str, NewTable] = {}
        for name in registry.names():
            if self._has_aged(name):
                kept[name] = self._home.keep(name, registry.frame(name))
                codec = registry.codec(name)
                tables[name] = NewTable(codec.kind, codec.columns, (self._home.segment(kept[name]),))
            elif self._is_long_winded(name):
                tables[name] = _whole(self._engine, self._home, name)
        if tables:
            self._storage.rewrite(tables)
        for name, frame in kept.items():
            registry.change(name, Replaced(frame, self._home.rows(frame)))
        return kept.keys()

    def _has_aged(self, name: str) -> bool:
        state = self._engine.registry[name]
        if len(state.overlay_rows) > max(SMALL_OVERLAY, COMPACTED_AT * len(state.base)):
            return True
        frames = self._engine.registry.kept_frames(name)
        if len(frames) <= FEW_SEGMENTS:
            return False
        first, *others = (self._home.rows(frame) for frame in frames)
        return len(frames) > MOST_SEGMENTS or sum(others) > COMPACTED_AT * first

    def _is_long_winded(self, name: str) -> bool:
        table = self._storage.current.tables.get(name)
        written = 0 if table is None else sum(log.rows for log in table.logs)
        return written > max(SMALL_OVERLAY, LONG_WINDED * len(self._engine.registry[name].overlay_rows))

    def close(self) -> None:
        self._storage.close()


def _sides(definitions: Definitions) -> set[str]:
    return {side_name(relation, kind) for relation in definitions.relations.values() for kind in side_tables(relation)}


class ClusterHistory(History):
    """The changes of old versions, as storage has them."""

    def __init__(self, storage: Storage, engine: SparkEngine, keep_versions: int) -> None:
        super().__init__(keep_versions)
        self._storage = storage
        self._engine = engine

    def record(self, name: str, entry: Entry) -> None:
        """The journal has it already."""

    def forget(self, name: str) -> None:
        """The journal knows."""

    def trim(self, current: int) -> None:
        """The storage does that."""

    def since(self, name: str, version: int) -> Sequence[Entry]:
        parts = self._storage.feed(name, version)
        return feed_entries(self._engine.spark, self._storage.files, self._engine.relation(name), parts)


class _Writing:
    """A commit's changes on their way into storage."""

    def __init__(
        self,
        engine: SparkEngine,
        home: StorageHome,
        storage: Storage,
        unwritten: Mapping[str, Sequence[StateChange]],
    ) -> None:
        self._engine = engine
        self._home = home
        self._known = storage.current.tables
        self._unwritten = unwritten
        self.tables: dict[str, NewTable] = {}
        self.appended: dict[str, list[Segment]] = {}
        self.logs: dict[str, pa.Table] = {}
        self.feed: dict[str, pa.Table | Segment] = {}
        # What the logs were made from, to write nothing twice.
        self._encoded: dict[str, Mapping[Row, Any]] = {}

    def add_states(self) -> None:
        registry = self._engine.registry
        for name in registry.names():
            changes = self._unwritten.get(name, ())
            known = self._known.get(name)
            is_new = known is None or known.columns != registry.codec(name).columns
            if is_new or any(isinstance(each, Replaced) for each in changes):
                self.tables[name] = _whole(self._engine, self._home, name)
                continue
            for change in changes:
                if isinstance(change, Appended):
                    self.appended.setdefault(name, []).append(self._home.segment(change.frame))
            rows = [change.rows for change in changes if isinstance(change, Changed) and change.rows]
            if rows:
                codec = registry.codec(name)
                self.logs[name] = pa.concat_tables([codec.encode(each) for each in rows])
                if len(rows) == 1:
                    self._encoded[name] = rows[0]

    def add_feed(self, seen: Mapping[str, Delta]) -> None:
        for name, delta in seen.items():
            if isinstance(delta, FrameDelta):
                kept = self._home.keep(name, delta.frame) if delta.kept is None else delta.kept
                self.feed[name] = self._home.segment(kept)
            elif self._encoded.get(name) is delta:
                self.feed[name] = self.logs[name]
            else:
                self.feed[name] = self._engine.delta_codec(name).encode(delta)


def _whole(engine: SparkEngine, home: StorageHome, name: str) -> NewTable:
    """All there is to a state."""
    codec = engine.registry.codec(name)
    segments = tuple(home.segment(frame) for frame in engine.registry.kept_frames(name))
    return NewTable(codec.kind, codec.columns, segments, codec.encode(engine.registry[name].overlay_rows))
