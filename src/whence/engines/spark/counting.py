"""A non-recursive component over pages: the delta rules of the local engine, with counts and groups on the cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from pyspark.sql import DataFrame

from whence.analysis.components import Component
from whence.engines.spark.bodies import JoinStart
from whence.engines.spark.components import DerivedFrames, Effects, SparkComponent
from whence.engines.spark.payloads import Totals, totals_payload
from whence.engines.spark.registry import ChangedState, Registry, RegistryStatistics, StateChange, readable
from whence.engines.spark.state import AnnotatedRows, CountedRows
from whence.engines.spark.views import derive
from whence.incremental.counting.counting import CountedView, RuleDeltas, Tally
from whence.incremental.counting.folds import ByValue, Extreme, Fold, LinearFold
from whence.incremental.counting.groups import BINDINGS, ROW, Change, Groups, State
from whence.incremental.store import Key
from whence.model.program import Functions
from whence.model.rules import Rule
from whence.model.schema import Column, Relation
from whence.model.types import Row, Type
from whence.model.updates import Delta


@dataclass(frozen=True, slots=True)
class ViewOutcome:
    """What a change does to a view: the rows that readers see come and go, and what changes in its state.

    `counts` are those of its rows, `groups` and `members` those of its groups and of their values.
    """

    seen: Delta
    counts: Delta
    groups: Mapping[Row, Totals | None] = field(default_factory=dict)
    members: Mapping[int, Delta] = field(default_factory=dict)


class PagedView(CountedView, Protocol):
    def outcome(self) -> ViewOutcome: ...


class PagedTally(Tally):
    """The rows of a view without aggregates, with the number of derivations of each."""

    def __init__(self, state: CountedRows, rules: Sequence[Rule]) -> None:
        super().__init__(state.relation, rules)
        self._state = state

    def _settled(self) -> Mapping[Row, int]:
        return self._state.counts

    def outcome(self) -> ViewOutcome:
        seen = self.change()
        return ViewOutcome(seen, self._pending)


class PagedGroups(Groups):
    """The groups of a view with aggregates."""

    def stand_on(self, groups: AnnotatedRows[Totals], members: Mapping[int, CountedRows]) -> None:
        """Where the groups are, and the values of each as far as a fold keeps them."""
        self._stored = groups
        self._members = members

    @property
    def folding(self) -> list[tuple[Fold, Type | None]]:
        """The folds, each with the type of what it adds up."""
        return [(each.fold, each.input) for each in self._aggregates if each.fold is not None]

    def kept_values(self) -> Iterator[tuple[int, Type]]:
        """The numbers of the folds that keep values, and the types of these."""
        for number, (fold, kind) in enumerate(self.folding):
            if isinstance(fold, ByValue | Extreme):
                assert kind is not None, "only count<*> has no argument, and it is no fold"
                yield number, kind

    def outcome(self) -> ViewOutcome:
        seen = self.change()
        groups: dict[Row, Totals | None] = {}
        members: dict[int, dict[Row, int]] = {}
        for key, change in self._changes.items():
            self._collect_members(key, change, members)
            groups[key] = self._totals(key, change)
        return ViewOutcome(seen, seen, groups, {number: delta for number, delta in members.items() if delta})

    def _expect(self, keys: Collection[Row]) -> None:
        bare: list[Key] = [key[0] if len(key) == 1 else key for key in keys]
        positions = tuple(range(self._stored.relation.arity))
        self._stored.base.expect(positions, bare)
        for members in self._members.values():
            members.base.expect(positions, bare)

    def _settled(self, key: Row) -> State | None:
        totals = self._stored.get(key)
        positions = tuple(range(len(key)))
        bare = key[0] if len(key) == 1 else key
        # All of it is asked for before anything is missed.
        values = {number: members.matching(positions, bare) for number, members in self._members.items()}
        if totals is None:
            return None
        found = [*self._empty()]
        found[BINDINGS] = totals[0]
        linear = iter(totals[1])
        for number, (at, fold) in enumerate(self._placed):
            if isinstance(fold, LinearFold):
                found[at] = next(linear)
            else:
                kept = values[number]
                change = fold.begin(found[at])
                fold.add(change, [row[-1] for row in kept], list(kept.values()), range(len(kept)))
                found[at] = fold.settle(change)
        found[ROW] = self._row(key, self._begin(tuple(found)))
        return tuple(found)

    def _collect_members(self, key: Row, change: Change, members: dict[int, dict[Row, int]]) -> None:
        for number, (at, fold) in enumerate(self._placed):
            if isinstance(fold, ByValue | Extreme):
                for value, copies in change[at].copies.items():
                    if copies:
                        members.setdefault(number, {})[(*key, value)] = copies

    def _totals(self, key: Row, change: Change) -> Totals | None:
        linear = []
        is_empty = not change[BINDINGS]
        for at, fold in self._placed:
            if isinstance(fold, LinearFold):
                linear.append(change[at])
                is_empty = is_empty and fold.is_empty(change[at])
            else:
                is_empty = is_empty and not _remaining(change[at].state.copies, change[at].copies)
        return None if key and is_empty else (change[BINDINGS], tuple(linear))


def _remaining(copies: Mapping[Any, int], change: Mapping[Any, int]) -> bool:
    return any(count + change.get(value, 0) for value, count in copies.items()) or any(
        count for value, count in change.items() if value not in copies
    )


class CountingPlan(SparkComponent):
    """One relation and its rules. A try that misses rows changes nothing, and is made again when they are there."""

    kept_by = "counting: every row carries the number of its derivations"

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        registry: Registry,
    ) -> None:
        super().__init__(component, relations, functions)
        self._registry = registry
        (self._name,) = component.relations
        relation = relations[self._name]
        self._members: dict[int, str] = {}
        self.own = [self._name]
        rows = registry.add_counted(self._name, relation)
        self._view: PagedView = (
            self._grouped(relation, registry) if component.aggregated else PagedTally(rows, component.rules)
        )
        self.states = [*self.own, *component.reads]
        stores = {name: readable(registry[name], relations[name]) for name in component.reads}
        self._rules = [
            RuleDeltas(rule, functions, stores, partial(self._view.taker, number))
            for number, rule in enumerate(component.typed)
        ]

    def try_build(self) -> Effects:
        self._view.begin()
        for rule in self._rules:
            rule.build()
        return self._followed(self._view.outcome())

    def try_change(self, inputs: Mapping[str, Delta]) -> Effects:
        self._view.begin()
        for rule in self._rules:
            rule.apply(inputs)
        return self._followed(self._view.outcome())

    def derive(self, frames: Mapping[str, DataFrame]) -> DerivedFrames:
        start = JoinStart(statistics=RegistryStatistics(self._registry))
        derived = derive(self.component, self._relations, self._functions, frames, lambda _: start)
        states = {self._name: derived.frame}
        if derived.groups is not None:
            states[self._groups] = _positional(derived.groups)
        for number, members in derived.members.items():
            named = members.withColumnsRenamed({"value": f"k{self._width}", "copies": "n"})
            states[self._members[number]] = _positional(named)
        return DerivedFrames(states, derived.shared)

    def _grouped(self, relation: Relation, registry: Registry) -> PagedView:
        positions = self.component.rules[0].aggregates
        keys = tuple(
            Column(f"k{number}", column.type, column.nullable)
            for number, column in enumerate(
                column for position, column in enumerate(relation.columns) if position not in positions
            )
        )
        self._width = len(keys)
        self._groups = f"{self._name}#groups"
        view = PagedGroups(relation, self.component.typed)
        groups = registry.add_known(
            self._groups, Relation(self._groups, keys, distinct=True), totals_payload(view.folding)
        )
        self.own.append(self._groups)
        members: dict[int, CountedRows] = {}
        for number, kind in view.kept_values():
            name = self._members[number] = f"{self._name}#values{number}"
            columns = (*keys, Column(f"k{len(keys)}", kind, nullable=False))
            members[number] = registry.add_counted(name, Relation(name, columns))
            self.own.append(name)
        view.stand_on(groups, members)
        return view

    def _followed(self, outcome: ViewOutcome) -> Effects:
        states: dict[str, StateChange] = {}
        if outcome.counts:
            states[self._name] = ChangedState(outcome.counts)
        if outcome.groups:
            states[self._groups] = ChangedState(outcome.groups)
        for number, delta in outcome.members.items():
            states[self._members[number]] = ChangedState(delta)
        return Effects({self._name: outcome.seen}, states)


def _positional(frame: DataFrame) -> DataFrame:
    """With its key columns `k0`, `k1`, ... named as those of rows."""
    return frame.withColumnsRenamed({name: f"c{name[1:]}" for name in frame.columns if name[0] == "k"})
