"""Components: relations that need each other are computed together, and after everything they need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from whence.analysis.graph import Graph, Kind, strongly_connected
from whence.analysis.wording import relation_named
from whence.model.program import Program
from whence.model.rules import Atom, Rule
from whence.model.terms import Aggregate

# With these, one more row can only improve a value; every other aggregate moves both ways.
IMPROVING = ("min", "max")


@dataclass(frozen=True, slots=True)
class Component:
    """A strongly connected part of the dependency graph, with the rules whose heads are in it.

    `linear`: no rule uses the component's relations more than once. `monotone`: one more input row never takes an
    output row away, except for a better min or max. `aggregated` names the relations with aggregates in their heads.
    `reasons` says what makes the component non-linear or non-monotone.
    """

    relations: tuple[str, ...]
    rules: tuple[Rule, ...]
    recursive: bool
    linear: bool
    monotone: bool
    aggregated: frozenset[str]
    reasons: tuple[str, ...] = ()


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


def _nonlinear(rules: tuple[Rule, ...], members: frozenset[str]) -> Iterator[str]:
    for rule in rules:
        uses = [literal.relation for literal in rule.body if isinstance(literal, Atom) and literal.relation in members]
        if len(uses) > 1:
            used = " and ".join(relation_named(name) for name in uses)
            yield f"a rule for {relation_named(rule.head.relation)} joins {used}"


def _nonmonotone(relations: tuple[str, ...], rules: tuple[Rule, ...], graph: Graph) -> Iterator[str]:
    for relation in relations:
        for edge in graph.edges[relation]:
            if edge.kind is Kind.NEGATIVE:
                yield f"{relation_named(relation)} negates {relation_named(edge.target)}"
    for rule in rules:
        if rule.sign < 0:
            yield f"a rule takes rows away from {relation_named(rule.head.relation)}"
        for term in rule.head.terms:
            if isinstance(term, Aggregate) and term.function not in IMPROVING:
                yield f"{relation_named(rule.head.relation)} has {term.function}"
