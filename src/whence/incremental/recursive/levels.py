"""UNION ALL recursion under changes: what a change adds to each level follows from what it adds to the one before.

With A the rows of the start and S one step, which is linear, R = A + S(R). So the change of R is the sum of

    D(0) = dA + dS(R before),    D(n + 1) = S after (D(n)),

which ends since every row of D(n + 1) is a level further. Counts are exact, whatever comes and goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from whence.algebra.deltas import add_to
from whence.analysis.components import Component
from whence.analysis.limits import MAX_LEVELS, RecursionLimits, too_large, too_many_levels
from whence.incremental.counting.counting import RuleDeltas, Tally
from whence.incremental.store import Store
from whence.model.program import Functions
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta


class Levels:
    """Keeps a bag whose first column is the level, beside rows of its own of all that the recursion reads."""

    has_recomputed = False

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        stores: Mapping[str, Store],
        limits: RecursionLimits,
    ) -> None:
        (self._name,) = component.relations
        self._limits = limits
        self._rule = component.rules[-1]
        self._stores = {name: stores[name] for name in component.reads}
        # Steps read what is there after the change, which the stores of others do not hold yet.
        self._below = {name: Store() for name in component.reads}
        self._own = Store()
        self._tally = Tally(relations[self._name], component.rules)
        self._rules = [
            RuleDeltas(rule, functions, {**self._below, self._name: self._own}, partial(self._tally.taker, number))
            for number, rule in enumerate(component.typed)
        ]
        # What was done to stores since the last commit.
        self._done: list[tuple[Store, Delta]] = []

    def build(self) -> Mapping[str, Delta]:
        for name, store in self._below.items():
            store.apply(self._stores[name].contents())
        self._tally.begin()
        for rule in self._rules:
            rule.build()
        return {self._name: self._stepped(dict(self._tally.change()))}

    def apply(self, deltas: Mapping[str, Delta]) -> Mapping[str, Delta]:
        changed = {name: delta for name, delta in deltas.items() if delta}
        first = self._followed(changed)
        for name, delta in changed.items():
            self._take(self._below[name], delta)
        delta = self._stepped(first)
        return {self._name: delta} if delta else {}

    def settle(self) -> None:
        self._done = []

    def undo(self) -> None:
        while self._done:
            store, delta = self._done.pop()
            store.take_back(delta)

    def counts(self, relation: str) -> Mapping[Row, int]:
        if relation != self._name:
            raise KeyError(relation)
        return MappingProxyType(dict(self._own.counts) if self._done else self._own.counts)

    def _stepped(self, change: dict[Row, int]) -> dict[Row, int]:
        """All that follows from a change of some levels, which it is part of."""
        whole = dict(change)
        while change:
            if any(count > 0 and row[0] >= MAX_LEVELS for row, count in change.items()):  # type: ignore[operator]
                raise too_many_levels(self._rule)
            following = self._followed({self._name: change})
            self._take(self._own, change)
            if self._own.size > self._limits.rows:
                raise too_large(self._rule, self._limits.rows)
            add_to(whole, following.items())
            change = following
        return whole

    def _followed(self, deltas: Mapping[str, Delta]) -> dict[Row, int]:
        self._tally.begin()
        for rule in self._rules:
            rule.apply(deltas)
        return dict(self._tally.change())

    def _take(self, store: Store, delta: Delta) -> None:
        self._done.append((store, delta))
        store.apply(delta)
