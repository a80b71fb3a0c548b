"""The maintainer of a non-recursive component."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.counting.groups import Groups
from whence.engines.local.counting.rules import RuleDeltas
from whence.engines.local.counting.tally import Tally
from whence.engines.local.counting.view import View
from whence.engines.local.maintainer import Maintainer
from whence.engines.local.store import Store
from whence.engines.reference.fixpoint import Limits
from whence.incremental.body import Body
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta


class Counting(Maintainer):
    """One relation and its rules. What a commit changes is kept beside the state until it settles."""

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        stores: Mapping[str, Store],
        limits: Limits,  # noqa: ARG002 - all maintainers are made alike; without recursion there is nothing to limit
    ) -> None:
        (self._name,) = component.relations
        signatures = {name: function.signature for name, function in functions.items()}
        bodies = [Body(rule, relations, signatures) for rule in component.rules]
        relation = relations[self._name]
        self._view: View = Groups(relation, bodies) if component.aggregated else Tally(relation, component.rules)
        self._rules = [
            RuleDeltas(body, functions, stores, partial(self._view.taker, number)) for number, body in enumerate(bodies)
        ]

    def build(self) -> Mapping[str, Delta]:
        self._view.begin()
        for rule in self._rules:
            rule.build()
        return {self._name: self._view.change()}

    def apply(self, deltas: Mapping[str, Delta]) -> Mapping[str, Delta]:
        self._view.begin()
        changed = {name: delta for name, delta in deltas.items() if delta}
        for rule in self._rules:
            rule.apply(changed)
        delta = self._view.change()
        return {self._name: delta} if delta else {}

    def settle(self) -> None:
        self._view.settle()

    def undo(self) -> None:
        self._view.undo()

    def counts(self, relation: str) -> Mapping[Row, int]:
        if relation != self._name:
            raise KeyError(relation)
        return self._view.counts()
