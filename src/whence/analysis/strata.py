"""Strata: what negates, subtracts or counts must be able to wait until what it reads is complete.

Inside a recursive component nothing is complete before the end, so these are refused there, and bags with them: around
a cycle, a row would count without end. min and max are left to `monotone`, because they can improve step by step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from whence.analysis.components import IMPROVING, Component, DependencyKind, Edge, Graph
from whence.analysis.limits import is_leveled
from whence.errors import StratificationError
from whence.model.program import Program
from whence.model.rules import Negation
from whence.model.schema import Relation, is_auxiliary, owner, relation_named
from whence.model.span import Span
from whence.model.terms import Aggregate, Unnest, Window

# A longer cycle is shown by its two ends.
SHOWN_OF_A_CYCLE = 8


def stratify(program: Program, components: Sequence[Component], graph: Graph) -> None:
    """Refuse negation, differential rules, bags, and count, sum and avg inside a recursive component."""
    bags = {relation.name: relation for relation in program.relations if not relation.distinct}
    for component in components:
        if component.recursive:
            _check(component, graph)
            for name in component.relations if not is_leveled(component.relations, component.rules) else ():
                # An aggregated relation has one row per group, whatever it is declared to be.
                if name in bags and name not in component.aggregated:
                    raise _bag(bags[name], graph.edges[name], frozenset(component.relations))


def _check(component: Component, graph: Graph) -> None:
    members = frozenset(component.relations)
    for relation in component.relations:
        for edge in graph.edges[relation]:
            if edge.target not in members:
                continue
            if edge.kind is DependencyKind.NEGATIVE:
                raise _negation(edge, _way_back(edge, members, graph))
            if edge.kind is DependencyKind.AGGREGATE:
                _check_aggregates(edge, members, graph)
    for rule in component.rules:
        if rule.sign < 0:
            into = next(edge for edge in graph.edges[rule.head.relation] if edge.target in members)
            name = relation_named(rule.head.relation)
            raise StratificationError(
                f"{name} is recursive ({_cycle(into, _way_back(into, members, graph))}), so no rule can take rows away "
                "from it",
                span=rule.span or rule.head.span,
                related=[(f"{name} depends on itself here", into.literal.span)],
                hint=f"take the rows away in a relation of its own, which reads {name}",
            )


def _bag(relation: Relation, edges: Sequence[Edge], members: frozenset[str]) -> StratificationError:
    into = next(edge for edge in edges if edge.target in members)
    return StratificationError(
        f"{relation_named(relation.name)} is recursive, so it cannot be a bag: its rows would count without end",
        span=relation.span or into.rule.head.span,
        related=[(f"{relation_named(relation.name)} depends on itself here", _place(into))],
        hint="declare it as a set; a relation of its own that reads it can be a bag",
    )


def _negation(edge: Edge, way_back: Sequence[Edge]) -> StratificationError:
    source, target = relation_named(edge.source), relation_named(edge.target)
    if owner(edge.source) == owner(edge.target) and (is_auxiliary(edge.source) or is_auxiliary(edge.target)):
        name = repr(owner(edge.source))
        return StratificationError(
            f"{name} is recursive, and this asks for rows that it does not have, which is only known when the "
            "recursion is over",
            span=_place(edge),
            hint=f"negate, or join with LEFT, RIGHT or FULL, outside the recursion: in a view that reads {name}",
        )
    if source == target:
        message = f"{source} depends on its own negation: {_cycle(edge, way_back)}"
    else:
        message = f"{source} depends on the negation of {target}, which depends on it: {_cycle(edge, way_back)}"
    return StratificationError(
        message,
        span=_place(edge),
        related=[_closing(edge, way_back)],
        hint=f"negate a relation that does not depend on {source}, so that it is complete when it is negated",
    )


def _check_aggregates(edge: Edge, members: frozenset[str], graph: Graph) -> None:
    for term in edge.rule.head.terms:
        if isinstance(term, Unnest):
            raise StratificationError(
                f"{relation_named(edge.source)} is recursive, and takes arrays apart inside the recursion",
                span=term.span or edge.rule.head.span,
                hint="explode arrays before the recursion",
            )
        if isinstance(term, Window) or (isinstance(term, Aggregate) and term.function not in IMPROVING):
            way_back = _way_back(edge, members, graph)
            name = relation_named(edge.source)
            raise StratificationError(
                f"{name} is recursive, and its {term.function} would have to count rows that depend on it: "
                f"{_cycle(edge, way_back)}",
                span=term.span or edge.rule.head.span,
                related=[
                    (f"{term.function} ranges over {relation_named(edge.target)} here", _place(edge)),
                    _closing(edge, way_back),
                ],
                hint=f"only min and max can improve step by step; put {term.function} into a relation of its own "
                "that reads the recursive one",
            )


def _way_back(edge: Edge, members: frozenset[str], graph: Graph) -> list[Edge]:
    """The shortest path inside the component from the edge's target to its source; empty for a loop."""
    reached_by: dict[str, Edge] = {}
    todo = deque([edge.target])
    while todo and todo[0] != edge.source:
        for step in graph.edges[todo.popleft()]:
            if step.target in members and step.target not in reached_by:
                reached_by[step.target] = step
                todo.append(step.target)
    path: list[Edge] = []
    here = edge.source
    while here != edge.target:
        path.append(reached_by[here])
        here = path[-1].source
    return path[::-1]


def _cycle(edge: Edge, way_back: Sequence[Edge]) -> str:
    """`a -> b -> a`: a depends on b, and b on a. Auxiliary relations go by the name of the view they serve."""
    names = [owner(name) for name in (edge.source, edge.target, *(step.target for step in way_back))]
    shown = [name for i, name in enumerate(names) if i == 0 or name != names[i - 1]]
    if len(shown) == 1:
        shown *= 2
    if len(shown) > SHOWN_OF_A_CYCLE:
        shown[SHOWN_OF_A_CYCLE // 2 : -SHOWN_OF_A_CYCLE // 2] = ["..."]
    return " -> ".join(shown)


def _closing(edge: Edge, way_back: Sequence[Edge]) -> tuple[str, Span | None]:
    """The place that leads back to where the cycle began."""
    name = relation_named(edge.source)
    if not way_back:
        return f"this rule defines {name}", edge.rule.head.span
    last = way_back[-1]
    return f"{relation_named(last.source)} depends on {name} here", _place(last)


def _place(edge: Edge) -> Span | None:
    if edge.literal.span is None and isinstance(edge.literal, Negation):
        return edge.literal.atom.span
    return edge.literal.span
