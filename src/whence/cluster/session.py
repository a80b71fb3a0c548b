"""A session whose rows are on the cluster: what a commit looks up is brought to the driver in one go."""

from __future__ import annotations

import datetime
import logging
import time
from collections.abc import Iterator, Mapping, Sequence

from py4j.protocol import Py4JJavaError

from whence.analysis.analyze import Analysis
from whence.cluster.bulk import BulkChecks, rows_tell_all
from whence.cluster.expiring import BaseLifetimes
from whence.cluster.home import StorageHome
from whence.cluster.journal import ClusterHistory, ClusterJournal
from whence.cluster.sides import ARRIVALS, LEAVES, read_side
from whence.engines.spark.engine import SparkEngine
from whence.engines.spark.frames import FrameDelta
from whence.engines.spark.paging import TooLargeError
from whence.engines.spark.registry import Stored
from whence.engines.spark.storage.store import Storage
from whence.errors import StateError, UnsupportedError
from whence.incremental.keyed import key_positions
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Commit, Delta
from whence.session.batch import Delete, Insert
from whence.session.clock import Clock, Tick
from whence.session.definitions import Definitions
from whence.session.draft import Contents, Draft, Key, key_of
from whence.session.lifetimes import Lifetimes, restored_lifetimes
from whence.session.session import Session
from whence.session.waiting import WaitingEngine, is_missing, without_waiting
from whence.session.windows import restored_window

logger = logging.getLogger("whence")


class ClusterSession(Session):
    """Keys are looked up among the rows, and old changes in storage."""

    def __init__(self, engine: SparkEngine, storage: Storage, home: StorageHome, keep_versions: int) -> None:
        super().__init__(engine, keep_versions)
        self.spark_engine = engine
        self.storage = storage
        self._home = home
        self._bulk = BulkChecks(engine, home)
        self.cluster_journal = ClusterJournal(storage, home, engine)
        self.journal = self.cluster_journal
        self.history = ClusterHistory(storage, engine, keep_versions)
        self._resume()
        self._shown = self.definitions.visible
        self._changed: dict[str, Delta | None] = dict.fromkeys(self._shown)

    def commit(self, draft: Draft) -> Commit:
        commit = super().commit(draft)
        self._compact()
        return commit

    def evaluate(self, analysis: Analysis, relation: str) -> Mapping[Row, int]:
        for name in analysis.relations:
            if name in self.definitions.relations:
                # One that waits for a function says so.
                self.engine.counts(name)
        return self.spark_engine.evaluate(analysis, self.definitions.functions, relation)

    def inserting(self, relation: Relation, rows: Mapping[Row, int]) -> Draft:
        if isinstance(rows, FrameDelta) and rows_tell_all(relation):
            return self._bulk.inserted(self._bulk.answer(rows, relation), relation, self.clock)
        self.expect([Insert(relation, list(rows))])
        return super().inserting(relation, rows)

    def removing(self, relation: Relation, rows: Mapping[Row, int]) -> Draft:
        if isinstance(rows, FrameDelta) and rows_tell_all(relation):
            return self._bulk.removed(rows, relation, self.clock)
        self.expect([Delete(relation, list(rows), ignore_missing=True)])
        return super().removing(relation, rows)

    def draft_at(self, tick: Tick | None) -> Draft:
        """Changes that are to be made together with an advance."""
        if tick is None:
            return self.draft()
        clock = Clock()
        clock.set(tick)
        return Draft(self._contents, clock)

    def expire(self, draft: Draft, moment: datetime.datetime) -> None:
        """Let rows leave whose time has come by then. Those that leave in the draft already do not leave twice."""
        for name, lifetimes in self._lifetimes.items():
            due = lifetimes.due(moment)
            if due:
                table = draft.table(self.definitions.relations[name])
                left = {row: copies + table.delta.get(row, 0) for row, copies in due.items()}
                table.expire({row: copies for row, copies in left.items() if copies > 0})

    def bring(self, draft: Draft, stream: str, batch: int, tick: Tick | None) -> Commit:
        """Commit a batch of a stream, and time with it. That it is here is known as soon as its rows are."""
        self.cluster_journal.batches = {stream: batch}
        try:
            commit = self._change(draft, time.perf_counter(), tick=tick)
        finally:
            self.cluster_journal.batches = {}
        self._compact()
        return commit

    def expect(self, changes: Sequence[Insert | Delete]) -> None:
        """Bring what changes will look up into memory."""
        for change in changes:
            try:
                self._expect(change)
            except TooLargeError:
                raise UnsupportedError(
                    f"{len(change.rows):,} rows are too many to look up in {change.relation.name!r} one by one",
                    hint="hand them over as a Spark DataFrame, or in smaller parts",
                ) from None

    def _expect(self, change: Insert | Delete) -> None:
        relation = change.relation
        key = key_of(relation)
        if key is not None:
            positions = key_positions(relation)
            self.spark_engine.expect_keys(relation.name, positions, map(key, change.rows))
        elif relation.distinct or isinstance(change, Delete):
            self.spark_engine.expect(relation.name, change.rows)

    def take_changed(self) -> dict[str, Delta | None]:
        """The relations that have changed, come or gone since this was last asked, with the change if it was one."""
        changed, self._changed = self._changed, {}
        return changed

    def _publish(self, seen: Mapping[str, Delta], timestamp: datetime.datetime) -> None:
        super()._publish(seen, timestamp)
        visible = self.definitions.visible
        for name, delta in seen.items():
            is_known = self._shown.get(name) == visible[name] and name not in self._changed
            self._changed[name] = delta if is_known else None
        self._changed.update((name, None) for name in self._shown.keys() ^ visible.keys())
        self._shown = visible

    def _compact(self) -> None:
        """The commit has happened, whether this works or not."""
        try:
            compacted = self.cluster_journal.compact()
        except (StateError, Py4JJavaError) as error:
            logger.warning("no new base could be written, which is tried again after the next commit: %s", error)
        else:
            self._changed.update((name, None) for name in compacted if name in self._shown)

    def _take_back(self, draft: Draft, after: Definitions, lost: Mapping[str, Delta]) -> None:  # noqa: ARG002
        """What storage did not take has not happened, and what has is there."""
        self._restore_states(self.definitions)

    def _resume(self) -> None:
        """Become what storage has kept."""
        manifest = self.storage.current
        definitions = self.storage.definitions()
        self._restore_states(definitions)
        for relation in definitions.relations.values():
            if relation.ttl is not None and relation.ttl.column is not None:
                self._lifetimes[relation.name] = BaseLifetimes(relation, self.spark_engine)
            elif relation.ttl is not None:
                leaves = read_side(self.storage, relation, LEAVES)
                self._lifetimes[relation.name] = restored_lifetimes(relation, {}, leaves)
            if relation.window is not None:
                self._windows[relation.name] = restored_window(relation, read_side(self.storage, relation, ARRIVALS))
        if manifest.clock is not None:
            self.clock.set(manifest.clock)
        self.definitions = definitions
        self.version = manifest.version
        self.notices = list(manifest.notices)

    def _restore_states(self, definitions: Definitions) -> None:
        """Let the engine hold what storage has."""
        manifest = self.storage.current
        logs = self.storage.logs(manifest.tables.keys())
        stored = {
            name: Stored(
                [(self._home.read(segment, table.columns), segment.rows) for segment in table.segments], logs.get(name)
            )
            for name, table in manifest.tables.items()
        }
        analysis, functions = definitions.analysis, definitions.functions
        self.spark_engine.restore(without_waiting(analysis, functions), functions, stored)
        if any(is_missing(function) for function in functions.values()):
            self.engine = WaitingEngine(self.spark_engine, analysis, functions)

    def _contents(self, relation: Relation) -> Contents:
        contents = super()._contents(relation)
        if not relation.key or relation.name not in self.definitions.relations:
            return contents
        return Contents(relation, contents.counts, _Keys(self.spark_engine, relation), contents.window)

    def _settle(self, draft: Draft, after: Definitions, tick: Tick | None, notices: Sequence[str]) -> None:
        super()._settle(draft, after, tick, notices)
        for name in draft.update.deltas:
            # Rows that came as a whole are in no event.
            relation = after.relations[name]
            if relation.ttl is not None and name not in self._lifetimes:
                self._lifetimes[name] = self._new_lifetimes(relation)

    def _new_lifetimes(self, relation: Relation) -> Lifetimes:
        if relation.ttl is not None and relation.ttl.column is not None:
            return BaseLifetimes(relation, self.spark_engine)
        return super()._new_lifetimes(relation)

    def _follow_keys(self, name: str, changed: Mapping[Key, Row | None]) -> None:
        """The rows are where their keys are looked up."""


class _Keys(Mapping[Key, Row]):
    """The row of each key of a table, looked up one by one."""

    def __init__(self, engine: SparkEngine, relation: Relation) -> None:
        self._engine = engine
        self._relation = relation
        self._positions = key_positions(relation)

    def __getitem__(self, key: Key) -> Row:
        row = self._engine.holder(self._relation.name, self._positions, key)
        if row is None:
            raise KeyError(key)
        return row

    def __iter__(self) -> Iterator[Key]:
        key = key_of(self._relation)
        assert key is not None
        return map(key, self._engine.counts(self._relation.name))

    def __len__(self) -> int:
        return len(self._engine.counts(self._relation.name))
