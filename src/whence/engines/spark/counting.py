"""A non-recursive component: the delta rules of the local engine, with counts and groups on the cluster.

A small change is followed in the driver over pages, a larger one there over columns. Beyond that the delta rules are
joins of frames, or the view is derived again.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial

from pyspark.sql import DataFrame

from whence.analysis.components import Component
from whence.columns import NotInColumnsError
from whence.engines.spark.bodies import JoinStart
from whence.engines.spark.columnar.lookup import ColumnLookup
from whence.engines.spark.columnar.view_change import ColumnRules, GroupStates
from whence.engines.spark.components import Cluster, DerivedFrames, Effects, SparkComponent
from whence.engines.spark.errors import evaluation_errors
from whence.engines.spark.group_frames import GroupFrames
from whence.engines.spark.paged_views import PagedGroups, PagedTally, PagedView, ViewOutcome
from whence.engines.spark.payloads import TotalsPayload, fold_columns
from whence.engines.spark.registry import Registry, RegistryStatistics, readable
from whence.engines.spark.rule_deltas import ChangedReads, rule_deltas
from whence.engines.spark.state import CountedRows
from whence.engines.spark.state_changes import ChangedState, FrameHome, StateChange
from whence.engines.spark.view_deltas import ChangedView, Checkpoints, GroupedState, changed_groups, changed_rows
from whence.engines.spark.view_states import ViewStates
from whence.engines.spark.views import derive, tallied
from whence.errors import EvaluationError
from whence.incremental.counting.counting import RuleDeltas
from whence.incremental.counting.groups import can_be_negative
from whence.model.program import Functions
from whence.model.rules import Negation
from whence.model.schema import Column, Relation
from whence.model.updates import Delta


class CountingPlan(SparkComponent):
    """One relation and its rules. A try that misses rows changes nothing, and is made again when they are there."""

    kept_by = "counting: every row carries the number of its derivations"
    takes_summands = True

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
        self._is_signed = any(can_be_negative(rule, registry.owing) for rule in component.typed)
        if self._is_signed and not relation.distinct:
            registry.owing.add(self._name)
        self._view: PagedView = (
            self._grouped(relation, registry) if component.aggregated else PagedTally(rows, component.rules)
        )
        self._kept = ViewStates(relation, self._groups if component.aggregated else None, self._members)
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

    def try_columns(self, inputs: Mapping[str, Delta], lookup: ColumnLookup, home: FrameHome) -> Effects:
        if self.component.aggregated and self._is_signed:
            raise NotInColumnsError("an aggregate of rows whose count may be negative")
        return self._kept.of_columns(self._columns.follow(inputs, lookup), self._registry, home)

    def follow(self, inputs: Mapping[str, Delta], cluster: Cluster) -> Effects | None:
        reads = ChangedReads(inputs, cluster)
        if not reads.are_worth_following(self.component.typed):
            return None
        if self._negates_owing():
            cluster.work.reason = "it negates a relation that may have rows with a count below zero"
            return None
        keep = Checkpoints()
        try:
            with evaluation_errors():
                effects = self._kept.of_frames(self._changed(reads, cluster.registry, keep), cluster)
        except EvaluationError:
            # A row that comes may meet one that goes, for which a rule has no value.
            cluster.work.reason = "its rules fail for rows that are not there together"
            return None
        finally:
            keep.release()
        cluster.work.by_rules = True
        return effects

    def derive(self, frames: Mapping[str, DataFrame]) -> DerivedFrames:
        start = JoinStart(statistics=RegistryStatistics(self._registry))
        derived = derive(
            self.component, self._relations, self._functions, frames, lambda _: start, self._registry.owing
        )
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
        view = PagedGroups(relation, self.component.typed, registry.owing)
        payload = TotalsPayload(fold_columns(view.folding))
        groups = registry.add_known(self._groups, Relation(self._groups, keys, distinct=True), payload)
        self.own.append(self._groups)
        members: dict[int, CountedRows] = {}
        for number, kind in view.kept_values():
            name = self._members[number] = f"{self._name}#values{number}"
            columns = (*keys, Column(f"k{len(keys)}", kind, nullable=False))
            members[number] = registry.add_counted(name, Relation(name, columns))
            self.own.append(name)
        view.stand_on(groups, members)
        return view

    def _negates_owing(self) -> bool:
        """Whether a row that comes or goes may be no sign that it is there afterwards, or was before."""
        literals = (literal for rule in self.component.rules for literal in rule.body)
        return any(isinstance(each, Negation) and each.atom.relation in self._registry.owing for each in literals)

    def _changed(self, reads: ChangedReads, registry: Registry, keep: Checkpoints) -> ChangedView:
        relation, rules = self._relations[self._name], self.component.typed
        found = [
            each for number, rule in enumerate(rules) for each in rule_deltas(number, rule, reads, self._functions)
        ]
        if not self.component.aggregated:
            return changed_rows(relation, tallied(relation, rules, found), registry.added(self._name), keep)
        groups = GroupFrames(relation, rules, self._registry.owing, is_change=True)
        keys = {f"c{at}": key for at, key in enumerate(groups.keys)}
        value = {f"c{self._width}": "value", "n": "copies"}
        state = GroupedState(
            groups.with_keys(registry.added(self._name)),
            registry.frame(self._groups).withColumnsRenamed(keys),
            {number: registry.added(name).withColumnsRenamed(keys | value) for number, name in self._members.items()},
        )
        return changed_groups(relation, groups, found, state, keep)

    @cached_property
    def _columns(self) -> ColumnRules:
        grouped = None
        if isinstance(self._view, PagedGroups):
            grouped = GroupStates(self._groups, self._members, fold_columns(self._view.folding))
        statistics = RegistryStatistics(self._registry)
        relation, derived = self._relations[self._name], self._registry.derived
        return ColumnRules(relation, self.component.typed, self._functions, statistics, grouped, derived)

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
