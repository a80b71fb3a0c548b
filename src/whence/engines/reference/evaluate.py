"""A program evaluated naively, component by component.

A recursive component is R := T(R) from empty, until nothing changes: each round computes all its relations from those
of the round before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from whence.analysis.analyze import Analysis
from whence.analysis.components import Component
from whence.analysis.limits import (
    DEFAULT_LIMITS,
    MAX_LEVELS,
    RecursionLimits,
    is_bag_recursion,
    makes_values,
    too_deep,
    too_many_levels,
)
from whence.analysis.typed_rules import typed_rule
from whence.engines.reference.array_elements import unnested
from whence.engines.reference.body import EMPTY, Table
from whence.engines.reference.view import Matches, View, ViewRule
from whence.engines.reference.windows import WindowView
from whence.errors import ConvergenceError, shown
from whence.model.program import Functions
from whence.model.rules import Rule
from whence.model.types import Row


def fixpoint(views: Sequence[View], below: Mapping[str, Table], limits: RecursionLimits) -> dict[str, Table]:
    limited = any(makes_values(rule.rule) for view in views for rule in view.rules)
    tables = {view.name: EMPTY for view in views}
    rounds = 0
    while True:
        around = {**below, **tables}
        if limited:
            matches = Matches(limits.matches_for(sum(len(table.counts) for table in tables.values())))
            following = {view.name: Table(view.counts(around, limits.rows, matches)) for view in views}
        else:
            following = {view.name: Table(view.counts(around)) for view in views}
        changed = [view for view in views if following[view.name].counts != tables[view.name].counts]
        if not changed:
            return tables
        if limited and rounds >= limits.rounds:
            raise _endless(changed, around, following, rounds)
        tables = following
        rounds += 1


def _all_levels(view: View, below: Mapping[str, Table]) -> Table:
    """A bag of levels: each from the one before it, until one is empty."""
    level = Table({})
    whole: dict[Row, int] = {}
    for number in range(MAX_LEVELS + 1):
        found = view.counts({**below, view.name: level})
        rows = {row: count for row, count in found.items() if row[0] == number}
        if not rows:
            return Table(whole)
        whole.update(rows)
        level = Table(rows)
    raise too_many_levels(view.rules[-1].rule)


def _endless(
    changed: Sequence[View], before: Mapping[str, Table], after: Mapping[str, Table], rounds: int
) -> ConvergenceError:
    """The error that names the rules whose rows were still new in the last round."""
    guilty: list[tuple[View, Rule, list[str]]] = []
    for view in changed:
        fresh = {row for row in after[view.name].counts if row not in before[view.name].counts}
        producing = [each for each in view.rules if not fresh.isdisjoint(View(view.relation, [each]).counts(before))]
        # Where rules aggregate several values together, none of them may produce a row alone.
        guilty += [(view, each.rule, _example(fresh)) for each in producing or view.rules]
    _, rule, example = guilty[0]
    return too_deep(
        rule,
        example,
        rounds,
        improves=any(view.folds for view in changed),
        related=[("this rule keeps producing new rows too", other.span) for _, other, _ in guilty[1:]],
    )


def _example(rows: Collection[Row]) -> list[str]:
    """The same one of these rows every time, as text: the shortest to write, and of those the first."""
    return min(([shown(value) for value in row] for row in rows), key=lambda row: [*map(len, row), *row], default=[])


NO_FUNCTIONS: Functions = MappingProxyType({})


def evaluate(
    analysis: Analysis,
    base: Mapping[str, Mapping[Row, int]],
    functions: Functions = NO_FUNCTIONS,
    limits: RecursionLimits = DEFAULT_LIMITS,
) -> dict[str, Mapping[Row, int]]:
    """The counts of every relation. Base tables that are not given are empty."""
    evaluator = Evaluator(analysis, functions, limits)
    tables = {name: Table(base.get(name, {})) for name in analysis.relations}
    for component in evaluator.derived:
        tables.update(evaluator.component(component, tables))
    return {name: table.counts for name, table in tables.items()}


class Evaluator:
    """A program's rules, each made ready when it is first needed and evaluated as often as needed."""

    def __init__(self, analysis: Analysis, functions: Functions, limits: RecursionLimits) -> None:
        self.limits = limits
        # A component without rules is a base table.
        self.derived = [component for component in analysis.components if component.rules]
        self._relations = analysis.relations
        self._functions = functions
        self._views: dict[tuple[str, ...], list[View]] = {}

    def component(self, component: Component, tables: Mapping[str, Table]) -> dict[str, Table]:
        """The component's relations over those below it."""
        if component.windowed:
            window = self._windowed(component)
            return {window.name: Table(window.counts(tables))}
        if component.unnested:
            return {component.relations[0]: Table(unnested(component.rules[0], tables))}
        views = self._views.get(component.relations)
        if views is None:
            views = self._views[component.relations] = self._made(component)
        if is_bag_recursion(component, self._relations):
            (view,) = views
            return {view.name: _all_levels(view, tables)}
        if component.recursive:
            return fixpoint(views, tables, self.limits)
        return {view.name: Table(view.counts(tables)) for view in views}

    def _windowed(self, component: Component) -> WindowView:
        signatures = {name: function.signature for name, function in self._functions.items()}
        (rule,) = component.rules
        return WindowView(self._relations[rule.head.relation], typed_rule(rule, self._relations, signatures))

    def _made(self, component: Component) -> list[View]:
        # Its own: what is judged here may share no plan, and no mistake, with the judge.
        signatures = {name: function.signature for name, function in self._functions.items()}
        rules: dict[str, list[ViewRule]] = {}
        for rule in component.rules:
            ready = ViewRule(typed_rule(rule, self._relations, signatures), self._functions)
            rules.setdefault(rule.head.relation, []).append(ready)
        return [View(self._relations[name], of_view) for name, of_view in rules.items()]
