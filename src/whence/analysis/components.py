"""Which relation needs which: an edge from a rule's head to every relation of its body."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from whence.analysis.typed_rules import TypedRule
from whence.model import graphs
from whence.model.program import Program
from whence.model.rules import Atom, Negation, Rule
from whence.model.schema import Relation, relation_named
from whence.model.terms import Aggregate, Window


class DependencyKind(Enum):
    """How the head depends on the body's relation."""

    POSITIVE = "positive"
    NEGATIVE = "negative"
    AGGREGATE = "aggregate"


@dataclass(frozen=True, slots=True)
class Edge:
    """`source` is the relation of the rule's head, `target` that of the literal in its body."""

    source: str
    target: str
    kind: DependencyKind
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
    is_folded = rule.aggregates or rule.windows or rule.unnests
    head, positive = rule.head.relation, DependencyKind.AGGREGATE if is_folded else DependencyKind.POSITIVE
    for literal in rule.body:
        match literal:
            case Atom():
                yield Edge(head, literal.relation, positive, rule, literal)
            case Negation():
                yield Edge(head, literal.atom.relation, DependencyKind.NEGATIVE, rule, literal)


def strongly_connected(graph: Graph) -> tuple[tuple[str, ...], ...]:
    """Each component after those it depends on, its relations in the order of the program."""
    position = {relation: i for i, relation in enumerate(graph.relations)}
    found = graphs.strongly_connected(graph.relations, lambda name: (edge.target for edge in graph.edges[name]))
    return tuple(tuple(sorted(component, key=position.__getitem__)) for component in found)


# With these, one more row can only improve a value; every other aggregate moves both ways.
IMPROVING = ("min", "max")


@dataclass(frozen=True)
class Component:
    """A strongly connected part of the dependency graph, with the rules whose heads are in it.

    `linear`: no rule uses the component's relations more than once. `monotone`: one more input row never takes an
    output row away, except for a better min or max. `aggregated` names the relations with aggregates in their heads.
    `reasons` says what makes the component non-linear or non-monotone. `typed` are the rules in the same order, as
    those take them who plan and run them.
    """

    relations: tuple[str, ...]
    rules: tuple[Rule, ...]
    recursive: bool
    linear: bool
    monotone: bool
    aggregated: frozenset[str]
    reasons: tuple[str, ...] = ()
    typed: tuple[TypedRule, ...] = field(default=(), compare=False, repr=False)

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The relations that it reads from below, each once."""
        return tuple(dict.fromkeys(name for rule in self.rules for name in rule.reads if name not in self.relations))

    @property
    def windowed(self) -> bool:
        """Whether it is one relation with window functions, which has one rule over one atom."""
        return bool(self.rules) and bool(self.rules[0].windows)

    @property
    def unnested(self) -> bool:
        """Whether it is one relation with a row for each element of an array, which has one rule over one atom."""
        return bool(self.rules) and bool(self.rules[0].unnests)

    @cached_property
    def calls(self) -> frozenset[str]:
        """The functions that its rules call."""
        return frozenset[str]().union(*(rule.calls for rule in self.rules))


def components(program: Program, graph: Graph) -> tuple[Component, ...]:
    """A partition of the relations, each part after those that it needs."""
    rules: dict[str, list[tuple[int, Rule]]] = {}
    for position, rule in enumerate(program.rules):
        rules.setdefault(rule.head.relation, []).append((position, rule))
    return tuple(
        _component(
            relations,
            tuple(
                rule for _, rule in sorted((r for name in relations for r in rules.get(name, ())), key=lambda r: r[0])
            ),
            graph,
        )
        for relations in strongly_connected(graph)
    )


def _component(relations: tuple[str, ...], rules: tuple[Rule, ...], graph: Graph) -> Component:
    members = frozenset(relations)
    nonlinear = tuple(_nonlinear(rules, members))
    nonmonotone = tuple(_nonmonotone(relations, rules, graph))
    return Component(
        relations,
        rules,
        recursive=len(relations) > 1 or any(edge.target in members for edge in graph.edges[relations[0]]),
        linear=not nonlinear,
        monotone=not nonmonotone,
        aggregated=frozenset(rule.head.relation for rule in rules if rule.aggregates),
        reasons=tuple(dict.fromkeys(nonlinear + nonmonotone)),
    )


def owing_bags(components: Iterable[Component], relations: Mapping[str, Relation]) -> frozenset[str]:
    """The bags whose rows can be there less than zero times: those that rules take from, and bags made from such."""
    found: set[str] = set()
    for component in components:
        for rule in component.rules:
            name = rule.head.relation
            joined = (literal.relation for literal in rule.body if isinstance(literal, Atom))
            if not relations[name].distinct and not rule.aggregates and (rule.sign < 0 or not found.isdisjoint(joined)):
                found.add(name)
    return frozenset(found)


def _nonlinear(rules: tuple[Rule, ...], members: frozenset[str]) -> Iterator[str]:
    for rule in rules:
        uses = [literal.relation for literal in rule.body if isinstance(literal, Atom) and literal.relation in members]
        if len(uses) > 1:
            used = " and ".join(relation_named(name) for name in uses)
            yield f"a rule for {relation_named(rule.head.relation)} joins {used}"


def _nonmonotone(relations: tuple[str, ...], rules: tuple[Rule, ...], graph: Graph) -> Iterator[str]:
    for relation in relations:
        for edge in graph.edges[relation]:
            if edge.kind is DependencyKind.NEGATIVE:
                yield f"{relation_named(relation)} negates {relation_named(edge.target)}"
    for rule in rules:
        if rule.sign < 0:
            yield f"a rule takes rows away from {relation_named(rule.head.relation)}"
        for term in rule.head.terms:
            if isinstance(term, Window) or (isinstance(term, Aggregate) and term.function not in IMPROVING):
                yield f"{relation_named(rule.head.relation)} has {term.function}"
