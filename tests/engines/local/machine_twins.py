"""The same database several times: the reference engine, and the local engine under every strategy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from unittest import mock

import whence
from tests.engines.local.machine_actions import Action
from whence.database.database import Database
from whence.engines.local.engine import LocalEngine
from whence.engines.local.forest import forests
from whence.engines.local.forest.values import NotCompiledError
from whence.lab.strategies import STRATEGIES
from whence.model.schema import has_same_values
from whence.model.updates import Commit
from whence.session.session import Session

# Exact provenance grows exponentially with the cycles of a graph: only the smallest ones are for it.
SMALL = ("auto", "absorption", "dred", "eager", "relative", "recompute")
LARGE = ("auto", "absorption", "dred", "relative", "recompute")

Rows = Counter[tuple[object, ...]]


class Twin:
    """A database, and what a reader has who follows its change feeds."""

    def __init__(self, name: str, db: Database) -> None:
        self.name = name
        self.db = db
        self.held: dict[str, Rows] = {}

    def act(self, action: Action) -> Commit | whence.WhenceError | None:
        with general_only() if self.name == "absorption" else mock.patch.dict({}):
            try:
                return action.on(self.db)
            except whence.WhenceError as error:
                return error

    def contents(self, relation: str) -> Rows:
        table = self.db.table(relation)
        if not table.column_names:
            # Arrow's rows are nothing without columns.
            return Counter(self.db.rows(relation))
        return Counter(tuple(row.values()) for row in table.to_pylist())

    def follow(self, relation: str, since: int) -> Rows:
        """Read what is new in the feed. Nothing ever leaves that was not there."""
        held = self.held.setdefault(relation, Counter())
        for change in self.db.changes(relation, since=since).to_pylist():
            *row, kind, _, _ = change.values()
            held[tuple(row)] += 1 if kind in ("insert", "update_postimage") else -1
            assert held[tuple(row)] >= 0, f"{self.name}: {relation} loses {row}, which it did not have"
        return +held


@contextmanager
def general_only() -> Iterator[None]:
    """Without compiled forests, so that the general form of the strategy does their work."""

    def refuse(*_: object) -> None:
        raise NotCompiledError("this is a test of the general strategy")

    with mock.patch.object(forests, "forest_for", refuse):
        yield


def local_databases(strategies: Sequence[str]) -> dict[str, Database]:
    return {name: Database(Session(LocalEngine(name, strategies=STRATEGIES))) for name in strategies}


class Twins:
    """Whatever happens, happens in all databases, and in all of them the same."""

    def __init__(self, others: Mapping[str, Database]) -> None:
        self.oracle = Twin("reference", whence.connect(engine="reference"))
        self.others = [Twin(name, db) for name, db in others.items()]
        self.all = [self.oracle, *self.others]
        self.script: list[Action] = []
        self.agree = True

    @property
    def db(self) -> Database:
        return self.oracle.db

    @contextmanager
    def noted(self) -> Iterator[None]:
        """A failure comes with all that was done before it."""
        try:
            yield
        except Exception as error:
            self.agree = False
            error.add_note("\n".join(map(repr, self.script)))
            raise

    def act(self, action: Action) -> Commit | None:
        """Do it everywhere; None if all refuse. Afterwards all databases are compared."""
        self.script.append(action)
        with self.noted():
            return self._act(action)

    def _act(self, action: Action) -> Commit | None:
        before, version = dict(self.db.catalog().relations), self.db.version
        expected = self.oracle.act(action)
        after = self.db.catalog().relations
        renewed = [name for name in before if name not in after or not has_same_values(before[name], after[name])]
        changed: set[str] = set()
        if isinstance(expected, Commit):
            changed = {*expected.inserted, *expected.deleted}
        else:
            assert self.db.version == version, "reference: a commit that failed has happened"
        there = {name: self.oracle.contents(name) for name in changed}
        self._follow(self.oracle, there, renewed, version)
        rows = {name: self.db.rows(name) for name in after}
        for twin in self.others:
            found = twin.act(action)
            assert type(found) is type(expected), f"{twin.name}: {found!r}, not {expected!r}"
            if isinstance(found, Commit) and isinstance(expected, Commit):
                assert summary(found) == summary(expected), f"{twin.name}: {summary(found)}, not {summary(expected)}"
            else:
                assert twin.db.version == version, f"{twin.name}: a commit that failed has happened"
            assert twin.db.catalog().relations == after, twin.name
            for name in after:
                assert twin.db.rows(name) == rows[name], f"{twin.name}: {name}"
            self._follow(twin, there, renewed, version)
        return expected if isinstance(expected, Commit) else None

    def _follow(self, twin: Twin, changed: Mapping[str, Rows], renewed: list[str], version: int) -> None:
        """Compare what a commit changed, as it is now and as the feed tells it."""
        for name in renewed:
            twin.held.pop(name, None)
        for name, there in changed.items():
            assert twin.contents(name) == there, f"{twin.name}: copies of {name}"
            assert twin.follow(name, version) == there, f"{twin.name}: the feed of {name}"

    def check_everything(self) -> None:
        """Contents and the whole change feed of every relation, also those that nothing happened to lately."""
        if not self.agree:
            return
        with self.noted():
            for name in self.db.catalog().relations:
                there = self.oracle.contents(name)
                for twin in self.all:
                    assert twin.contents(name) == there, f"{twin.name}: {name}"
                    twin.held.pop(name, None)
                    assert twin.follow(name, 0) == there, f"{twin.name}: the feed of {name} from the beginning"


def summary(commit: Commit) -> tuple[object, ...]:
    return commit.version, dict(commit.inserted), dict(commit.deleted), commit.metrics["expired"]
