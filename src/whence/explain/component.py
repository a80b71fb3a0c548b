"""A component in words: what it is, how it is kept up to date and why so, and the routes through its rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.counting.counting import Counting
from whence.engines.local.engine import LocalEngine, reads
from whence.engines.local.measures import Work
from whence.engines.local.recursive.absorption import Absorption
from whence.engines.local.recursive.dred import DRed
from whence.engines.local.recursive.recompute import Recompute
from whence.engines.local.recursive.rules import GROWTH
from whence.engines.local.recursive.strategy import Strategy
from whence.engines.local.strategies import Choice
from whence.explain.planned import PlannedRule
from whence.explain.routes import Route
from whence.explain.wording import amount, milliseconds, place, rows
from whence.incremental.body import Body
from whence.lang.datalog.write import to_datalog
from whence.model.program import Program
from whence.model.rules import Atom, Rule
from whence.model.schema import Relation
from whence.model.types import Row


class ComponentPlan:
    """What there is to say about one component."""

    def __init__(
        self, component: Component, relations: Mapping[str, Relation], functions: Functions, engine: LocalEngine
    ) -> None:
        self.component = component
        self._relations = relations
        self._functions = functions
        self._signatures = {name: function.signature for name, function in functions.items()}
        self._engine = engine
        self._choice = engine.choice(component.relations[0])

    def lines(self) -> Iterator[str]:
        yield f"{', '.join(self.component.relations)}: {', '.join(self._flags())}"
        if self.component.reasons:
            yield f"because {', and '.join(self.component.reasons)}"
        if self._choice is None:
            return
        yield f"kept by {self._choice.strategy} ({self._choice.reason})"
        given_up = _given_up(self._choice)
        if given_up is not None:
            yield f"computed from nothing after every change, because {given_up}"
        reading = ", ".join(f"{name} ({rows(self._relations[name], self._counts(name))})" for name in self._reads())
        yield f"reads {reading or 'nothing'}"
        routes = self._routes(self._choice) if given_up is None else {}
        yield from self._indexes(routes)
        for number, rule in enumerate(self.component.rules):
            text = to_datalog(Program((), (rule,))).strip()
            yield from ("", *text.splitlines())
            if rule.span is not None:
                yield f"  at {place(rule.span)}"
            yield from (f"  {line}" for route in routes.get(number, ()) for line in route.lines())

    def work(self) -> Work | None:
        return self._engine.work(self.component)

    def work_line(self) -> str:
        work = self.work()
        if work is None:
            return "last commit: not touched"
        return (
            f"last commit: {amount(work.rows_in, 'row')} in, {amount(work.rows_out, 'row')} out, "
            f"{milliseconds(work.elapsed)}"
        )

    def _flags(self) -> Iterator[str]:
        component = self.component
        yield "recursive" if component.recursive else "not recursive"
        if component.recursive:
            yield "linear" if component.linear else "not linear"
        yield "monotone" if component.monotone else "not monotone"
        if component.aggregated:
            yield "aggregated"

    def _reads(self) -> list[str]:
        return list(reads(self.component))

    def _counts(self, name: str) -> Mapping[Row, int]:
        return self._engine.counts(name)

    def _indexes(self, routes: Mapping[int, list[Route]]) -> Iterator[str]:
        found = sorted({lookup for of_rule in routes.values() for route in of_rule for lookup in route.lookups})
        if found:
            written = (f"{relation}({', '.join(columns)})" for relation, columns in found)
            yield f"indexes: {', '.join(written)}"

    def _routes(self, choice: Choice) -> Mapping[int, list[Route]]:
        """By the number of the rule in the component."""
        maintainer = choice.maintainer
        if isinstance(maintainer, Recompute):
            return {}
        if not isinstance(maintainer, Counting | Strategy):
            from whence.explain.compiled import compiled_routes

            keeps_spares = choice.strategy != "dred"
            return compiled_routes(self.component, self._relations, self._functions, keep_spares=keeps_spares)
        found = {}
        for number, rule in enumerate(self.component.rules):
            planned = PlannedRule(Body(rule, self._relations, self._signatures), self._relations, self._size)
            found[number] = planned.forwards()
            if isinstance(maintainer, DRed) or (isinstance(maintainer, Absorption) and self._uses(rule) > 1):
                found[number].append(planned.backwards())
        return found

    def _uses(self, rule: Rule) -> int:
        own = self.component.relations
        return sum(isinstance(literal, Atom) and literal.relation in own for literal in rule.body)

    def _size(self, name: str) -> int:
        """As planning takes it: what is being computed counts as larger than all that it reads."""
        if name in self.component.relations:
            return GROWTH * sum(len(self._counts(read)) for read in self._reads())
        return len(self._counts(name))


def _given_up(choice: Choice) -> str | None:
    maintainer = choice.maintainer
    if isinstance(maintainer, Recompute):
        return "that is the strategy"
    return maintainer.reason if isinstance(maintainer, Strategy) else None
