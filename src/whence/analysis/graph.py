"""Which relation needs which: an edge from a rule's head to every relation of its body."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from whence.model.program import Program
from whence.model.rules import Atom, Negation, Rule


class Kind(Enum):
    """How the head depends on the body's relation."""

    POSITIVE = "positive"
    NEGATIVE = "negative"
    AGGREGATE = "aggregate"


@dataclass(frozen=True, slots=True)
class Edge:
    """`source` is the relation of the rule's head, `target` that of the literal in its body."""

    source: str
    target: str
    kind: Kind
    rule: Rule
    literal: Atom | Negation


@dataclass(frozen=True, slots=True)
class Graph:
    """Relations in the order of the program, and the edges that leave each."""

    relations: tuple[str, ...]
    edges: Mapping[str, tuple[Edge, ...]]


def dependency_graph(program: Program) -> Graph:
    edges: dict[str, list[Edge]] = {relation.name: [] for relation in program.relations}
    for rule in program.rules:
        edges.setdefault(rule.head.relation, []).extend(_edges(rule))
    return Graph(tuple(edges), {name: tuple(leaving) for name, leaving in edges.items()})


def _edges(rule: Rule) -> Iterator[Edge]:
    head, positive = rule.head.relation, Kind.AGGREGATE if rule.aggregates else Kind.POSITIVE
    for literal in rule.body:
        match literal:
            case Atom():
                yield Edge(head, literal.relation, positive, rule, literal)
            case Negation():
                yield Edge(head, literal.atom.relation, Kind.NEGATIVE, rule, literal)


def strongly_connected(graph: Graph) -> tuple[tuple[str, ...], ...]:
    """Tarjan's components: each after those it depends on, its relations in the order of the program.

    The walk keeps its own stack, because a chain of views can be deeper than Python's.
    """
    position = {relation: i for i, relation in enumerate(graph.relations)}
    reached: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_relations: list[str] = []
    is_open: set[str] = set()
    found: list[tuple[str, ...]] = []

    for root in graph.relations:
        path = [] if root in reached else [(root, _targets(graph.edges[root]))]
        while path:
            here, targets = path[-1]
            if here not in reached:
                reached[here] = lowest[here] = len(reached)
                open_relations.append(here)
                is_open.add(here)
            for target in targets:
                if target not in reached:
                    path.append((target, _targets(graph.edges[target])))
                    break
                if target in is_open:
                    lowest[here] = min(lowest[here], reached[target])
            else:
                path.pop()
                if path:
                    above = path[-1][0]
                    lowest[above] = min(lowest[above], lowest[here])
                if lowest[here] == reached[here]:
                    component = _pop_until(here, open_relations)
                    is_open.difference_update(component)
                    found.append(tuple(sorted(component, key=position.__getitem__)))
    return tuple(found)


def _pop_until(last: str, stack: list[str]) -> list[str]:
    popped = [stack.pop()]
    while popped[-1] != last:
        popped.append(stack.pop())
    return popped


def _targets(edges: Iterable[Edge]) -> Iterator[str]:
    return iter([edge.target for edge in edges])
