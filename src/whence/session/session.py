"""The state of a database, and the one way to change it: a commit."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping

from whence.engines.engine import Engine
from whence.model.schema import Relation, is_auxiliary
from whence.model.types import Row
from whence.model.updates import Commit, Delta, totals
from whence.session.clock import Clock, wall_clock
from whence.session.definitions import Definitions
from whence.session.draft import Contents, Draft, Key, key_of
from whence.session.history import KEEP_VERSIONS, Entry, History
from whence.session.lifetimes import Lifetimes
from whence.session.subscriptions import Subscriptions
from whence.session.windows import Window

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

    def draft(self) -> Draft:
        return Draft(self._contents, self.clock)

    def commit(self, draft: Draft) -> Commit:
        """The changes happen, all or none."""
        started = time.perf_counter()
        return self._record(self.engine.apply(draft.update), draft, started)

    def define(self, definitions: Definitions, draft: Draft | None = None) -> Commit:
        """Other definitions, and changes to the tables they have."""
        started = time.perf_counter()
        draft = draft or self.draft()
        deltas = self.engine.define(definitions.analysis, definitions.functions, draft.update)
        for name in _renewed(self.definitions.relations, definitions.relations):
            self.history.forget(name)
            self._keys.pop(name, None)
            self._lifetimes.pop(name, None)
            self._windows.pop(name, None)
            if name not in definitions.relations:
                self.subscriptions.cancel(name)
        self.definitions = definitions
        self.notice(definitions.analysis.notices)
        return self._record(deltas, draft, started)

    def advance(self, moment: object) -> Commit:
        """Time moves, and the rows whose time has come leave."""
        started = time.perf_counter()
        tick = self.clock.read(moment)
        draft = self.draft()
        for name, lifetimes in self._lifetimes.items():
            draft.table(self.definitions.relations[name]).expire(lifetimes.due(tick.time))
        deltas = self.engine.apply(draft.update)
        self.clock.set(tick)
        for lifetimes in self._lifetimes.values():
            lifetimes.settle(tick.time)
        return self._record(deltas, draft, started)

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
        return Contents(relation, counts, self._keys.get(relation.name, {}), window)

    def _record(self, deltas: Mapping[str, Delta], draft: Draft, started: float) -> Commit:
        for name, table in draft.tables.items():
            self._follow_keys(table.relation, table.delta)
            if table.relation.ttl is not None:
                self._lifetimes.setdefault(name, Lifetimes(table.relation)).record(table.events)
            if table.window is not None:
                self._windows[name] = table.window.settle()
        return self._finish(deltas, draft, started)

    def _follow_keys(self, relation: Relation, delta: Delta) -> None:
        key = key_of(relation)
        if key is None:
            return
        keys = self._keys.setdefault(relation.name, {})
        for row, count in delta.items():
            if count < 0:
                del keys[key(row)]
        for row, count in delta.items():
            if count > 0:
                keys[key(row)] = row

    def _finish(self, deltas: Mapping[str, Delta], draft: Draft, started: float) -> Commit:
        seen = {
            name: changes
            for name, delta in deltas.items()
            if not is_auxiliary(name) and (changes := self._visible(name, delta))
        }
        sizes = {name: totals(delta) for name, delta in seen.items()}
        self.version += 1
        commit = Commit(
            version=self.version,
            timestamp=wall_clock(),
            inserted={name: inserted for name, (inserted, _) in sizes.items() if inserted},
            deleted={name: deleted for name, (_, deleted) in sizes.items() if deleted},
            elapsed=time.perf_counter() - started,
            metrics={
                "rows_in": sum(sum(size) for name, size in sizes.items() if name not in self.definitions.views),
                "rows_out": sum(sum(size) for name, size in sizes.items() if name in self.definitions.views),
                "expired": draft.expired,
                "evicted": draft.evicted,
                **self.engine.metrics(),
            },
        )
        for name, delta in seen.items():
            entry = Entry(commit.version, commit.timestamp, delta)
            self.history.record(name, entry)
            self.subscriptions.post(self.definitions.relations[name], entry)
        self.history.trim(self.version)
        return commit

    def _visible(self, name: str, delta: Delta) -> Delta:
        """What a reader sees of a change. Counts below zero, which differential rules can make, read as zero."""
        if name not in self.definitions.differential:
            return delta
        counts = self.engine.counts(name)
        changes = {}
        for row, change in delta.items():
            after = counts.get(row, 0)
            seen = max(after, 0) - max(after - change, 0)
            if seen:
                changes[row] = seen
        return changes


def _renewed(before: Mapping[str, Relation], after: Mapping[str, Relation]) -> list[str]:
    """Relations that are gone, or are others under the same name: what is kept beside their rows goes too."""
    return [name for name, old in before.items() if name not in after or after[name].columns != old.columns]
