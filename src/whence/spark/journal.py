"""Commits of a database on Spark, written down: what changed in every state, and what others see of it; and the session
that goes on from what storage has, and goes back to it after a failure.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError

from whence.algebra.deltas import first_to_merge
from whence.engines.spark.engine import SparkEngine
from whence.engines.spark.frames import FrameDelta, StoredDelta, summed
from whence.engines.spark.state import CountedRows, TieredRows, is_large_overlay
from whence.engines.spark.state_changes import (
    Appended,
    ChangedColumns,
    ChangedState,
    Merged,
    Renewed,
    Replaced,
    Spilled,
    StateChange,
    Stored,
)
from whence.errors import StateError
from whence.interrupts import interruptible
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta, Update, Version
from whence.rewriting.adaptation import Adaptation
from whence.session.definitions import Definitions, renewed
from whence.session.journal import Entry, Journal, Made, Record, State, TableState, derive
from whence.session.lifetimes import Lifetimes
from whence.session.session import Session
from whence.spark.bulk_statements import BulkStatements
from whence.spark.home import StorageHome
from whence.spark.lifetimes import ARRIVALS, LEAVES, BaseLifetimes, read_side, side_changes, side_name, side_tables
from whence.storage.files.changes import CommitChange, NewTable
from whence.storage.files.feeds import feed_entries
from whence.storage.files.manifest import Segment
from whence.storage.files.store import Storage

logger = logging.getLogger("whence")

# An overlay of supports is folded into its base when it has grown to this part of it, and to so many rows.
COMPACTED_AT = 0.1
# Tiers are merged with each other, so that they have hardly more rows than there are groups, and lie on a disk.
TIERS_COMPACTED_AT = 4
# So many rows of any other overlay, or so many bytes by an estimate, are in memory; then they go to a disk.
SMALL_OVERLAY = 20_000
OVERLAY_BYTES = 1 << 25
# A base has up to so many segments. Then some become one: those that are not large against all that follow them.
FEW_SEGMENTS = 16
# Up to so many rows are merged in the driver, if they are decoded there; more are a job.
MERGED_HERE = 4_000_000
# A log is written again when it has so many times the rows that have really changed.
LONG_WINDED = 3


class ChangedRelations:
    """What those who publish relations have not heard of yet."""

    def __init__(self, definitions: Definitions) -> None:
        self._shown = definitions.visible
        self._changed: dict[str, Delta | None] = dict.fromkeys(self._shown)

    def take(self) -> dict[str, Delta | None]:
        """The relations that have changed, come or gone since this was last asked, with the change if it was one."""
        changed, self._changed = self._changed, {}
        return changed

    def add(self, record: Record) -> None:
        visible = record.after.visible
        for name, delta in record.seen.items():
            is_known = self._shown.get(name) == visible[name] and name not in self._changed
            self._changed[name] = delta if is_known else None
        if visible is not self._shown:
            self._changed.update((name, None) for name in self._shown.keys() ^ visible.keys())
            self._shown = visible

    def add_compacted(self, names: Collection[str]) -> None:
        """They have the same rows in other files."""
        self._changed.update((name, None) for name in names if name in self._shown)


class ClusterJournal(Journal):
    """Keeps commits in storage, and says what has changed since it was last asked."""

    def __init__(self, storage: Storage, home: StorageHome, engine: SparkEngine, definitions: Definitions) -> None:
        self._storage = storage
        self._home = home
        self._engine = engine
        self.changed = ChangedRelations(definitions)

    @property
    def version(self) -> Version:
        return self._storage.current.version

    def append(self, record: Record) -> None:
        try:
            self._write(record)
        finally:
            if self.version == record.version:
                self.changed.add(record)

    def since(self, name: str, version: Version) -> Sequence[Entry]:
        parts = self._storage.feed(name, version)
        return feed_entries(self._engine.spark, self._storage.files, self._engine.relation(name), parts)

    def compact(self) -> None:
        try:
            compacted = self._compact()
            self.changed.add_compacted(compacted)
            if compacted:
                # What went to files may have come to too many of them.
                self.changed.add_compacted(self._compact())
        except (StateError, Py4JJavaError) as error:
            logger.warning("no new base could be written, which is tried again after the next commit: %s", error)

    def close(self) -> None:
        self._storage.close()

    def _write(self, record: Record) -> None:
        unwritten, self._engine.unwritten = self._engine.unwritten, {}
        writing = _Writing(self._engine, self._home, self._storage, unwritten)
        writing.add_states()
        writing.add_feed(record.seen)
        side_logs, sides = side_changes(record, self._storage)
        program = None
        if record.after is not record.before:
            program = self._storage.current.program.following(record.before, record.after)
        self._storage.commit(
            CommitChange(
                timestamp=record.timestamp,
                dropped=self._storage.current.tables.keys() - self._engine.registry.names() - _sides(record.after),
                tables={**writing.tables, **sides},
                appended=writing.appended,
                logs={**writing.logs, **side_logs},
                feed=writing.feed,
                further=writing.further,
                renewed=renewed(record.before, record.after),
                program=program,
                clock=record.tick,
                batches=record.batches,
                notices=record.notices,
            )
        )

    def _compact(self) -> Collection[str]:
        """Write new bases where much has changed since, or came in many parts, and say for which states.

        Logs are written again where rows have come and gone so often that most of what they say is of no account.
        """
        registry = self._engine.registry
        changes: dict[str, Replaced | Merged | Spilled] = {}
        tables: dict[str, NewTable] = {}
        for name in registry.names():
            change = self._merged(name)
            if change is not None:
                changes[name] = change
                codec, segment = registry.codec(name), self._home.segment(change.frame)
                below = [self._home.segment(frame) for frame in registry.kept_frames(name)]
                match change:
                    case Replaced():
                        tables[name] = NewTable(codec.kind, codec.columns, (segment,))
                    case Spilled():
                        tables[name] = NewTable(codec.kind, codec.columns, (*below, segment))
                    case Merged(first=first):
                        segments = (*below[:first], segment)
                        tables[name] = NewTable(codec.kind, codec.columns, segments, registry.overlay_table(name))
            elif self._is_long_winded(name):
                tables[name] = _whole(self._engine, self._home, name)
        if tables:
            self._storage.rewrite(tables)
        for name, merged in changes.items():
            registry.change(name, merged)
        return changes.keys()

    def _merged(self, name: str) -> Replaced | Merged | Spilled | None:
        """The rows of a state in fewer files, or in files at all, if that is worth it."""
        registry = self._engine.registry
        state, frames = registry[name], registry.kept_frames(name)
        is_full = is_large_overlay(state.overlay_rows, SMALL_OVERLAY, OVERLAY_BYTES)
        if isinstance(state, CountedRows):
            if is_full:
                table = registry.overlay_table(name)
                return Spilled(self._home.keep_table(name, table), table)
        else:
            share = TIERS_COMPACTED_AT if isinstance(state, TieredRows) else COMPACTED_AT
            if state.overlay_size > max(SMALL_OVERLAY, share * len(state.base)):
                return self._as_one(name)
            if is_full and isinstance(state, TieredRows):
                registry.put_down(name)
        if len(frames) <= FEW_SEGMENTS:
            return None
        first = min(first_to_merge([self._home.rows(frame) for frame in frames]), FEW_SEGMENTS)
        few = sum(self._home.rows(frame) for frame in frames[first:]) <= MERGED_HERE
        table = registry.known_sum(name, first) if few else None
        if table is not None:
            return Merged(first, self._home.keep_table(name, table), table.num_rows, table)
        if first == 0:
            return self._as_one(name)
        kept = self._home.keep(name, summed(state.relation, frames[first:]))
        return Merged(first, kept, self._home.rows(kept))

    def _as_one(self, name: str) -> Replaced:
        kept = self._home.keep(name, self._engine.registry.frame(name))
        return Replaced(kept, self._home.rows(kept))

    def _is_long_winded(self, name: str) -> bool:
        table = self._storage.current.tables.get(name)
        written = 0 if table is None else sum([log.rows for log in table.logs])
        return written > max(SMALL_OVERLAY, LONG_WINDED * self._engine.registry[name].overlay_size)


def _sides(definitions: Definitions) -> set[str]:
    return {side_name(relation, kind) for relation in definitions.relations.values() for kind in side_tables(relation)}


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
        self.further: dict[str, list[Segment]] = {}
        # What the logs were made from, to write nothing twice.
        self._encoded: dict[str, Mapping[Row, Any]] = {}

    def add_states(self) -> None:
        registry = self._engine.registry
        for name in registry.names():
            changes = self._unwritten.get(name, ())
            known = self._known.get(name)
            is_new = known is None or known.columns != registry.codec(name).columns
            if is_new or any(isinstance(each, Replaced | Renewed) for each in changes):
                self.tables[name] = _whole(self._engine, self._home, name)
                continue
            for change in changes:
                if isinstance(change, Appended):
                    self.appended.setdefault(name, []).append(self._home.segment(change.frame))
            logged = [each for each in changes if isinstance(each, ChangedColumns | ChangedState)]
            codec = registry.codec(name)
            logs = [each.table if isinstance(each, ChangedColumns) else codec.encode(each.rows) for each in logged]
            if any(log.num_rows for log in logs):
                self.logs[name] = pa.concat_tables(logs, promote_options="default")
                if len(logged) == 1 and isinstance(logged[0], ChangedState):
                    self._encoded[name] = logged[0].rows

    def add_feed(self, seen: Mapping[str, Delta]) -> None:
        for name, delta in seen.items():
            if isinstance(delta, StoredDelta):
                parts = [*map(self._home.segment, delta.stored)]
                self.feed[name] = self._engine.delta_codec(name).encode(delta.overlay) if delta.overlay else parts.pop()
                self.further[name] = parts
            elif isinstance(delta, FrameDelta):
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
    return NewTable(codec.kind, codec.columns, segments, engine.registry.overlay_table(name))


def open_session(
    engine: SparkEngine, journal: ClusterJournal, storage: Storage, home: StorageHome, definitions: Definitions
) -> Session:
    """What storage has kept, as a session that keeps there what comes."""

    def new_lifetimes(relation: Relation) -> Lifetimes:
        by_column = relation.ttl is not None and relation.ttl.column is not None
        return BaseLifetimes(relation, engine) if by_column else Lifetimes(relation)

    changes = StoredChanges(engine, storage, home)
    session = Session(engine, journal, changes=changes, new_lifetimes=new_lifetimes, bulk=BulkStatements(engine, home))
    session.restore(_stored_state(storage, definitions))
    return session


class StoredChanges:
    """In an engine whose states are on storage: what could not be kept is not there, and what was is."""

    def __init__(self, engine: SparkEngine, storage: Storage, home: StorageHome) -> None:
        self._engine = engine
        self._storage = storage
        self._home = home

    def restore(self, state: State) -> None:
        self._read_back(state.definitions)

    def make(
        self, before: Definitions, after: Definitions, update: Update, adaptation: Adaptation | None = None
    ) -> Made:
        """Jobs take long, and are left when they are interrupted. What is in memory then may be anything."""
        take_back = partial(self._read_back, before)
        try:
            return Made(interruptible(partial(derive, self._engine, before, after, update, adaptation)), take_back)
        except BaseException as raised:
            # An error has left the engine as it was; an interrupt comes anywhere.
            if not isinstance(raised, Exception):
                take_back()
            raise

    def _read_back(self, definitions: Definitions) -> None:
        """Let the engine hold what storage has."""
        manifest = self._storage.current
        logs = self._storage.logs(manifest.tables.keys())
        stored = {
            name: Stored(
                table.columns,
                [(self._home.read(segment, table.columns), segment.rows) for segment in table.segments],
                logs.get(name),
            )
            for name, table in manifest.tables.items()
        }
        self._engine.restore(definitions.waiting.computable, definitions.functions, stored)


def _stored_state(storage: Storage, definitions: Definitions) -> State:
    """All but the rows, which stay on storage."""
    manifest = storage.current
    tables = {}
    for name, relation in definitions.relations.items():
        beside = {kind: read_side(storage, relation, kind) for kind in side_tables(relation)}
        if beside:
            tables[name] = TableState({}, beside.get(LEAVES, {}), beside.get(ARRIVALS, {}))
    return State(manifest.version, definitions, tables, manifest.clock, manifest.notices, manifest.timestamp)
