"""`db.explain`: how a view follows its tables, and what the last commit cost it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from whence.analysis.analyze import Analysis
from whence.analysis.components import Component
from whence.engines.engine import Engine, Functions
from whence.engines.local.engine import LocalEngine, reads
from whence.explain.component import ComponentPlan
from whence.explain.wording import amount, milliseconds, place, rows
from whence.lang.datalog.schema import duration_text
from whence.model.schema import Relation, owner


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
    lines = [*header(relation, analysis, size, is_view=bool(components))]
    if components and isinstance(engine, LocalEngine):
        plans = [ComponentPlan(component, analysis.relations, functions, engine) for component in components]
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
            needed.update(reads(component))
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
    readers = {owner(each) for part in analysis.components if relation.name in reads(part) for each in part.relations}
    if readers:
        yield f"read by {', '.join(sorted(readers))}"


def _numbered(number: int, lines: Iterator[str]) -> Iterator[str]:
    yield f"{number}. {next(lines)}"
    yield from (f"   {line}".rstrip() for line in lines)


def _total(plans: list[ComponentPlan], metrics: Mapping[str, int | float]) -> Iterator[str]:
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
