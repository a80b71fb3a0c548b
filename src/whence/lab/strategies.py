"""How the papers maintain recursive views where the product does it otherwise: for comparisons only."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import inf
from typing import TypeAlias

from whence.algebra.deltas import add_to
from whence.algebra.provenance import Antichain, Supports
from whence.analysis.components import Component
from whence.analysis.limits import RecursionLimits
from whence.database.database import Database
from whence.engines.local.engine import LocalEngine
from whence.engines.local.strategies import RECURSIVE, Strategies
from whence.incremental.recursive.absorption import RecordedStrategy
from whence.incremental.recursive.bests import NO_VALUE, Rank, moving_columns
from whence.incremental.recursive.fixpoint import WaitingGroup
from whence.incremental.recursive.matcher import BodyMatch, Matcher
from whence.incremental.recursive.records import Fact, StoredDerivation
from whence.incremental.recursive.rules import RuleMatches
from whence.incremental.recursive.steps import InputChange, Sources
from whence.incremental.recursive.strategy import Strategy
from whence.incremental.store import Store
from whence.model.program import Functions
from whence.model.schema import Relation, relation_named
from whence.model.types import Row, Value
from whence.model.updates import Delta
from whence.session.session import Session

# How many there are is what this strategy is there to show.
SUPPORTS: Supports[Hashable] = Supports(most=inf)

# The supports of something: of rows of the input, and of absent keys.
Formula: TypeAlias = Antichain[Hashable]
# A row, or the group terms of one.
Place: TypeAlias = tuple[str, Row]
# What has a formula: a row, or a value for an aggregate of a group.
Holder: TypeAlias = Place | tuple[str, Row, int, Value]


class ValueGroup(WaitingGroup):
    """`values` has per aggregate its values with their ranks, and `row` stands for the group."""

    __slots__ = ("row", "values")

    def __init__(self, relation: str, key: Row, aggregates: int) -> None:
        super().__init__(relation, key)
        self.values: tuple[dict[Value, Rank], ...] = tuple({} for _ in range(aggregates))
        self.row: Row | None = None


class EagerAbsorption(Strategy[tuple[Place, Formula], ValueGroup]):
    """Every tuple holds all its minimal supports, and each change of them is propagated.

    A delete is: strike out the supports that contain the row. There is nothing to prove again.

    The price is paid on insertion. A tuple has exponentially many supports in a dense graph; this is for small state.

    That no row has some key is a variable like a row that is there. In a group, a value that is not the best keeps its
    supports, and is propagated once it is the best.
    """

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        stores: Mapping[str, Store],
        limits: RecursionLimits,
    ) -> None:
        super().__init__(component, relations, functions, stores, limits)
        self._formulas: dict[Holder, Formula] = {}
        # Where a variable may occur; never too little.
        self._holders: dict[Hashable, dict[Holder, None]] = {}
        self._groups: dict[Place, ValueGroup] = {}
        # What has been propagated of each row.
        self._sent: dict[Place, Formula] = {}
        self._deltas: dict[str, dict[Row, int]] = {}

    def objection(self, component: Component) -> str | None:
        for name, columns in moving_columns(component).items():
            if columns and name not in component.aggregated:
                return f"{relation_named(name)} follows a min or max, so that better values take rows away from it"
        return None

    def start(self, before: Sources, after: Sources) -> None:  # noqa: ARG002 - supports tell how it was before
        self._restart({**after, **self._own})
        self._deltas = {name: {} for name in self._own}

    def finish(self) -> Mapping[str, Delta]:
        return {name: delta for name, delta in self._deltas.items() if delta}

    # Deletes

    def delete(self, change: InputChange) -> None:
        struck: list[Hashable] = [(name, row) for name, rows in change.vanished.items() for row in rows]
        struck += self._rules.refuted(change)
        holders: dict[Holder, None] = {}
        for name in struck:
            holders.update(self._holders.get(name, {}))
            self._journal.put(self._holders, name, {})
        for holder in holders:
            formula = self._formulas.get(holder, SUPPORTS.zero)
            remaining = SUPPORTS.without(formula, struck)
            if remaining == formula:
                continue
            self._journal.put(self._formulas, holder, remaining)
            match holder:
                case (relation, row):
                    self._strike_sent((relation, row), struck)
                    if not remaining:
                        self._leave((relation, row))
                case (relation, key, at, value):
                    self._strike_value(self._groups[relation, key], at, value, struck)

    def reprove(self) -> None:
        """Whatever has a support left was never dead."""

    def _strike_value(self, group: ValueGroup, at: int, value: Value, struck: list[Hashable]) -> None:
        if group.row is not None:
            self._strike_sent((group.relation, group.row), struck)
        if (group.relation, group.key, at, value) not in self._formulas:
            rank = group.values[at].pop(value)
            self._journal.note(group.values[at].__setitem__, value, rank)
        self._wait_with(group, 1)

    def _strike_sent(self, place: Place, struck: list[Hashable]) -> None:
        self._journal.put(self._sent, place, SUPPORTS.without(self._sent.get(place, SUPPORTS.zero), struck))

    # Inserts

    def gained(self, change: InputChange) -> list[RuleMatches]:
        # All at once, because a row that is derived is there at once.
        return list(super().gained(change))

    def derive(self, matcher: Matcher, matches: Sequence[BodyMatch], depth: int) -> list[Row]:
        return [found.head for found in matches if self._derive(matcher, found, depth)]

    def _derive(self, matcher: Matcher, found: BodyMatch, depth: int, news: tuple[int, Formula] | None = None) -> bool:
        """With `news`, the atom at that place counts with this part of its formula only."""
        formula = SUPPORTS.one
        for at, (name, row) in enumerate(zip(matcher.positive, found.body, strict=True)):
            factor = news[1] if news is not None and news[0] == at else self._formula_of(name, row)
            formula = SUPPORTS.times(formula, factor)
        for absence in zip(matcher.absences, found.absent, strict=True):
            formula = SUPPORTS.times(formula, SUPPORTS.variable(absence))
        if not formula:
            return False
        bests = self._rules.bests.get(matcher.relation)
        if bests is None:
            self._include(matcher, (matcher.relation, found.head), formula, depth)
            return True
        group = self.group(matcher.relation, found.head)
        for at, (value, rank) in enumerate(zip(found.values, bests.ranks(found.values), strict=True)):
            if self._extend((matcher.relation, found.head, at, value), formula):
                if value not in group.values[at]:
                    group.values[at][value] = rank
                    self._journal.note(group.values[at].pop, value)
                self._wait_with(group, depth, matcher)
        return True

    def _include(self, matcher: Matcher, head: Place, formula: Formula, depth: int) -> None:
        if not self._extend(head, formula):
            return
        relation, row = head
        if row not in self._own[relation].counts:
            if depth > self._limit.depth:
                raise self._limit.too_deep(row, matcher.rule)
            self._enter(head)
            self._limit.grew()
            self._limit.check_size(len(self._own[relation].counts), matcher.rule)
        self._send(head, self._formulas[head], depth)

    def _extend(self, holder: Holder, formula: Formula) -> bool:
        """Add to what is known of a holder; tell whether that made a difference."""
        known = self._formulas.get(holder, SUPPORTS.zero)
        extended = SUPPORTS.plus(known, formula)
        if extended == known:
            return False
        self._journal.put(self._formulas, holder, extended)
        for support in extended - known:
            for name in support:
                self._holders.setdefault(name, {})[holder] = None
        return True

    def _send(self, place: Place, formula: Formula, depth: int) -> None:
        """Propagate what has not been propagated of a row's formula."""
        unsent = formula - self._sent.get(place, SUPPORTS.zero)
        if unsent:
            self._journal.put(self._sent, place, formula)
            self._queue.append((place, unsent))
            self._depth = depth

    def carry_on(self, rows: Sequence[tuple[Place, Formula]], depth: int) -> None:
        for (relation, values), formula in rows:
            if values not in self._own[relation].counts:
                # A better one has taken its place.
                continue
            for matcher, position in self._rules.readers[relation]:
                for found in list(matcher.through(position, values, self._after)):
                    self._derive(matcher, found, depth, (position, formula))

    # Groups

    def group(self, relation: str, key: Row) -> ValueGroup:
        group = self._groups.get((relation, key))
        if group is None:
            aggregates = len(self._rules.bests[relation].positions)
            group = self._groups[relation, key] = ValueGroup(relation, key, aggregates)
            self._journal.note(self._groups.pop, (relation, key))
        return group

    def _wait_with(self, group: ValueGroup, depth: int, rule: Matcher | None = None) -> None:
        self._wait(group, min(group.values[0].values(), default=NO_VALUE), depth, rule)

    def settle_group(self, group: ValueGroup) -> None:
        relation, key = group.relation, group.key
        bests = self._rules.bests[relation]
        if not any(group.values) and not bests.always:
            self._represent(group, None)
            return
        chosen = [min(ranks, key=ranks.__getitem__, default=None) for ranks in group.values]
        formula = SUPPORTS.one
        if any(group.values):
            for at, value in enumerate(chosen):
                formula = SUPPORTS.times(formula, self._formulas[relation, key, at, value])
        row = bests.row(key, chosen)
        if row != group.row:
            self._check_depth(group, row)
            self._represent(group, row)
        self._send((relation, row), formula, group.depth)

    def _represent(self, group: ValueGroup, row: Row | None) -> None:
        """Another row stands for the group, or none."""
        if group.row is not None:
            self._leave((group.relation, group.row))
        self._journal.note(setattr, group, "row", group.row)
        group.row = row
        if row is not None:
            self._enter((group.relation, row))

    # State

    def _formula_of(self, relation: str, row: Row) -> Formula:
        if relation in self._own:
            return self._sent.get((relation, row), SUPPORTS.zero)
        return SUPPORTS.variable((relation, row))

    def _enter(self, place: Place) -> None:
        self._add(*place)
        add_to(self._deltas[place[0]], [(place[1], 1)])

    def _leave(self, place: Place) -> None:
        self._remove(*place)
        add_to(self._deltas[place[0]], [(place[1], -1)])
        self._journal.put(self._sent, place, SUPPORTS.zero)


class Relative(RecordedStrategy):
    """Relative provenance: all derivations are on record, and none of them is the one that counts.

    Edges say what follows from what, and not by which of them a fact was proved first. So whatever can be reached from
    a broken edge is in doubt, until it is found to be reachable from the base.
    """

    def keeps(self, matcher: Matcher) -> bool:  # noqa: ARG002
        return True

    def resting_on(self, derivation: StoredDerivation) -> list[Fact]:
        head = derivation.head
        if isinstance(head, Fact):
            return [head]
        is_best = head.has_best(derivation.ranks)
        return [fact for fact in head.versions if derivation in fact.proof or (is_best and fact is head.fact)]


STRATEGIES: Strategies = {**RECURSIVE, "eager": EagerAbsorption, "relative": Relative}


def connect(maintenance: str) -> Database:
    """A database in memory, as `whence.connect` makes it, whose recursive views may follow these strategies, too."""
    return Database(Session(LocalEngine(maintenance, strategies=STRATEGIES)))
