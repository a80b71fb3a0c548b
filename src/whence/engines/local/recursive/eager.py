"""Eager absorption: exact provenance on every tuple, and every change of it propagated."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping
from heapq import heappop, heappush
from itertools import count
from typing import Any, TypeAlias

from whence.analysis.components import Component
from whence.analysis.wording import relation_named
from whence.engines.engine import Functions
from whence.engines.local.recursive.bests import NO_VALUE, Rank
from whence.engines.local.recursive.inputs import Change
from whence.engines.local.recursive.matching import Found, Matcher
from whence.engines.local.recursive.moving import moving_columns
from whence.engines.local.recursive.steps import Sources
from whence.engines.local.recursive.strategy import Strategy
from whence.engines.local.recursive.supports import FALSE, TRUE, Formula, plus, times, variable, without
from whence.engines.local.store import Store
from whence.engines.reference.fixpoint import Limits
from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.model.types import Row, Value
from whence.model.updates import Delta
from whence.patience import check

# A row, or the group terms of one.
Place: TypeAlias = tuple[str, Row]
# What has a formula: a row, or a value for an aggregate of a group.
Holder: TypeAlias = Place | tuple[str, Row, int, Value]


class EagerAbsorption(Strategy):
    """Every tuple holds all its minimal supports, so a delete is: strike out the supports that contain the row.

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
        limits: Limits,
    ) -> None:
        super().__init__(component, relations, functions, stores, limits)
        self._formulas: dict[Holder, Formula] = {}
        # Where a variable may occur; never too little.
        self._holders: dict[Hashable, dict[Holder, None]] = {}
        # Of each group: per aggregate its values with their ranks, and the row that stands for it.
        self._values: dict[Place, tuple[dict[Value, Rank], ...]] = {}
        self._rows: dict[Place, Row] = {}
        # What has been propagated of each row.
        self._sent: dict[Place, Formula] = {}
        kinds = sorted({bests.kind for bests in self._rules.bests.values()})
        self._lanes = {name: kinds.index(bests.kind) for name, bests in self._rules.bests.items()}
        self._start(stores)

    def objection(self, component: Component) -> str | None:
        for name, columns in moving_columns(component).items():
            if columns and name not in component.aggregated:
                return f"{relation_named(name)} follows a min or max, so that better values take rows away from it"
        return None

    def _start(self, sources: Sources) -> None:
        self._sources: Sources = {**sources, **self._own}
        self._deltas: dict[str, dict[Row, int]] = {}
        self._queue: deque[tuple[Place, Formula, int]] = deque()
        self._heap: list[tuple[int, Any, int, Place, int, Rule | None]] = []
        self._ticket = count()

    def begin(self) -> Mapping[str, Delta]:
        self._start(self._inputs)
        for name, bests in self._rules.bests.items():
            if bests.always:
                self._wait((name, ()), 1)
        for matcher in self._rules.all:
            if not matcher.own:
                for found in matcher.all(self._sources):
                    self._derive(matcher, found, {}, 1)
        return self._finish()

    def follow(self, change: Change) -> Mapping[str, Delta]:
        self._start(change.before)
        struck: list[Hashable] = [(name, row) for name, rows in change.vanished.items() for row in rows]
        struck += self._rules.refuted(change)
        self._strike(struck)
        self._sources = {**change.after, **self._own}
        # All at once, because a row that is derived is there at once.
        for matcher, found in list(self._rules.gained(change, self._sources)):
            self._derive(matcher, found, {}, 1)
        return self._finish()

    def _finish(self) -> Mapping[str, Delta]:
        while self._queue or self._heap:
            check()
            if self._queue:
                self._propagate(*self._queue.popleft())
            else:
                *_, group, depth, rule = heappop(self._heap)
                self._settle(group, depth, rule)
        return {name: delta for name, delta in self._deltas.items() if delta}

    # Deletes

    def _strike(self, names: list[Hashable]) -> None:
        holders: dict[Holder, None] = {}
        for name in names:
            holders.update(self._holders.get(name, {}))
            self._journal.put(self._holders, name, {})
        for holder in holders:
            formula = self._formulas.get(holder, FALSE)
            remaining = without(formula, names)
            if remaining == formula:
                continue
            self._set_formula(holder, remaining)
            match holder:
                case (relation, row):
                    place = (relation, row)
                    self._set_sent(place, without(self._sent.get(place, FALSE), names))
                    if not remaining:
                        self._leave(place)
                case (relation, key, at, value):
                    self._strike_value((relation, key), at, value, names)

    def _strike_value(self, group: Place, at: int, value: Value, names: list[Hashable]) -> None:
        row = self._rows.get(group)
        if row is not None:
            place = (group[0], row)
            self._set_sent(place, without(self._sent.get(place, FALSE), names))
        if not self._formulas.get((*group, at, value)):
            values = self._values[group][at]
            rank = values.pop(value)
            self._journal.note(values.__setitem__, value, rank)
        self._wait(group, 1)

    # Inserts

    def _derive(self, matcher: Matcher, found: Found, given: Mapping[int, Formula], depth: int) -> None:
        """A way to satisfy a body, where the atoms `given` count with a part of their formula only."""
        factors = [
            given[at] if at in given else self._formula_of(name, row)
            for at, (name, row) in enumerate(zip(matcher.positive, found.body, strict=True))
        ]
        factors += map(variable, zip(matcher.absences, found.absent, strict=True))
        formula = times(factors)
        if not formula:
            return
        bests = self._rules.bests.get(matcher.relation)
        head = (matcher.relation, found.head)
        if bests is None:
            self._include(matcher, head, formula, depth)
            return
        values = self._values.get(head)
        if values is None:
            values = self._values[head] = tuple({} for _ in bests.positions)
            self._journal.note(self._values.pop, head)
        for at, (value, rank) in enumerate(zip(found.values, bests.ranks(found.values), strict=True)):
            if self._extend((*head, at, value), formula):
                if value not in values[at]:
                    values[at][value] = rank
                    self._journal.note(values[at].pop, value)
                self._wait(head, depth, matcher.rule)

    def _include(self, matcher: Matcher, head: Place, formula: Formula, depth: int) -> None:
        if not self._extend(head, formula):
            return
        if head[1] not in self._own[head[0]].counts:
            if depth > self._brake.depth:
                raise self._brake.too_deep(head[1], matcher.rule)
            self._enter(head)
            self._brake.check_size(len(self._own[head[0]].counts), matcher.rule)
        self._send(head, self._formulas[head], depth)

    def _extend(self, holder: Holder, formula: Formula) -> bool:
        """Add to what is known of a holder; tell whether that made a difference."""
        known = self._formulas.get(holder, FALSE)
        extended = plus(known, formula)
        if extended == known:
            return False
        self._set_formula(holder, extended)
        for support in extended - known:
            for name in support:
                self._holders.setdefault(name, {})[holder] = None
        return True

    def _send(self, place: Place, formula: Formula, depth: int) -> None:
        """Propagate what has not been propagated of a row's formula."""
        unsent = formula - self._sent.get(place, FALSE)
        if unsent:
            self._set_sent(place, formula)
            self._queue.append((place, unsent, depth + 1))

    def _propagate(self, place: Place, formula: Formula, depth: int) -> None:
        relation, row = place
        if row not in self._own[relation].counts:
            # A better one has taken its place.
            return
        for matcher, position in self._rules.readers[relation]:
            for found in list(matcher.through(position, row, self._sources)):
                self._derive(matcher, found, {position: formula}, depth)

    # Groups

    def _wait(self, group: Place, depth: int, rule: Rule | None = None) -> None:
        ranks = self._values.get(group, ({},))[0].values()
        entry = (self._lanes[group[0]], min(ranks, default=NO_VALUE), next(self._ticket), group, depth, rule)
        heappush(self._heap, entry)

    def _settle(self, group: Place, depth: int, rule: Rule | None) -> None:
        relation, key = group
        bests = self._rules.bests[relation]
        values = self._values.get(group, ())
        former = self._rows.get(group)
        chosen = [min(of_aggregate, key=of_aggregate.__getitem__, default=None) for of_aggregate in values]
        if any(values):
            row = bests.row(key, chosen)
            formula = times(self._formulas[(*group, at, value)] for at, value in enumerate(chosen))
        elif bests.always:
            row, formula = bests.row(key, [None] * len(bests.positions)), TRUE
        else:
            if former is not None:
                self._retire(group, former)
            return
        if former != row:
            if depth > self._brake.depth:
                raise self._brake.too_deep(row, rule or self._rules.deriving[relation][0].rule)
            if former is not None:
                self._retire(group, former)
            self._rows[group] = row
            self._journal.note(self._rows.pop, group)
            self._enter((relation, row))
        self._send((relation, row), formula, depth)

    def _retire(self, group: Place, row: Row) -> None:
        del self._rows[group]
        self._journal.note(self._rows.__setitem__, group, row)
        self._leave((group[0], row))

    # State

    def _formula_of(self, relation: str, row: Row) -> Formula:
        if relation in self._own:
            return self._sent.get((relation, row), FALSE)
        return variable((relation, row))

    def _enter(self, place: Place) -> None:
        self._add(*place)
        self._count(place, 1)

    def _leave(self, place: Place) -> None:
        self._remove(*place)
        self._count(place, -1)
        self._set_sent(place, FALSE)

    def _count(self, place: Place, change: int) -> None:
        delta = self._deltas.setdefault(place[0], {})
        delta[place[1]] = delta.get(place[1], 0) + change
        if not delta[place[1]]:
            del delta[place[1]]

    def _set_formula(self, holder: Holder, formula: Formula) -> None:
        self._journal.put(self._formulas, holder, formula)

    def _set_sent(self, place: Place, formula: Formula) -> None:
        self._journal.put(self._sent, place, formula)
