"""`db.explain`: how a view follows its tables, and what the last commit cost it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from whence.analysis.analyze import Analysis
from whence.analysis.comparisons import Pairings
from whence.analysis.components import Component
from whence.analysis.selection import selected_text
from whence.engines.engine import Engine, MaintenancePlans, Work
from whence.explain.proofs.text import amount, place
from whence.explain.routes import Route, RoutedRule, compiled_routes
from whence.lang.datalog.write import rule_text
from whence.model.program import Functions
from whence.model.rules import Atom, Rule
from whence.model.schema import Relation, duration_text, owner
from whence.model.types import Row
from whence.rewriting.magic_sets import magic_text


class Explanation(str):
    """A text that shows as it is, at a prompt too."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def explain(
    name: str, analysis: Analysis, functions: Functions, engine: Engine, *, analyze: bool = False
) -> Explanation:
    """The plan of a view and of everything below it, component by component; of a table, how long its rows live.

    With `analyze` it tells, too, what the last commit cost each component.
    """
    components = components_below(name, analysis)
    relation = analysis.relations[name]
    size = rows(relation, engine.counts(name))
    is_view = any(name in component.relations for component in components)
    lines = [*header(relation, analysis, size, is_view=is_view)]
    maintained = engine.capabilities.plans
    if components and maintained is not None:
        plans = [
            ComponentExplanation(component, analysis.relations, functions, engine.counts, maintained)
            for component in components
        ]
        for number, plan in enumerate(plans, 1):
            lines += ["", *_numbered(number, plan.lines())]
            if analyze:
                lines += ["", f"   {plan.work_line()}"]
        if analyze:
            lines += ["", *_total(plans, engine.metrics())]
    elif components:
        lines.append("computed from nothing after every change, because that is what this engine does")
    return Explanation("\n".join(lines))


def components_below(name: str, analysis: Analysis) -> list[Component]:
    """The components that a view needs, its own included, in the order in which they are maintained."""
    needed = {relation for relation in analysis.relations if owner(relation) == name}
    found = []
    for component in reversed(analysis.components):
        if component.rules and not needed.isdisjoint(component.relations):
            needed.update(component.reads)
            found.append(component)
    return found[::-1]


def header(relation: Relation, analysis: Analysis, size: str, *, is_view: bool) -> Iterator[str]:
    """What a relation is, whichever engine keeps it."""
    columns = ", ".join(f"{column.name} {column.type}" for column in relation.columns)
    kind = "set" if relation.distinct else "bag"
    yield f"{relation.name}({columns})"
    where = "" if relation.span is None else f", at {place(relation.span)}"
    yield f"a {'view' if is_view else 'table'}, a {kind} of {size}{where}"
    if relation.ttl is not None:
        since = "they came" if relation.ttl.column is None else f"the time in {relation.ttl.column}"
        yield f"rows leave {duration_text(relation.ttl.microseconds)} after {since}"
    if relation.window is not None:
        order = "latest" if relation.ttl is not None and relation.ttl.column is not None else "newest"
        per = f" for each {', '.join(relation.window.partition)}" if relation.window.partition else ""
        yield f"a window of the {order} {amount(relation.window.rows, 'row')}{per}"
    own = [component for component in analysis.components if owner(component.relations[0]) == relation.name]
    yield from map(str, Pairings(analysis.components, analysis.relations).of(own))
    readers = {owner(each) for part in analysis.components if relation.name in part.reads for each in part.relations}
    readers.discard(relation.name)
    if readers:
        yield f"read by {', '.join(sorted(readers))}"


def _numbered(number: int, lines: Iterator[str]) -> Iterator[str]:
    yield f"{number}. {next(lines)}"
    yield from (f"   {line}".rstrip() for line in lines)


def _total(plans: list[ComponentExplanation], metrics: Mapping[str, int | float]) -> Iterator[str]:
    works = [work for plan in plans if (work := plan.work()) is not None]
    yield (
        f"in all: {len(works)} of {amount(len(plans), 'component')} touched, "
        f"{amount(sum(work.rows_in for work in works), 'row')} in, "
        f"{amount(sum(work.rows_out for work in works), 'row')} out, "
        f"{milliseconds(sum(work.elapsed for work in works))}"
    )
    if "dead" in metrics:
        dead, state = int(metrics["dead"]), int(metrics["state_bytes"])
        yield f"compiled forests of the database: {amount(dead, 'tuple')} dead for a moment, {amount(state, 'byte')}"


class ComponentExplanation:
    """What there is to say about one component."""

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        counts: Callable[[str], Mapping[Row, int]],
        plans: MaintenancePlans,
    ) -> None:
        self.component = component
        self._relations = relations
        self._functions = functions
        self._counts = counts
        self._plans = plans
        self._plan = plans.plan(component)

    def lines(self) -> Iterator[str]:
        yield f"{', '.join(self.component.relations)}: {', '.join(self._flags())}"
        if self.component.reasons:
            yield f"because {', and '.join(self.component.reasons)}"
        yield f"kept by {self._plan.strategy} ({self._plan.reason})"
        yield from selections(self.component, self._relations)
        given_up = self._plan.recomputed_because
        if given_up is not None:
            yield f"computed from nothing after every change, because {given_up}"
        reading = ", ".join(
            f"{name} ({rows(self._relations[name], self._counts(name))})" for name in self.component.reads
        )
        yield f"reads {reading or 'nothing'}"
        routes = self._routes() if given_up is None else {}
        yield from self._indexes(routes)
        for number, rule in enumerate(self.component.rules):
            text = rule_text(rule)
            yield from ("", *text.splitlines())
            if rule.span is not None:
                yield f"  at {place(rule.span)}"
            yield from (f"  {line}" for route in routes.get(number, ()) for line in route.lines())

    def work(self) -> Work | None:
        return self._plans.work(self.component)

    def work_line(self) -> str:
        work = self.work()
        if work is None:
            return "last commit: not touched"
        return (
            f"last commit: {amount(work.rows_in, 'row')} in, {amount(work.rows_out, 'row')} out, "
            f"{milliseconds(work.elapsed)}"
            f"{', computed again: more rows changed than are left' if work.is_recomputed else ''}"
        )

    def _flags(self) -> Iterator[str]:
        component = self.component
        yield "recursive" if component.recursive else "not recursive"
        if component.recursive:
            yield "linear" if component.linear else "not linear"
        yield "monotone" if component.monotone else "not monotone"
        if component.aggregated:
            yield "aggregated"

    def _indexes(self, routes: Mapping[int, list[Route]]) -> Iterator[str]:
        found = sorted({lookup for of_rule in routes.values() for route in of_rule for lookup in route.lookups})
        if found:
            written = (f"{relation}({', '.join(columns)})" for relation, columns in found)
            yield f"indexes: {', '.join(written)}"

    def _routes(self) -> Mapping[int, list[Route]]:
        """By the number of the rule in the component; none where no rows are looked up."""
        if self.component.windowed or self.component.unnested:
            return {}
        if self._plan.is_compiled:
            keeps_spares = self._plan.strategy != "dred"
            return compiled_routes(
                self.component, self._relations, self._functions, self._plans.statistics(), keep_spares=keeps_spares
            )
        found = {}
        for number, rule in enumerate(self.component.typed):
            planned = RoutedRule(rule, self._plans.statistics())
            found[number] = planned.forwards()
            if self._plan.rederived == "all" or (self._plan.rederived == "non-linear" and self._uses(rule.rule) > 1):
                found[number].append(planned.backwards())
        return found

    def _uses(self, rule: Rule) -> int:
        own = self.component.relations
        return sum(isinstance(literal, Atom) and literal.relation in own for literal in rule.body)


def selections(component: Component, relations: Mapping[str, Relation]) -> Iterator[str]:
    """Which of its rows a component keeps, if not all."""
    for name in component.relations:
        texts = selected_text(relations[name], component.rules), magic_text(relations[name])
        yield from (text for text in texts if text is not None)


def rows(relation: Relation, counts: Mapping[Row, int]) -> str:
    """How many rows there are, copies included."""
    there = len(counts) if relation.distinct else sum(count for count in counts.values() if count > 0)
    return amount(there, "row")


def milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.3f} ms"
