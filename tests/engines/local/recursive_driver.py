"""Plays the engine's part for the recursive components of a program, with every strategy at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from whence.analysis.analyze import Analysis, analyze
from whence.analysis.components import Component
from whence.analysis.limits import DEFAULT_LIMITS, RecursionLimits
from whence.engines.reference.evaluate import evaluate
from whence.errors import WhenceError
from whence.incremental.maintainer import Maintainer
from whence.incremental.recursive.absorption import Absorption
from whence.incremental.recursive.dred import DRed
from whence.incremental.recursive.recompute import Recompute
from whence.incremental.store import Store
from whence.lab.strategies import EagerAbsorption, Relative
from whence.lang.datalog.parse import parse_datalog
from whence.model.program import Functions
from whence.model.rules import Atom, Negation
from whence.model.types import Row
from whence.model.updates import Delta

ALL: Sequence[Callable[..., Maintainer]] = (Absorption, EagerAbsorption, DRed, Relative, Recompute)

Tables = Mapping[str, Mapping[Row, int]]


def analysis_of(text: str, functions: Functions | None = None) -> Analysis:
    return analyze(parse_datalog(text), {name: function.signature for name, function in (functions or {}).items()})


@dataclass
class Maintained:
    """A component under one strategy, with the rows that its answers add up to."""

    maintainer: Maintainer
    component: Component
    rows: dict[str, dict[Row, int]]

    def add(self, deltas: Mapping[str, Delta]) -> None:
        for name, delta in deltas.items():
            assert delta, f"an empty delta for {name}"
            self.rows[name] = added(self.rows[name], delta)


class Driver:
    """Every recursive component reads what the reference engine says of the relations below it."""

    def __init__(
        self,
        analysis: Analysis,
        functions: Functions | None = None,
        limits: RecursionLimits = DEFAULT_LIMITS,
        strategies: Sequence[Callable[..., Maintainer]] = ALL,
        base: Tables | None = None,
    ) -> None:
        self.analysis = analysis
        self.functions = functions or {}
        self.limits = limits
        self.base: dict[str, dict[Row, int]] = {name: dict(rows) for name, rows in (base or {}).items()}
        self.tables = self.expected(self.base)
        self.stores = {name: Store(rows) for name, rows in self.tables.items()}
        self.maintained: list[Maintained] = []
        for component in analysis.components:
            if component.recursive:
                for strategy in strategies:
                    self.maintained.append(self.build(component, strategy))
        self.check()

    def build(self, component: Component, strategy: Callable[..., Maintainer]) -> Maintained:
        stores = {name: self.stores[name] for name in inputs(component)}
        maintainer = strategy(component, self.analysis.relations, self.functions, stores, self.limits)
        maintained = Maintained(maintainer, component, {name: {} for name in component.relations})
        maintained.add(maintainer.build())
        maintainer.settle()
        return maintained

    def expected(self, base: Tables) -> dict[str, Mapping[Row, int]]:
        return evaluate(self.analysis, base, self.functions, self.limits)

    def apply(self, update: Mapping[str, Delta], rehearse: bool = False) -> None:
        """One commit; if it is rehearsed, every maintainer does it and takes it back first."""
        base = {**self.base, **{name: added(self.base.get(name, {}), delta) for name, delta in update.items()}}
        tables = self.expected(base)
        deltas = {name: difference(rows, self.tables[name]) for name, rows in tables.items()}
        for each in self.maintained:
            given = {name: deltas[name] for name in inputs(each.component) if deltas[name]}
            if rehearse:
                each.maintainer.apply(given)
                each.maintainer.undo()
                assert_same(each, self.tables)
            each.add(each.maintainer.apply(given))
            each.maintainer.settle()
        for name, delta in deltas.items():
            self.stores[name].apply(delta)
        self.base, self.tables = base, tables
        self.check()

    def fails(self, update: Mapping[str, Delta]) -> list[WhenceError]:
        """A commit that the reference engine refuses: what every maintainer says to it, after it is taken back."""
        errors = []
        for each in self.maintained:
            given = {name: update[name] for name in inputs(each.component) if update.get(name)}
            try:
                each.maintainer.apply(given)
            except WhenceError as error:
                errors.append(error)
            each.maintainer.undo()
        self.check()
        return errors

    def check(self) -> None:
        for each in self.maintained:
            assert_same(each, self.tables)


def assert_same(each: Maintained, tables: Tables) -> None:
    for name in each.component.relations:
        assert each.maintainer.counts(name) == tables[name], (type(each.maintainer).__name__, name)
        assert each.rows[name] == tables[name], (type(each.maintainer).__name__, name)


def inputs(component: Component) -> list[str]:
    names = []
    for rule in component.rules:
        for literal in rule.body:
            match literal:
                case Atom(relation=name) | Negation(atom=Atom(relation=name)):
                    names.append(name)
    return [name for name in dict.fromkeys(names) if name not in component.relations]


def added(counts: Mapping[Row, int], delta: Delta) -> dict[Row, int]:
    total = dict(counts)
    for row, change in delta.items():
        total[row] = total.get(row, 0) + change
        if not total[row]:
            del total[row]
    return total


def difference(after: Mapping[Row, int], before: Mapping[Row, int]) -> dict[Row, int]:
    return {
        row: after.get(row, 0) - before.get(row, 0)
        for row in dict.fromkeys([*after, *before])
        if after.get(row, 0) != before.get(row, 0)
    }
