"""A whole program over given base tables: the components in order, the recursive ones to their fixpoint."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from whence.analysis.analyze import Analysis
from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.reference.fixpoint import DEFAULT_LIMITS, Limits, fixpoint
from whence.engines.reference.tables import Table
from whence.engines.reference.view import View, ViewRule
from whence.model.types import Row

NO_FUNCTIONS: Functions = MappingProxyType({})


def evaluate(
    analysis: Analysis,
    base: Mapping[str, Mapping[Row, int]],
    functions: Functions = NO_FUNCTIONS,
    limits: Limits = DEFAULT_LIMITS,
) -> dict[str, Mapping[Row, int]]:
    """The counts of every relation. Base tables that are not given are empty."""
    evaluator = Evaluator(analysis, functions, limits)
    tables = {name: Table(base.get(name, {})) for name in analysis.relations}
    for component in evaluator.derived:
        tables.update(evaluator.component(component, tables))
    return {name: table.counts for name, table in tables.items()}


class Evaluator:
    """A program's rules, each made ready when it is first needed and evaluated as often as needed."""

    def __init__(self, analysis: Analysis, functions: Functions, limits: Limits) -> None:
        self.limits = limits
        # A component without rules is a base table.
        self.derived = [component for component in analysis.components if component.rules]
        self._relations = analysis.relations
        self._functions = functions
        self._views: dict[tuple[str, ...], list[View]] = {}

    def component(self, component: Component, tables: Mapping[str, Table]) -> dict[str, Table]:
        """The component's relations over those below it."""
        views = self._views.get(component.relations)
        if views is None:
            views = self._views[component.relations] = self._made(component)
        if component.recursive:
            return fixpoint(views, tables, self.limits)
        return {view.name: Table(view.counts(tables)) for view in views}

    def _made(self, component: Component) -> list[View]:
        rules: dict[str, list[ViewRule]] = {}
        for rule in component.rules:
            rules.setdefault(rule.head.relation, []).append(ViewRule(rule, self._relations, self._functions))
        return [View(self._relations[name], of_view) for name, of_view in rules.items()]
