from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from whence.analysis.components import DependencyKind, components, dependency_graph, strongly_connected
from whence.lang.datalog.parse import parse_datalog
from whence.model.program import Program
from whence.model.rules import Atom, Rule
from whence.model.schema import Relation
from whence.model.terms import Variable

NAMES = [f"r{i}" for i in range(8)]
EDGES = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=24)


def program(edges: list[tuple[str, str]], names: list[str] = NAMES) -> Program:
    x = (Variable("x"),)
    rules = tuple(Rule(Atom(head, x), (Atom(body, x),)) for head, body in edges)
    return Program(tuple(Relation(name, ()) for name in names), rules)


def reachable(edges: list[tuple[str, str]]) -> set[tuple[str, str]]:
    """The transitive closure, by asking for every possible step in between."""
    closed = set(edges)
    for middle in NAMES:
        closed |= {(a, b) for a in NAMES for b in NAMES if (a, middle) in closed and (middle, b) in closed}
    return closed


@given(EDGES)
def test_components_are_what_reaches_each_other(edges: list[tuple[str, str]]) -> None:
    found = strongly_connected(dependency_graph(program(edges)))
    closed = reachable(edges)
    expected = {
        frozenset(b for b in NAMES if a == b or ((a, b) in closed and (b, a) in closed))
        for a in NAMES
    }  # fmt: skip
    assert {frozenset(part) for part in found} == expected
    assert sorted(name for part in found for name in part) == NAMES


@given(EDGES)
def test_components_come_after_what_they_depend_on(edges: list[tuple[str, str]]) -> None:
    text = program(edges)
    parts = components(text, dependency_graph(text))
    level = {name: i for i, part in enumerate(parts) for name in part.relations}
    closed = reachable(edges)
    assert all(level[body] <= level[head] for head, body in edges)
    for part in parts:
        assert part.recursive == any((name, name) in closed for name in part.relations)
        assert part.rules == tuple(rule for rule in text.rules if rule.head.relation in part.relations)
        assert list(part.relations) == sorted(part.relations)


@given(EDGES)
def test_the_same_program_has_the_same_components(edges: list[tuple[str, str]]) -> None:
    assert strongly_connected(dependency_graph(program(edges))) == strongly_connected(dependency_graph(program(edges)))


def test_edges_remember_their_kind_and_place() -> None:
    text = """
.decl a(x: INT)
p(x) :- a(x), !q(x).
q(x) :- a(x).
n(count<x>) :- p(x), !q(x).
"""
    graph = dependency_graph(parse_datalog(text))
    assert graph.relations == ("a", "p", "q", "n")
    seen = [
        (edge.source, edge.target, edge.kind, edge.literal.span.line if edge.literal.span else None)
        for name in graph.relations
        for edge in graph.edges[name]
    ]
    assert seen == [
        ("p", "a", DependencyKind.POSITIVE, 3),
        ("p", "q", DependencyKind.NEGATIVE, 3),
        ("q", "a", DependencyKind.POSITIVE, 4),
        ("n", "p", DependencyKind.AGGREGATE, 5),
        ("n", "q", DependencyKind.NEGATIVE, 5),
    ]


def test_a_chain_deeper_than_pythons_stack() -> None:
    names = [f"r{i}" for i in range(50_000)]
    chain = program(list(pairwise(names)), names)
    assert strongly_connected(dependency_graph(chain)) == tuple((name,) for name in reversed(names))
    ring = Program(chain.relations, (*chain.rules, *program([(names[-1], names[0])], []).rules))
    assert strongly_connected(dependency_graph(ring)) == (tuple(names),)
