"""A program on a network beside the reference engine: after every change both must have the same rows."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from whence.analysis.analyze import Analysis
from whence.analysis.limits import DEFAULT_LIMITS, RecursionLimits
from whence.engines.reference.evaluate import NO_FUNCTIONS, evaluate
from whence.errors import ConvergenceError, EvaluationError
from whence.lab.network.network import NetworkEngine
from whence.lab.network.options import Options
from whence.lab.network.wire import Links
from whence.model.program import Functions
from whence.model.types import Row
from whence.model.updates import Delta, Update

Tables = Mapping[str, Mapping[Row, int]]


class Twins:
    def __init__(
        self,
        analysis: Analysis,
        options: Options,
        links: Links | None = None,
        functions: Functions = NO_FUNCTIONS,
        limits: RecursionLimits = DEFAULT_LIMITS,
    ) -> None:
        self.analysis = analysis
        self.functions = functions
        self.limits = limits
        derived = {name for component in analysis.components if component.rules for name in component.relations}
        self.base: dict[str, dict[Row, int]] = {name: {} for name in analysis.relations if name not in derived}
        self.engine = NetworkEngine(options, links, limits)
        self.engine.define(analysis, functions, Update())
        self.expected: Tables = evaluate(analysis, self.base, functions, limits)
        self.check()

    def apply(self, update: Mapping[str, Delta]) -> None:
        """One change; one that the reference engine refuses leaves everything as it was."""
        base = {name: added(rows, update.get(name, {})) for name, rows in self.base.items()}
        try:
            expected = evaluate(self.analysis, base, self.functions, self.limits)
        except (ConvergenceError, EvaluationError):
            # Which values are met on the way is up to an engine; what it has met must not stay.
            try:
                self.engine.apply(Update(update))
            except (ConvergenceError, EvaluationError):
                self.check()
            else:
                self.engine.apply(Update({name: {r: -n for r, n in d.items()} for name, d in update.items()}))
            return
        deltas = self.engine.apply(Update(update))
        for name, rows in expected.items():
            assert added(self.expected[name], deltas.get(name, {})) == dict(rows), f"the delta of {name}"
        self.base, self.expected = base, expected
        self.check()

    def check(self) -> None:
        for name, rows in self.expected.items():
            assert self.engine.counts(name) == dict(rows), name


def added(counts: Mapping[Row, int], delta: Delta) -> dict[Row, int]:
    total = dict(counts)
    for row, change in delta.items():
        total[row] = total.get(row, 0) + change
        if not total[row]:
            del total[row]
    return total


def random_partition(chance: Random, analysis: Analysis) -> dict[str, str]:
    """Some relations at home at another column than the first."""
    return {
        name: chance.choice(relation.column_names)
        for name, relation in analysis.relations.items()
        if relation.columns and chance.random() < 0.5
    }
