"""The state of a database, and the one way to change it: a commit."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from whence.deadline import may_give_up
from whence.engines.engine import Engine
from whence.errors import UnsupportedError
from whence.interrupts import held
from whence.logs import FIELDS
from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.model.types import Row, Type
from whence.model.updates import Commit, Delta, Update, Version, totals
from whence.rewriting.adaptation import Adaptation
from whence.session.adaptation_planner import AdaptationPlanner
from whence.session.changes import BulkInput, Change, Delete
from whence.session.constraints import check_constraints
from whence.session.definitions import Definitions, renewed
from whence.session.draft import Draft
from whence.session.feeds import CommitTotals, Subscriptions
from whence.session.functions import with_function
from whence.session.journal import EngineChanges, Entry, Journal, Made, MemoryJournal, Record, ReversibleChanges, State
from whence.session.lifetimes import LONG_AGO, Clock, Lifetimes, Tick, wall_clock
from whence.session.tables import Tables

logger = logging.getLogger("whence")

# So many times one can go back.
MAX_FORMER_DEFINITIONS = 100


class _Change(NamedTuple):
    """What a commit is to do, and since when it is worked on."""

    draft: Draft
    started: float
    after: Definitions
    tick: Tick | None = None
    notices: Sequence[str] = ()
    # What streams bring with it.
    batches: Mapping[str, int] = {}
    # Of tables that get other columns what they hold then, by rules over what they hold now.
    altered: Mapping[str, Rule] = {}
    # How old contents are used, where that has been planned.
    adaptation: Adaptation | None = None
    # Whether it goes back to the definitions before the last ones.
    undoes: bool = False


class CommitObserver(Protocol):
    """Somebody who looks at every commit, and may refuse it before it happens."""

    def check(self, update: Update, after: Definitions) -> None:
        """These changes of tables are about to happen, under these definitions. Raises where they must not."""

    def committed(self, deltas: Mapping[str, Delta]) -> None:
        """They have happened: what changed in every relation, hidden ones too."""


class Session:
    """Definitions, the engine that holds the rows, what is kept beside them, and the journal of all commits.

    `changes` makes changes in the engine, and takes back those that the journal could not keep. `bulk` takes answers
    of queries that are no rows of this process into tables.
    """

    def __init__(
        self,
        engine: Engine,
        journal: Journal | None = None,
        *,
        changes: EngineChanges | None = None,
        new_lifetimes: Callable[[Relation], Lifetimes] = Lifetimes,
        bulk: BulkInput | None = None,
    ) -> None:
        self.engine = engine
        self.journal: Journal = MemoryJournal() if journal is None else journal
        self.definitions = Definitions()
        # What the definitions were, the last ones at the end; of this process only.
        self.former: list[Definitions] = []
        # Whether every new view gets tables of its derivations.
        self.keeps_derivations = False
        self.version = Version(0)
        self.clock = Clock()
        self.tables = Tables(engine, new_lifetimes)
        self.subscriptions = Subscriptions()
        self.notices: list[str] = []
        # False while memory and journal differ, and for good if something went wrong in between.
        self.intact = True
        self._changes: EngineChanges = ReversibleChanges(engine) if changes is None else changes
        self.planner = AdaptationPlanner(engine)
        self._prefetch = engine.capabilities.prefetch
        self.bulk = bulk
        self.observer: CommitObserver | None = None
        # What the commits of this process add up to.
        self.totals = CommitTotals()
        # Of the last commit.
        self.timestamp = LONG_AGO

    def restore(self, state: State, journal: Journal | None = None) -> None:
        """Become what a journal has kept, and keep there what comes. Before the first commit only."""
        self._changes.restore(state)
        self.tables.restore(state.definitions, state.tables)
        if state.tick is not None:
            self.clock.set(state.tick)
        self.definitions = state.definitions
        self.version = state.version
        self.timestamp = state.timestamp or LONG_AGO
        self.notices = list(state.notices)
        if journal is not None:
            self.journal = journal

    def counts(self, relation: str) -> Mapping[Row, int]:
        """The rows that are there, and how often. A view that waits for a function says so."""
        self.definitions.waiting.check_reading(relation)
        return self.engine.counts(relation)

    def draft(self, tick: Tick | None = None) -> Draft:
        """Changes to come, together with an advance if there is one."""
        return Draft(self.tables.contents, self.clock if tick is None else Clock(tick))

    def expect(self, changes: Sequence[Change]) -> None:
        """These changes are about to be drafted: what they look up is brought in one go."""
        if self._prefetch is not None:
            for change in changes:
                relation = change.relation
                if relation.key or relation.distinct or isinstance(change, Delete):
                    self._prefetch.prefetch(relation.name, change.rows)

    def foresee(self, update: Update) -> dict[str, Delta]:
        """What a commit would change for those who look from outside. It does not happen."""
        foresight = self.engine.capabilities.foresight
        if foresight is None:
            raise UnsupportedError("this engine cannot tell what a change would do without making it")
        self.definitions.waiting.check_change(update)
        with held():
            self.intact = False
            try:
                with may_give_up():
                    deltas = foresight.foresee(update)
            finally:
                self.intact = True
        return self._seen(deltas, self.definitions, is_settled=False)

    def foresee_definitions(
        self, definitions: Definitions, draft: Draft, adaptation: Adaptation | None
    ) -> dict[str, Delta]:
        """What other definitions and changes would change for those who look from outside. It is taken back."""
        with held():
            self.intact = False
            made = self._changes.make(self.definitions, definitions, draft.update, adaptation)
            try:
                return {name: dict(delta) for name, delta in self._seen(made.deltas, definitions).items()}
            finally:
                made.take_back()
                self.intact = True

    def commit(self, draft: Draft, tick: Tick | None = None, batches: Mapping[str, int] | None = None) -> Commit:
        """The changes happen, all or none. Time moves with them if there is a tick; streams bring `batches`."""
        commit = self._commit(_Change(draft, time.perf_counter(), self.definitions, tick, (), batches or {}))
        self.journal.compact()
        return commit

    def define(
        self,
        definitions: Definitions,
        draft: Draft | None = None,
        notices: Iterable[str] = (),
        altered: Mapping[str, Rule] | None = None,
        adaptation: Adaptation | None = None,
        *,
        undoes: bool = False,
    ) -> Commit:
        """Other definitions, and changes to the tables they have. `notices` is what is worth knowing about them.

        `altered` tables get other columns, and what these rules say of what they hold now. An `adaptation` that has
        been planned for this is followed. What `undoes` the last definitions is not undone itself.
        """
        started = time.perf_counter()
        notices = (*definitions.analysis.notices, *notices)
        return self._commit(
            _Change(
                draft or self.draft(),
                started,
                definitions,
                notices=notices,
                altered=altered or {},
                adaptation=adaptation,
                undoes=undoes,
            )
        )

    def advance(self, moment: object) -> Commit:
        """Time moves, and the rows whose time has come leave."""
        started = time.perf_counter()
        tick = self.clock.read(moment)
        draft = self.draft()
        self.tables.expire(draft, tick.time)
        return self._commit(_Change(draft, started, self.definitions, tick))

    def register(self, name: object, function: Callable[..., object], returns: str | Type) -> None:
        """One more function, or one that views have been waiting for."""
        definitions = with_function(self.definitions, name, function, returns)
        with held():
            if self.definitions.waiting.views:
                # The views of this function have been there all the time, so that this is no commit.
                self.engine.define(definitions.waiting.computable, definitions.functions, Update())
            self.definitions = definitions

    def define_hidden(self, definitions: Definitions) -> None:
        """More relations that no user knows, over those that there are. As nobody sees any of it, this is no commit."""
        with held():
            self.engine.define(definitions.waiting.computable, definitions.functions, Update())
            self.tables.define(definitions)
            self.definitions = definitions

    def follow(self, version: Version, deltas: Mapping[str, Delta], tick: Tick | None, notices: Sequence[str]) -> None:
        """Another process has made commits that changed tables like this. If this raises, nothing has changed."""
        # Views that lack a function wait, but their tables go on: who makes the commits has the function.
        self.engine.apply(Update(deltas))
        self.tables.follow(deltas)
        if tick is not None:
            self.clock.set(tick)
        self.notices = list(notices)
        self.version = version

    def close(self) -> None:
        """Let go of what is kept outside of this process."""
        self.journal.close()

    def notice(self, notices: Iterable[str]) -> None:
        for notice in notices:
            if notice not in self.notices:
                self.notices.append(notice)
                logger.warning("%s", notice)

    def _commit(self, change: _Change) -> Commit:
        """The one way to change anything. An interrupt comes before it or after it: its note says that it happened."""
        version = self.version
        try:
            with held():
                if self.observer is not None:
                    self.observer.check(change.draft.update, change.after)
                self.journal.begin(Version(version + 1))
                return self._make(change)
        except KeyboardInterrupt as interrupt:
            if self.version > version:
                interrupt.add_note(f"version {self.version} has been committed")
            raise

    def _make(self, change: _Change) -> Commit:
        """In the engine, in the journal, and then in what is kept beside."""
        self.intact = False
        try:
            made = self._adapted(change)
        except BaseException:
            self.intact = True
            raise
        record = self._record(change, made.deltas)
        try:
            self.journal.append(record)
        except BaseException:
            if self.journal.version == self.version:
                made.take_back()
            else:
                self._settle(change, record)
            self.intact = True
            raise
        self._settle(change, record)
        self.intact = True
        if self.observer is not None:
            self.observer.committed(made.deltas)
        return self._told(change, record)

    def _adapted(self, change: _Change) -> Made:
        """With what old contents are worth for other definitions."""
        before, after, update = self.definitions, change.after, change.draft.update
        plan = change.adaptation
        if plan is None and after is not before:
            plan = self.planner.plan(before, after, update, change.altered)
        # Of this thread: a search takes a share of what rows take, however busy the machine is.
        started = 0.0 if plan is None else time.thread_time()
        made = self._changes.make(before, after, update, plan)
        try:
            check_constraints(made.deltas, update, after, self.engine.counts)
        except BaseException:
            made.take_back()
            raise
        if plan is not None:
            self.planner.learn(plan, time.thread_time() - started)
        return made

    def _record(self, change: _Change, deltas: Mapping[str, Delta]) -> Record:
        return Record(
            version=Version(self.version + 1),
            # A wall clock may be set back; commits follow each other all the same.
            timestamp=max(wall_clock(), self.timestamp),
            before=self.definitions,
            after=change.after,
            tables=partial(self.tables.changes, change.draft),
            seen=self._seen(deltas, change.after),
            tick=change.tick or self.clock.tick,
            notices=change.notices,
            batches=change.batches,
        )

    def _settle(self, change: _Change, record: Record) -> None:
        """There is a new version: what is kept beside the engine follows, and those who listen will hear of it."""
        after = change.after
        if after is not self.definitions:
            gone = renewed(self.definitions, after)
            for name in gone:
                if name not in after.relations:
                    self.subscriptions.cancel(name)
            self.tables.define(after, gone)
            if change.undoes:
                self.former.pop()
            else:
                self.former.append(self.definitions)
                del self.former[:-MAX_FORMER_DEFINITIONS]
            self.definitions = after
        self.tables.settle(change.draft)
        if change.tick is not None:
            self.clock.set(change.tick)
            self.tables.pass_time(change.tick.time)
        if change.notices:
            self.notice(change.notices)
        self.version, self.timestamp = record.version, record.timestamp
        if self.subscriptions.all:
            for name, delta in record.seen.items():
                self.subscriptions.post(after.relations[name], Entry(record.version, record.timestamp, delta))

    def _told(self, change: _Change, record: Record) -> Commit:
        inserted: dict[str, int] = {}
        deleted: dict[str, int] = {}
        rows_in = rows_out = 0
        for name, delta in record.seen.items():
            came, went = totals(delta)
            if came:
                inserted[name] = came
            if went:
                deleted[name] = went
            if name in self.definitions.views:
                rows_out += came + went
            else:
                rows_in += came + went
        passage = change.draft.passage
        metrics = {"rows_in": rows_in, "rows_out": rows_out, "expired": passage.expired, "evicted": passage.evicted}
        commit = Commit(
            version=record.version,
            timestamp=record.timestamp,
            inserted=inserted,
            deleted=deleted,
            elapsed=time.perf_counter() - change.started,
            metrics={**metrics, **self.engine.metrics()},
        )
        if logger.isEnabledFor(logging.INFO):
            changed = {"inserted": inserted, "deleted": deleted}
            fields = {"version": commit.version, "seconds": commit.elapsed, **commit.metrics, **changed}
            logger.info(
                "version %d, rows in: %d, rows out: %d", commit.version, rows_in, rows_out, extra={FIELDS: fields}
            )
        return self.totals.add(commit)

    def _seen(
        self, deltas: Mapping[str, Delta], definitions: Definitions, *, is_settled: bool = True
    ) -> dict[str, Delta]:
        """What those who look from outside see of a change."""
        hidden, differential = definitions.auxiliary, definitions.differential
        found: dict[str, Delta] = {}
        for name, delta in deltas.items():
            if name not in hidden:
                seen = self._readable(name, delta, is_settled=is_settled) if name in differential else delta
                if seen:
                    found[name] = seen
        return found

    def _readable(self, name: str, delta: Delta, *, is_settled: bool) -> Delta:
        """Counts below zero, which differential rules can make, read as zero."""
        counts = self.engine.counts(name)
        changes = {}
        for row, change in delta.items():
            after = counts.get(row, 0) + (0 if is_settled else change)
            seen = max(after, 0) - max(after - change, 0)
            if seen:
                changes[row] = seen
        return changes
