"""From one program to another: for every component what becomes of it, with a plan over old and new contents.

Components go on where they are the same and read what is kept under the same columns: they follow the changes of what
they read. Views that are sums are derived by the cheapest plan that is found. All others are rebuilt, and what reads
them is.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeAlias

from whence.analysis.analyze import Analysis
from whence.analysis.components import Component
from whence.model.rules import Atom, Rule
from whence.model.schema import Relation, has_same_values, relation_named
from whence.model.terms import Variable
from whence.planning.statistics import Statistics
from whence.rewriting import states
from whence.rewriting.conjunction import Conjunction, conjunction
from whence.rewriting.costs import PlanCosts
from whence.rewriting.fold import ViewFolds
from whence.rewriting.old_views import Leaves, OldViews
from whence.rewriting.search import DEFAULT_SEARCH, FoundPlan, SearchLimits, cheapest_plan
from whence.rewriting.signed_union import NOTHING, SignedUnion
from whence.rewriting.state_statistics import StateStatistics
from whence.rewriting.telescope import telescoped
from whence.rewriting.unfold import unfold
from whence.rewriting.view_sums import is_plain, is_readable_as_sum, is_sum, sum_of

# Why a view is computed again from adapted input.
AGGREGATED = "it has aggregates"


class Outcome(Enum):
    """What a relation of the new program is to the old one."""

    SAME = "same"
    CHANGED = "changed"  # under the same columns, so that there is a difference
    OTHER = "other"  # new, or with other columns
    REBUILT = "rebuilt"  # not there before everything else is


@dataclass(frozen=True, slots=True)
class Kept:
    """It goes on, and follows the changes of what it reads."""

    component: Component


@dataclass(frozen=True, slots=True)
class Derived:
    """Its rows are what the `rules` give, signs and all, over states of relations; with `keeps_rows` beside those that
    are there.
    """

    component: Component
    rules: tuple[Rule, ...]
    found: FoundPlan
    keeps_rows: bool
    # Whether it has the columns that it had, so that it changes.
    is_change: bool
    # The views, by state, that the plan reads as they are before the step.
    old_views: frozenset[str] = frozenset()
    # What it took to plan it, of this thread.
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Refolded:
    """Its groups are folded again over adapted input. It has the columns that it had, and those above see it change."""

    component: Component
    reason: str


@dataclass(frozen=True, slots=True)
class Rebuilt:
    component: Component
    reason: str


Step: TypeAlias = Kept | Derived | Refolded | Rebuilt


@dataclass(frozen=True, slots=True)
class Adaptation:
    """What becomes of the components that are not simply as before, in the order of their dependencies.

    `relations` has all states of relations that plans read. `cost` and `from_scratch` are estimates of what the plans
    look at and write, in rows, and of what it would be without old contents.
    """

    steps: tuple[Step, ...] = ()
    relations: Mapping[str, Relation] = field(default_factory=dict)
    cost: float = 0.0
    from_scratch: float = 0.0

    @property
    def kept(self) -> frozenset[str]:
        """The relations of components that go on."""
        return frozenset(name for step in self.steps if isinstance(step, Kept) for name in step.component.relations)


def planned_steps(adaptation: Adaptation | None) -> dict[tuple[str, ...], Derived | Refolded]:
    """Of views that are computed while changes go through the others, by the relations of their components."""
    steps = () if adaptation is None else adaptation.steps
    return {step.component.relations: step for step in steps if isinstance(step, Derived | Refolded)}


def is_change(step: Derived | Refolded) -> bool:
    """Whether its view has the columns that it had, so that it changes."""
    return isinstance(step, Refolded) or step.is_change


@dataclass(frozen=True, slots=True)
class TableChanges:
    """What comes with new definitions: how many rows of each table change, and of tables that get other columns what
    they hold, as a sum over old contents.
    """

    rows: Mapping[str, int] = field(default_factory=dict)
    altered: Mapping[str, SignedUnion] = field(default_factory=dict)


def adaptation(
    before: Analysis,
    after: Analysis,
    statistics: Statistics,
    tables: TableChanges,
    changed_functions: Collection[str] = (),
    limits: SearchLimits = DEFAULT_SEARCH,
    seconds_per_row: float = 0.0,
    plan_costs: type[PlanCosts] = PlanCosts,
) -> Adaptation:
    """The steps from one program to the other. `seconds_per_row` is what looking at a row takes, for the budget."""
    if any(map(states.is_ambiguous, {**before.relations, **after.relations})):
        rebuilt = (Rebuilt(each, "a relation is called like a state of another") for each in after.components)
        return Adaptation(tuple(each for each in rebuilt if each.component.rules))
    planning = _Planning(before, after, statistics, tables, limits, seconds_per_row, plan_costs)
    steps = tuple(
        step for component in after.components if (step := planning.step(component, changed_functions)) is not None
    )
    found = [step.found for step in steps if isinstance(step, Derived)]
    return Adaptation(
        steps, planning.relations, sum(each.cost for each in found), sum(each.from_scratch for each in found)
    )


class _Planning:
    """What is known so far of the new program, component by component."""

    def __init__(
        self,
        before: Analysis,
        after: Analysis,
        statistics: Statistics,
        tables: TableChanges,
        limits: SearchLimits,
        seconds_per_row: float,
        plan_costs: type[PlanCosts],
    ) -> None:
        self._before, self._after = before, after
        self._tables = tables
        self._limits, self._seconds_per_row, self._plan_costs = limits, seconds_per_row, plan_costs
        self._former = {component.relations: component for component in before.components}
        self._outcomes: dict[str, Outcome] = {}
        # States of relations: their columns, how many rows they have, and those that are sets.
        self.relations: dict[str, Relation] = {}
        self._sets: set[str] = set()
        self._statistics = StateStatistics(statistics)
        # Views by state, with what they are the sum of: for unfolding, and unfolded for folding.
        self._definitions: dict[str, SignedUnion] = {}
        self._folds = ViewFolds(self._sets)
        self._old = OldViews(before, self._sets, self._definitions, self._folds)
        self._leaves = Leaves(after)
        self._unfolded_queries: dict[SignedUnion, SignedUnion] = {}
        self._old_states: set[str] = set()
        for component in before.components:
            self._add_old(component)

    def _add_state(self, state: str, relation: Relation, rows: float | None = None, *, is_set: bool) -> None:
        is_bag = not is_set
        self.relations[state] = replace(relation, name=state, distinct=is_set, key=() if is_bag else relation.key)
        if is_set:
            self._sets.add(state)
        if rows is not None:
            self._statistics.rows[state] = rows

    def _add_old(self, component: Component) -> None:
        relations = self._before.relations
        for name in component.relations:
            self._add_state(name, relations[name], is_set=relations[name].distinct)
            if self._old.is_counted(name):
                self._add_state(self._old.state(name), relations[name], is_set=self._old.is_set(name))
        if component.rules:
            self._old_states.update(component.relations, map(states.derivations, component.relations))

    def state(self, name: str) -> str:
        """What a relation of the new program is called in plans."""
        return name if self._outcomes[name] is Outcome.SAME else states.after(name)

    def step(self, component: Component, changed_functions: Collection[str]) -> Step | None:
        if not component.rules:
            self._add_table(component.relations[0])
            return None
        reads = {name: self._outcomes[name] for name in component.reads}
        late = next((name for name, outcome in reads.items() if outcome is Outcome.REBUILT), None)
        former = self._former.get(component.relations)
        calls_changed = not component.calls.isdisjoint(changed_functions)
        if former is not None and not calls_changed and self._is_same(component, former):
            if all(outcome is Outcome.SAME for outcome in reads.values()):
                self._outcomes.update(dict.fromkeys(component.relations, Outcome.SAME))
                return None
            if all(outcome in (Outcome.SAME, Outcome.CHANGED) for outcome in reads.values()):
                for name in component.relations:
                    self._add_changed(name, self._followed(component))
                self._add_new(component)
                return Kept(component)
        reason = self._why_rebuilt(component, late, calls_changed=calls_changed)
        if reason == AGGREGATED and not calls_changed and former is not None and self._is_refolded(component, former):
            (name,) = component.relations
            self._add_changed(name, self._statistics.size(name))
            return Refolded(component, reason)
        if reason is not None:
            self._outcomes.update(dict.fromkeys(component.relations, Outcome.REBUILT))
            return Rebuilt(component, reason)
        return self._derived(component)

    def _why_rebuilt(self, component: Component, late: str | None, *, calls_changed: bool) -> str | None:
        if late is not None:
            return f"it reads {relation_named(late)}, which is rebuilt"
        if component.recursive:
            return "it is recursive"
        if component.aggregated:
            return AGGREGATED
        if component.windowed:
            return "it has window functions"
        if component.unnested:
            return "it takes arrays apart"
        if calls_changed:
            return "it calls a function that is another one now"
        return None

    def _is_refolded(self, component: Component, former: Component) -> bool:
        """Whether the groups of an aggregate are told apart by the same columns as before, of those that it had."""
        is_folded = bool(former.aggregated) and not former.recursive and not former.windowed and not former.unnested
        return (
            is_folded
            and set(component.rules[0].aggregates) == set(former.rules[0].aggregates)
            and self._has_same_columns(component.relations[0])
        )

    def _is_same(self, component: Component, former: Component) -> bool:
        names = (*component.relations, *component.reads)
        return former.rules == component.rules and all(
            self._after.relations[name] == self._before.relations.get(name) for name in names
        )

    def _has_same_columns(self, name: str) -> bool:
        old, new = self._before.relations.get(name), self._after.relations[name]
        return old is not None and old.distinct == new.distinct and has_same_values(old, new)

    def _add_table(self, name: str) -> None:
        relation = self._after.relations[name]
        was_table = (name,) in self._former and not self._former[name,].rules
        rows = self._tables.rows.get(name, 0)
        if was_table and self._before.relations[name].columns == relation.columns:
            if rows:
                self._add_changed(name, rows)
            else:
                self._outcomes[name] = Outcome.SAME
            return
        self._outcomes[name] = Outcome.OTHER
        self._add_state(states.after(name), relation, rows, is_set=relation.distinct)
        self._statistics.begin(states.after(name), len(relation.columns))
        if name in self._tables.altered:
            total = self._tables.altered[name]
            self._statistics.learn_values(states.after(name), total)
            self._definitions[states.after(name)] = total
            self._folds.add(states.after(name), unfold(total, self._definitions, self._sets))

    def _add_changed(self, name: str, rows: float) -> None:
        """A relation that keeps its columns, and of which about so many rows change."""
        relation = self._after.relations[name]
        self._outcomes[name] = Outcome.CHANGED
        new, delta = states.after(name), states.change(name)
        self._add_state(new, relation, self._statistics.size(name) + rows, is_set=relation.distinct)
        self._add_state(delta, relation, rows, is_set=False)
        self._folds.add(new, _copied(name, relation) + _copied(delta, relation))

    def _add_new(self, component: Component) -> None:
        """A view as it will be can be read by those above it, and unfolded."""
        if is_sum(component) and is_plain(component) and is_readable_as_sum(component, self._after.relations):
            (name,) = component.relations
            if self._outcomes[name] is not Outcome.SAME:
                total = self._definitions[states.after(name)] = sum_of(component, self.state, self._sets)
                self._folds.add(states.after(name), self._unfolded(total))

    def _followed(self, component: Component) -> float:
        """How many rows of a view change, about: as large a part as of what it reads."""
        part = 0.0
        for name in component.reads:
            if self._outcomes[name] is Outcome.CHANGED:
                part += self._statistics.size(states.change(name)) / max(1, self._statistics.size(name))
        return max(1.0, min(1.0, part) * max(map(self._statistics.size, component.relations)))

    def _derived(self, component: Component) -> Derived:
        started = time.thread_time()
        (name,) = component.relations
        relation = self._after.relations[name]
        self._old.prepare(self._leaves.of_all(component.reads))
        query = sum_of(component, self.state, self._sets)
        former = self._former.get((name,))
        is_change = former is not None and is_sum(former) and self._has_same_columns(name)
        kept = self._kept_rows(name) if is_change else None
        there = float(self._statistics.size(name)) if is_change else 0.0
        fresh = {states.after(each) for each, out in self._outcomes.items() if out is Outcome.OTHER}
        costs = self._plan_costs(self.relations, self._statistics, there, fresh)
        found = self._cheapest(query, is_plain(component), costs, kept, started)
        rows = sum(costs.join(each).rows for each, _ in found.plan if each is not kept)
        if is_change:
            self._add_changed(name, rows)
        else:
            self._outcomes[name] = Outcome.OTHER
            self._add_state(states.after(name), relation, rows, is_set=relation.distinct)
            self._statistics.learn_values(states.after(name), found.plan)
        self._add_new(component)
        keeps_rows = kept is not None and found.plan.terms.get(kept) == 1
        plan = found.plan - SignedUnion({kept: 1}) if kept is not None and keeps_rows else found.plan
        old_views = frozenset(each for each in found.plan.relations if each in self._old_states)
        rules = tuple(plan.weighted_rules(states.after(name)))
        seconds = time.thread_time() - started
        return Derived(component, rules, found, keeps_rows, is_change, old_views, seconds)

    @property
    def _changed(self) -> Mapping[str, str]:
        """The relations that a change leads from, by the name of their state afterwards."""
        return {states.after(name): name for name, out in self._outcomes.items() if out is Outcome.CHANGED}

    def _unfolded(self, query: SignedUnion) -> SignedUnion:
        """Over what relations were and how they change."""
        if query not in self._unfolded_queries:
            unfolded = unfold(query, self._definitions, self._sets)
            self._unfolded_queries[query] = telescoped(unfolded, self._changed, self._sets)
        return self._unfolded_queries[query]

    def _kept_rows(self, name: str) -> Conjunction | None:
        """The plan that a view stays as it was, if plans can read how often its rows were derived."""
        if not self._old.is_counted(name):
            return None
        terms = _columns(self._before.relations[name])
        return conjunction(terms, [Atom(self._old.state(name), terms)], self._sets)

    def _cheapest(
        self, query: SignedUnion, is_plain_query: bool, costs: PlanCosts, kept: Conjunction | None, started: float
    ) -> FoundPlan:
        def cost(plan: SignedUnion) -> float:
            return costs.of(plan, kept)

        from_scratch = cost(query)
        if not is_plain_query:
            return FoundPlan(query, from_scratch, from_scratch, 0, is_out_of_time=False)
        unfolded = self._unfolded(query)
        others = [telescoped(query, self._changed, self._sets), unfolded]
        if kept is not None:
            # What there is and the difference, which is what a fold of the whole view comes to.
            difference = unfolded - self._old.unfolded(states.relation_of(kept.atoms[0].relation))
            others.append(SignedUnion({kept: 1}) + difference)
            if not difference:
                # It is what it was, and nothing has to be searched for.
                return FoundPlan(others[-1], 0.0, from_scratch, 0, is_out_of_time=False)
        return cheapest_plan(query, others, self._folds, cost, self._seconds_per_row, self._limits, started)


def _columns(relation: Relation) -> tuple[Variable, ...]:
    return tuple(map(Variable, relation.column_names))


def _copied(state: str, relation: Relation) -> SignedUnion:
    terms = _columns(relation)
    made = conjunction(terms, [Atom(state, terms)])
    return NOTHING if made is None else SignedUnion({made: 1})
