"""Peers of an exchange: each has relations, edits its tables at its own place, and decides when others see its edits
and when it sees theirs.

There is a shared database, which holds what has been published, and a database for each peer. A peer's database has its
relations and all that these are derived from, as they were when it last exchanged, with its own edits since. To publish
is a commit of the shared database, and to exchange is one of the peer's: rows, mappings and all, by one plan.

Where a peer has got to is kept in the same commits as the rows, so that nothing comes twice and nothing is lost,
wherever a process dies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import is_
from typing import NamedTuple

from whence.adapt.peer_members import PUBLISHED, members_of, published_mappings
from whence.adapt.preview import Preview, previewed
from whence.adapt.redefine import DefinitionChange
from whence.algebra.deltas import added, delta_between, negated
from whence.errors import StateError
from whence.model.schema import Relation
from whence.model.types import Row, Value
from whence.model.updates import Commit, Delta, Version, totals
from whence.rewriting.adaptation import Adaptation
from whence.session.definitions import Definitions
from whence.session.draft import Draft, TableContents
from whence.session.journal import ForgottenError
from whence.session.session import Session
from whence.session.windows import Window

# In a peer's: up to which version of the shared database it exchanged, by which version of its own; and mappings that
# are to be published.
EXCHANGED = "whence_exchanged"
PENDING = "whence_mappings"
OWN_TABLES = f"""
    CREATE TABLE IF NOT EXISTS {EXCHANGED}(shared BIGINT NOT NULL, own BIGINT NOT NULL);
    CREATE TABLE IF NOT EXISTS {PENDING}(number BIGINT PRIMARY KEY, name STRING NOT NULL, text STRING NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class PeerStatus:
    """What a peer has, what waits to be published, as rows that came and went and as mappings, and how many commits of
    the shared database wait to be exchanged.
    """

    name: str
    relations: tuple[str, ...]
    unpublished: Mapping[str, tuple[int, int]]
    mappings: int
    behind: int

    def __str__(self) -> str:
        lines = [f"{self.name}: {', '.join(self.relations)}"]
        lines += [f"  {name}: {came} rows came, {went} went" for name, (came, went) in self.unpublished.items()]
        if self.mappings:
            lines.append(f"  {self.mappings} mappings to be published")
        lines.append(f"  {self.behind} commits behind" if self.behind else "  up to date")
        return "\n".join(lines)


class Edits(NamedTuple):
    """What a peer has not published."""

    rows: Mapping[str, Delta]
    mappings: Sequence[tuple[int, str, str]]


class ExchangePlan(NamedTuple):
    """What an exchange makes of a peer's database."""

    after: Definitions
    draft: Draft
    adaptation: Adaptation | None


class PeerExchange:
    """One peer, between the session of the shared database and its own."""

    def __init__(self, name: str, shared: Session, own: Session) -> None:
        self.name = name
        self._shared, self._own = shared, own

    def relations(self) -> list[str]:
        """That it has; those that were dropped meanwhile are gone."""
        here = self._shared.definitions.visible
        return sorted(name for name, peer in members_of(self._shared).items() if peer == self.name and name in here)

    def tables(self) -> list[str]:
        """Those of its relations that it can edit."""
        views = self._shared.definitions.views
        return [name for name in self.relations() if name not in views]

    def status(self) -> PeerStatus:
        edits = self.edits()
        rows = {name: totals(delta) for name, delta in edits.rows.items()}
        behind = self._shared.version - self._positions()[0]
        return PeerStatus(self.name, tuple(self.relations()), rows, len(edits.mappings), behind)

    # What goes out.

    def edits(self) -> Edits:
        published = (_number(version) for peer, version in self._shared.counts(PUBLISHED) if peer == self.name)
        since = max([*published, self._positions()[1]])
        rows = {}
        for name in self.tables():
            if name in self._own.definitions.tables:
                delta = self._changes(self._own, name, since)
                if delta is None:
                    delta = delta_between(self._shared.counts(name), self._own.counts(name))
                if delta:
                    rows[name] = delta
        texts = [(_number(number), str(name), str(text)) for number, name, text in self._own.counts(PENDING)]
        return Edits(rows, sorted(texts))

    def publish(self, change: DefinitionChange, edits: Edits) -> None:
        """Put what is not published into a change of the shared database."""
        before = self._shared.definitions
        for name in edits.rows:
            if before.tables[name].columns != self._own.definitions.tables[name].columns:
                raise StateError(
                    f"table {name!r} has got other columns, so that what {self.name} did to it cannot be published",
                    hint="discard() takes it back; after that it can be done again",
                )
        for _, name, text in edits.mappings:
            change.take_mappings(published_mappings(text, name, self.name, members_of(self._shared)))
        for name, delta in edits.rows.items():
            change.change_rows(name, delta)
        position = {row: -1 for row in self._shared.counts(PUBLISHED) if row[0] == self.name}
        change.change_rows(PUBLISHED, added(position, {(self.name, int(self._own.version)): 1}))

    # What comes in.

    def plan(self, *, discards: bool = False) -> ExchangePlan:
        """What it takes to have what is published by now. Own edits stay, unless the peer `discards` them."""
        shared, own = self._shared.definitions, self._own.definitions
        needed = shared.below(set(self.relations()))
        after = own.only({EXCHANGED, PENDING}).beside(shared.only(needed))
        if len(after.analysis.components) == len(own.analysis.components) and all(
            map(is_, after.analysis.components, own.analysis.components)
        ):
            after = own
        mine = set(self.tables())
        draft = Draft(self._contents, self._own.clock)
        for name in sorted(needed & shared.tables.keys()):
            self._add(draft, name, self._incoming(name, is_own=name in mine, discards=discards))
        position = (int(self._shared.version), int(self._own.version) + 1)
        self._add(draft, EXCHANGED, added(negated(self._own.counts(EXCHANGED)), {position: 1}))
        adaptation = self._own.planner.plan(own, after, draft.update)
        return ExchangePlan(after, draft, adaptation)

    def make(self, plan: ExchangePlan) -> Commit:
        return self._own.define(plan.after, plan.draft, adaptation=plan.adaptation)

    def preview(self, plan: ExchangePlan, *, rows: bool) -> Preview:
        deltas = self._own.foresee_definitions(plan.after, plan.draft, plan.adaptation) if rows else None
        if deltas is not None:
            deltas.pop(EXCHANGED, None)
        before, after = self._own.definitions.visible, plan.after.visible
        new = tuple(name for name in after if name not in before and name in plan.after.views)
        return previewed(plan.adaptation, new, tuple(name for name in before if name not in after), deltas)

    def _incoming(self, name: str, *, is_own: bool, discards: bool) -> Delta:
        """What leads from a table as the peer has it to what is published."""
        there = self._shared.counts(name)
        if self._is_new(self._shared.definitions.tables[name]):
            return there
        here = self._own.counts(name)
        if discards and is_own:
            return delta_between(here, there)
        shared, own = self._positions()
        delta = self._changes(self._shared, name, shared)
        if is_own and delta is not None:
            edits = self._changes(self._own, name, own)
            delta = None if edits is None else added(delta, negated(edits))
        # A table that was dropped and made again has only what came since.
        if delta is None or sum(here.values()) + sum(delta.values()) != sum(there.values()):
            return delta_between(here, there)
        return delta

    def _is_new(self, relation: Relation) -> bool:
        """Whether all rows of a table come, because the peer had none of that kind."""
        known = self._own.definitions.tables.get(relation.name)
        return known is None or known.columns != relation.columns

    def _contents(self, relation: Relation) -> TableContents:
        if relation.name in (EXCHANGED, PENDING) or not self._is_new(relation):
            return self._own.tables.contents(relation)
        return TableContents(relation, {}, {}, None if relation.window is None else Window(relation))

    def _add(self, draft: Draft, name: str, delta: Delta) -> None:
        relation = (self._own if name == EXCHANGED else self._shared).definitions.tables[name]
        if delta:
            table = draft.table(relation)
            table.delete(list(_times(delta, -1)), ignore_missing=True)
            table.insert(list(_times(delta, 1)))

    def _positions(self) -> tuple[int, int]:
        """The versions of the last exchange, of the shared database and of the peer's."""
        (shared, own), *_ = self._own.counts(EXCHANGED) or [(0, 0)]
        return _number(shared), _number(own)

    @staticmethod
    def _changes(session: Session, name: str, since: int) -> Delta | None:
        """All changes of a table after a version as one; None where some are forgotten."""
        try:
            return added({}, *(entry.delta for entry in session.journal.since(name, Version(since))))
        except ForgottenError:
            return None


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value


def _times(delta: Delta, sign: int) -> Iterator[Row]:
    """Each row as often as it comes, or goes."""
    return (row for row, count in delta.items() for _ in range(count * sign))
