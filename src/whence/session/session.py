"""The state of a database, and the one way to change it: a commit."""

from __future__ import annotations

import datetime
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from whence.analysis.analyze import Analysis, analyze
from whence.engines.engine import Engine
from whence.engines.reference.evaluate import evaluate
from whence.incremental.keyed import KeyedRows
from whence.model.program import Program
from whence.model.schema import Relation, is_auxiliary
from whence.model.types import Row, Type
from whence.model.updates import Commit, Delta, Update, totals
from whence.patience import may_give_up
from whence.session.batch import Delete, Insert
from whence.session.clock import Clock, Tick, wall_clock
from whence.session.definitions import Definitions
from whence.session.draft import Contents, Draft, Key, key_of
from whence.session.history import KEEP_VERSIONS, Entry, History
from whence.session.journal import Journal, Record, State, TableChange
from whence.session.lifetimes import Lifetimes, restored_lifetimes
from whence.session.subscriptions import Subscriptions
from whence.session.waiting import WaitingEngine, is_missing
from whence.session.windows import Window, restored_window
from whence.sources.rows import check_rows

logger = logging.getLogger("whence")


class Session:
    """Definitions, the engine that holds the rows, and what is kept beside it: keys, lifetimes, windows, history."""

    def __init__(self, engine: Engine, keep_versions: int = KEEP_VERSIONS) -> None:
        self.engine = engine
        self.definitions = Definitions()
        self.version = 0
        self.clock = Clock()
        self.history = History(keep_versions)
        self.subscriptions = Subscriptions()
        self.notices: list[str] = []
        self._keys: dict[str, dict[Key, Row]] = {}
        self._lifetimes: dict[str, Lifetimes] = {}
        self._windows: dict[str, Window] = {}
        self.journal: Journal | None = None
        # False while memory and journal differ, and for good if something went wrong in between.
        self.intact = True

    def draft(self) -> Draft:
        return Draft(self._contents, self.clock)

    def expect(self, changes: Sequence[Insert | Delete]) -> None:
        """These changes are about to be drafted. Everything is at hand here."""

    def evaluate(self, analysis: Analysis, relation: str) -> Mapping[Row, int]:
        """The rows of a relation of a program that reads this database, as it is now."""
        base = {name: self.engine.counts(name) for name in analysis.relations if name in self.definitions.relations}
        counts = evaluate(analysis, base, self.definitions.functions)[relation]
        return {row: count for row, count in counts.items() if count > 0}

    def inserting(self, relation: Relation, rows: Mapping[Row, int]) -> Draft:
        """What `evaluate` gave comes into a table, with its copies."""
        draft = self.draft()
        copies = [row for row, count in rows.items() for _ in range(count)]
        draft.table(relation).insert(check_rows(copies, relation))
        return draft

    def removing(self, relation: Relation, rows: Mapping[Row, int]) -> Draft:
        """What `evaluate` gave leaves a table, all copies that it has."""
        draft = self.draft()
        table = draft.table(relation)
        for row in rows:
            table.remove(row, table.present(row))
        return draft

    def commit(self, draft: Draft) -> Commit:
        """The changes happen, all or none."""
        return self._change(draft, time.perf_counter())

    def foresee(self, update: Update) -> dict[str, Delta]:
        """What a commit would change for those who look from outside. It does not happen."""
        self.intact = False
        try:
            with may_give_up():
                deltas = self.engine.foresee(update)
        finally:
            self.intact = True
        return self._seen(deltas, self.definitions, is_settled=False)

    def define(self, definitions: Definitions, draft: Draft | None = None, notices: Iterable[str] = ()) -> Commit:
        """Other definitions, and changes to the tables they have. `notices` is what is worth knowing about them."""
        started = time.perf_counter()
        notices = (*definitions.analysis.notices, *notices)
        return self._change(draft or self.draft(), started, definitions, notices=notices)

    def advance(self, moment: object) -> Commit:
        """Time moves, and the rows whose time has come leave."""
        started = time.perf_counter()
        tick = self.clock.read(moment)
        draft = self.draft()
        for name, lifetimes in self._lifetimes.items():
            draft.table(self.definitions.relations[name]).expire(lifetimes.due(tick.time))
        return self._change(draft, started, tick=tick)

    def register(self, name: object, function: Callable[..., object], returns: str | Type) -> None:
        """One more function, or one that views have been waiting for."""
        from whence.session.functions import with_function

        definitions = with_function(self.definitions, name, function, returns)
        if isinstance(self.engine, WaitingEngine):
            # The views of this function have been there all the time, so that this is no commit.
            self.engine.define(definitions.analysis, definitions.functions, Update())
            if not self.engine.waiting:
                self.engine = self.engine.engine
        self.definitions = definitions

    def restore(self, state: State, journal: Journal | None, history: History) -> None:
        """Become what a journal has kept, and keep there what comes. Before the first commit only."""
        relations = state.definitions.relations
        tables = tuple(relations[name] for name in state.tables)
        rows = Update({name: table.counts for name, table in state.tables.items()})
        # Rows first: views over rows that are there are built at once, and not change by change.
        self.engine.define(analyze(Program(tables)), {}, rows)
        analysis, functions = state.definitions.analysis, state.definitions.functions
        if any(is_missing(function) for function in functions.values()):
            self.engine = WaitingEngine(self.engine, analysis, functions)
        else:
            self.engine.define(analysis, functions, Update())
        for name, table in state.tables.items():
            key = key_of(relations[name])
            if key is not None and not isinstance(self.engine.counts(name), KeyedRows):
                self._keys[name] = {key(row): row for row in table.counts}
            if relations[name].ttl is not None:
                self._lifetimes[name] = restored_lifetimes(relations[name], table.counts, table.leaves)
            if relations[name].window is not None:
                self._windows[name] = restored_window(relations[name], table.arrivals)
        if state.tick is not None:
            self.clock.set(state.tick)
        self.definitions = state.definitions
        self.version = state.version
        self.notices = list(state.notices)
        self.history = history
        self.journal = journal

    def close(self) -> None:
        """Let go of what is kept outside of this process."""
        if self.journal is not None:
            self.journal.close()

    def notice(self, notices: Iterable[str]) -> None:
        for notice in notices:
            if notice not in self.notices:
                self.notices.append(notice)
                logger.warning("%s", notice)

    def _contents(self, relation: Relation) -> Contents:
        # A table of definitions that are still to come has no rows.
        exists = relation.name in self.definitions.relations
        counts: Mapping[Row, int] = self.engine.counts(relation.name) if exists else {}
        window = self._windows.get(relation.name)
        if window is None and relation.window is not None:
            window = Window(relation)
        keys = counts.by_key if isinstance(counts, KeyedRows) else self._keys.get(relation.name, {})
        return Contents(relation, counts, keys, window)

    def _change(
        self,
        draft: Draft,
        started: float,
        definitions: Definitions | None = None,
        tick: Tick | None = None,
        notices: Sequence[str] = (),
    ) -> Commit:
        """The one way to change anything: in the engine, in the journal, and then in what is kept beside."""
        after = definitions or self.definitions
        # The rows of tables that will be gone, in case they have to come back.
        gone = renewed(self.definitions, after)
        lost = {name: self.engine.counts(name) for name in gone if name not in self.definitions.views}
        self.intact = False
        try:
            deltas = (
                self.engine.apply(draft.update)
                if definitions is None
                else self.engine.define(after.analysis, after.functions, draft.update)
            )
        except BaseException:
            self.intact = True
            raise
        seen = self._seen(deltas, after)
        timestamp = wall_clock()
        if self.journal is not None:
            record = Record(
                version=self.version + 1,
                timestamp=timestamp,
                before=self.definitions,
                after=after,
                tables=self._table_changes(draft),
                seen=seen,
                tick=tick or self.clock.tick,
                notices=notices,
            )
            try:
                self.journal.append(record)
            except BaseException:
                if self.journal.version == self.version:
                    self._take_back(draft, after, lost)
                else:
                    self._settle(draft, after, tick, notices)
                    self._publish(seen, timestamp)
                self.intact = True
                raise
        self._settle(draft, after, tick, notices)
        self._publish(seen, timestamp)
        self.intact = True
        return self._commit(seen, timestamp, draft, started)

    def _table_changes(self, draft: Draft) -> list[TableChange]:
        changes = []
        for name, table in draft.tables.items():
            leaves = self._lifetimes.get(name, Lifetimes(table.relation)).after(table.events)
            arrivals = {} if table.window is None else table.window.after()
            if table.delta or leaves or arrivals:
                counts = self.engine.counts(name)
                changes.append(TableChange(table.relation, table.delta, counts, leaves, arrivals))
        return changes

    def _take_back(self, draft: Draft, after: Definitions, lost: Mapping[str, Delta]) -> None:
        """Undo in the engine what it did, because the journal could not keep it."""
        before = self.definitions
        inverse = {
            name: {row: -change for row, change in delta.items()}
            for name, delta in draft.update.deltas.items()
            if name in before.relations and name not in lost
        }
        if after is before:
            self.engine.apply(Update(inverse))
        else:
            self.engine.define(before.analysis, before.functions, Update({**inverse, **lost}))

    def _settle(self, draft: Draft, after: Definitions, tick: Tick | None, notices: Sequence[str]) -> None:
        """What is kept beside the engine follows."""
        for name in renewed(self.definitions, after):
            self.history.forget(name)
            self._keys.pop(name, None)
            self._lifetimes.pop(name, None)
            self._windows.pop(name, None)
            if name not in after.relations:
                self.subscriptions.cancel(name)
        self.definitions = after
        for name, table in draft.tables.items():
            if table.keys:
                self._follow_keys(name, table.keys)
            if table.relation.ttl is not None:
                if name not in self._lifetimes:
                    self._lifetimes[name] = self._new_lifetimes(table.relation)
                self._lifetimes[name].record(table.events)
            if table.window is not None:
                self._windows[name] = table.window.settle()
        if tick is not None:
            self.clock.set(tick)
            for lifetimes in self._lifetimes.values():
                lifetimes.settle(tick.time)
        self.notice(notices)

    def _publish(self, seen: Mapping[str, Delta], timestamp: datetime.datetime) -> None:
        """A new version, and what it changed for those who look from outside."""
        self.version += 1
        for name, delta in seen.items():
            entry = Entry(self.version, timestamp, delta)
            self.history.record(name, entry)
            self.subscriptions.post(self.definitions.relations[name], entry)
        self.history.trim(self.version)

    def _commit(self, seen: Mapping[str, Delta], timestamp: datetime.datetime, draft: Draft, started: float) -> Commit:
        inserted: dict[str, int] = {}
        deleted: dict[str, int] = {}
        rows_in = rows_out = 0
        for name, delta in seen.items():
            came, went = totals(delta)
            if came:
                inserted[name] = came
            if went:
                deleted[name] = went
            if name in self.definitions.views:
                rows_out += came + went
            else:
                rows_in += came + went
        metrics = {"rows_in": rows_in, "rows_out": rows_out, "expired": draft.expired, "evicted": draft.evicted}
        return Commit(
            version=self.version,
            timestamp=timestamp,
            inserted=inserted,
            deleted=deleted,
            elapsed=time.perf_counter() - started,
            metrics={**metrics, **self.engine.metrics()},
        )

    def _new_lifetimes(self, relation: Relation) -> Lifetimes:
        """Those of a table that has had no rows so far."""
        return Lifetimes(relation)

    def _follow_keys(self, name: str, changed: Mapping[Key, Row | None]) -> None:
        if isinstance(self.engine.counts(name), KeyedRows):
            # The rows are where their keys are looked up.
            return
        keys = self._keys.setdefault(name, {})
        for key, row in changed.items():
            if row is None:
                keys.pop(key, None)
            else:
                keys[key] = row

    def _seen(
        self, deltas: Mapping[str, Delta], definitions: Definitions, *, is_settled: bool = True
    ) -> dict[str, Delta]:
        found: dict[str, Delta] = {}
        for name, delta in deltas.items():
            if not is_auxiliary(name):
                seen = delta
                if name in definitions.differential:
                    seen = self._readable(name, delta, is_settled=is_settled)
                if seen:
                    found[name] = seen
        return found

    def _readable(self, name: str, delta: Delta, *, is_settled: bool) -> Delta:
        """What a reader sees of a change. Counts below zero, which differential rules can make, read as zero."""
        counts = self.engine.counts(name)
        changes = {}
        for row, change in delta.items():
            after = counts.get(row, 0) + (0 if is_settled else change)
            seen = max(after, 0) - max(after - change, 0)
            if seen:
                changes[row] = seen
        return changes


def renewed(before: Definitions, after: Definitions) -> list[str]:
    """Relations that are gone, or are others under the same name: what is kept beside their rows goes too."""
    if after is before:
        return []
    now = after.relations
    return [name for name, old in before.relations.items() if name not in now or now[name].columns != old.columns]
