"""A non-recursive component over pages: the delta rules of the local engine, with counts and groups on the cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame

from whence.analysis.components import Component
from whence.columns import NotInColumnsError
from whence.engines.spark.bodies import JoinStart
from whence.engines.spark.columnar.lookup import ColumnLookup
from whence.engines.spark.columnar.view_change import ColumnOutcome, ColumnRules, GroupStates
from whence.engines.spark.components import DerivedFrames, Effects, SparkComponent
from whence.engines.spark.frames import DriverDelta
from whence.engines.spark.group_values import MemberCopies, StoredCandidates, ValueOrder
from whence.engines.spark.payloads import Totals, TotalsPayload, fold_columns
from whence.engines.spark.registry import (
    Appended,
    ChangedColumns,
    ChangedState,
    FrameHome,
    Registry,
    RegistryStatistics,
    StateChange,
    readable,
)
from whence.engines.spark.state import AnnotatedRows, CountedRows
from whence.engines.spark.types import rows_from_arrow
from whence.engines.spark.views import derive
from whence.incremental.counting.counting import CountedView, RuleDeltas, Tally
from whence.incremental.counting.folds import ByValue, Collected, CopiesChange, Extreme, Fold, LinearFold, Values
from whence.incremental.counting.groups import BINDINGS, ROW, Change, Groups, State, can_be_negative
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
        self._orders = {
            number: ValueOrder(each.function, each.output)
            for number, each in enumerate(each for each in self._aggregates if each.fold is not None)
            if isinstance(each.fold, Extreme)
        }

    @property
    def folding(self) -> list[tuple[Fold, Type | None]]:
        """The folds, each with the type of what it adds up."""
        return [(each.fold, each.input) for each in self._aggregates if each.fold is not None]

    def kept_values(self) -> Iterator[tuple[int, Type]]:
        """The numbers of the folds that keep values, and the types of these."""
        for number, (fold, kind) in enumerate(self.folding):
            if isinstance(fold, ByValue | Collected | Extreme):
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
        self._stored.expect(keys)

    def _settled(self, key: Row) -> State | None:
        totals = self._stored.get(key)
        if totals is None:
            return None
        found = [*self._empty()]
        found[BINDINGS] = totals[0]
        for number, (at, fold) in enumerate(self._placed):
            parts = totals[1][number]
            match fold:
                case LinearFold():
                    found[at] = parts
                case ByValue():
                    _, kinds, count, total = parts
                    found[at] = Values(total, kinds, count, MemberCopies(self._members[number], key))
                case Collected():
                    found[at] = Values(None, copies=MemberCopies(self._members[number], key))
                case Extreme():
                    copies = MemberCopies(self._members[number], key)
                    found[at] = StoredCandidates(copies, self._orders[number], parts)
        found[ROW] = self._row(key, self._begin(tuple(found)))
        return tuple(found)

    def _collect_members(self, key: Row, change: Change, members: dict[int, dict[Row, int]]) -> None:
        for number, (at, fold) in enumerate(self._placed):
            if isinstance(fold, ByValue | Collected | Extreme):
                for value, copies in change[at].copies.items():
                    if copies:
                        members.setdefault(number, {})[(*key, value)] = copies

    def _totals(self, key: Row, change: Change) -> Totals | None:
        before = self._stored.get(key)
        found: list[tuple[Any, ...]] = []
        for number, (at, fold) in enumerate(self._placed):
            held = 0 if before is None else before[1][number][0]
            match fold:
                case LinearFold():
                    found.append(change[at])
                case ByValue():
                    found.append((held + _newly_held(change[at]), *fold.summary(change[at])))
                case Collected():
                    found.append((held + _newly_held(change[at]),))
                case Extreme():
                    found.append((held + _newly_held(change[at]), fold.result(change[at])))
        is_empty = not change[BINDINGS] and not any(parts[0] for parts in found)
        return None if key and is_empty else (change[BINDINGS], tuple(found))


def _newly_held(change: CopiesChange[Any]) -> int:
    """How many more values have copies than before."""
    copies = change.state.copies
    counts = [(copies.get(value, 0), difference) for value, difference in change.copies.items()]
    return sum(bool(before + difference) - bool(before) for before, difference in counts)


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
        return self._kept_columns(self._columns.follow(inputs, lookup), home)

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

    @cached_property
    def _columns(self) -> ColumnRules:
        grouped = None
        if isinstance(self._view, PagedGroups):
            grouped = GroupStates(self._groups, self._members, fold_columns(self._view.folding))
        statistics = RegistryStatistics(self._registry)
        return ColumnRules(self._relations[self._name], self.component.typed, self._functions, statistics, grouped)

    def _kept_columns(self, outcome: ColumnOutcome, home: FrameHome) -> Effects:
        """The outcome as changes of states: many rows go to storage as they are, few become rows."""
        effects = Effects()
        many = self._registry.paging.columns
        relation = self._relations[self._name]
        if outcome.seen.num_rows >= many:
            seen = DriverDelta(relation, outcome.seen, home.keep_table(self._name, outcome.seen))
            effects.seen[self._name] = seen
            if outcome.counts is outcome.seen:
                effects.states[self._name] = Appended(seen.frame, seen.rows, outcome.seen)
        elif outcome.seen.num_rows:
            rows = rows_from_arrow(outcome.seen, relation)
            effects.seen[self._name] = dict(zip(rows, outcome.seen.column("n").to_pylist(), strict=True))
        tables = {self._name: outcome.counts}
        tables |= {self._members[number]: table for number, table in outcome.members.items()}
        for name, table in tables.items():
            if table.num_rows and name not in effects.states:
                effects.states[name] = self._counted_change(name, table, home)
        if outcome.groups is not None and outcome.groups.num_rows:
            effects.states[self._groups] = (
                ChangedColumns(outcome.groups)
                if outcome.groups.num_rows >= many
                else ChangedState(dict(self._registry.codec(self._groups).decode_log(outcome.groups)))
            )
        return effects

    def _counted_change(self, name: str, table: pa.Table, home: FrameHome) -> StateChange:
        if table.num_rows >= self._registry.paging.columns:
            return Appended(home.keep_table(name, table), table.num_rows, table)
        rows = rows_from_arrow(table, self._registry[name].relation)
        return ChangedState(dict(zip(rows, table.column("n").to_pylist(), strict=True)))

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
