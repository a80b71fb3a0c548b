"""How a component follows changes: which states it keeps, and its two ways, in the driver and on the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from pyspark.sql import DataFrame

from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.engine import reads
from whence.engines.local.store import Readable
from whence.engines.reference.fixpoint import Limits
from whence.engines.spark.counting import Outcome, PagedCounting, PagedGroups, PagedTally, PagedView, bodies_of
from whence.engines.spark.followed import Cluster, Derivation, Followed
from whence.engines.spark.payloads import totals_payload
from whence.engines.spark.recursive import RecursivePlan
from whence.engines.spark.registry import Changed, Registry, StateChange, readable
from whence.engines.spark.state import Counted
from whence.engines.spark.views import derive
from whence.model.schema import Column, Relation
from whence.model.updates import Delta


class ComponentPlan(Protocol):
    """`own` are the states that the component keeps, `states` those and the ones that it reads.

    Rows that are missing in memory make a try worthless; the states know which ones.
    """

    component: Component
    own: list[str]
    states: list[str]
    # Why every change goes to the cluster; None if it need not.
    refusal: str | None
    # The strategy, in words.
    kept_by: str

    def try_build(self) -> Followed:
        """The component from nothing, in the driver."""

    def try_change(self, inputs: Mapping[str, Delta]) -> Followed:
        """What follows when the relations it reads change like this, in the driver."""

    def follow(self, inputs: Mapping[str, Delta], cluster: Cluster) -> Followed | None:
        """The same on the cluster; None if the component is better derived anew."""

    def derive(self, frames: Mapping[str, DataFrame]) -> Derivation:
        """The component from nothing, on the cluster."""


def plan_for(
    component: Component,
    relations: Mapping[str, Relation],
    functions: Functions,
    registry: Registry,
    limits: Limits,
    maintenance: str,
) -> ComponentPlan:
    """Give a component its states, empty ones, and a plan to fill and keep them."""
    if component.recursive:
        return RecursivePlan(component, relations, functions, registry, limits, maintenance)
    return CountingPlan(component, relations, functions, registry)


class CountingPlan:
    refusal: str | None = None
    kept_by = "counting: every row carries the number of its derivations"

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        registry: Registry,
    ) -> None:
        self.component = component
        self._relations = relations
        self._functions = functions
        (self._name,) = component.relations
        relation = relations[self._name]
        self._members: dict[int, str] = {}
        self.own = [self._name]
        rows = registry.add_counted(self._name, relation)
        grouped = component.aggregated
        view: PagedView = self._grouped(relation, registry) if grouped else PagedTally(rows, component.rules)
        self.states = [*self.own, *reads(component)]
        self._counting = PagedCounting(component, relations, functions, _stores(component, relations, registry), view)

    def try_build(self) -> Followed:
        return self._followed(self._counting.build())

    def try_change(self, inputs: Mapping[str, Delta]) -> Followed:
        return self._followed(self._counting.apply(inputs))

    def follow(self, inputs: Mapping[str, Delta], cluster: Cluster) -> Followed | None:  # noqa: ARG002
        return None

    def derive(self, frames: Mapping[str, DataFrame]) -> Derivation:
        derived = derive(self.component, self._relations, self._functions, frames)
        states = {self._name: derived.frame}
        if derived.groups is not None:
            states[self._groups] = _positional(derived.groups)
        for number, members in derived.members.items():
            named = members.withColumnsRenamed({"value": f"k{self._width}", "copies": "n"})
            states[self._members[number]] = _positional(named)
        return Derivation(states, derived.shared)

    def _grouped(self, relation: Relation, registry: Registry) -> PagedView:
        bodies = bodies_of(self.component, self._relations, self._functions)
        positions = self.component.rules[0].aggregates
        keys = tuple(
            Column(f"k{number}", column.type, column.nullable)
            for number, column in enumerate(
                column for position, column in enumerate(relation.columns) if position not in positions
            )
        )
        self._width = len(keys)
        self._groups = f"{self._name}#groups"
        view = PagedGroups(relation, bodies)
        groups = registry.add_known(
            self._groups, Relation(self._groups, keys, distinct=True), totals_payload(view.folding)
        )
        self.own.append(self._groups)
        members: dict[int, Counted] = {}
        for number, kind in view.kept_values():
            name = self._members[number] = f"{self._name}#values{number}"
            columns = (*keys, Column(f"k{len(keys)}", kind, nullable=False))
            members[number] = registry.add_counted(name, Relation(name, columns))
            self.own.append(name)
        view.stand_on(groups, members)
        return view

    def _followed(self, outcome: Outcome) -> Followed:
        states: dict[str, StateChange] = {}
        if outcome.counts:
            states[self._name] = Changed(outcome.counts)
        if outcome.groups:
            states[self._groups] = Changed(outcome.groups)
        for number, delta in outcome.members.items():
            states[self._members[number]] = Changed(delta)
        return Followed({self._name: outcome.seen}, states)


def _stores(component: Component, relations: Mapping[str, Relation], registry: Registry) -> dict[str, Readable]:
    """What a component reads."""
    return {name: readable(registry[name], relations[name]) for name in reads(component)}


def _positional(frame: DataFrame) -> DataFrame:
    """With its key columns `k0`, `k1`, ... named as those of rows."""
    return frame.withColumnsRenamed({name: f"c{name[1:]}" for name in frame.columns if name[0] == "k"})
