"""Derivations evaluated in every semiring: directly where they are acyclic, as a least solution on cycles."""

from __future__ import annotations

from itertools import product
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.algebra.derivations import components, evaluate
from whence.algebra.diagrams import Bdd
from whence.algebra.provenance import Antichain, Supports, minimal
from whence.algebra.semiring import BOOLEAN, COUNTS, INFINITE, KLEENE, TROPICAL, Counts, Truth
from whence.errors import InternalError, StratificationError

# Heads are strings, leaves are numbers.
Graph: TypeAlias = dict[str | int, list[list[str | int]]]


def variable(node: str | int) -> int:
    assert isinstance(node, int)
    return node


def reachable(links: dict[int, tuple[str, str]]) -> Graph:
    """reachable(x, y) :- link(x, y).  reachable(x, y) :- link(x, z), reachable(z, y).  Heads are "xy"."""
    pairs = {x + y for x, y in links.values()}
    while more := {x + pair[1] for x, z in links.values() for pair in pairs if pair[0] == z} - pairs:
        pairs |= more
    graph: Graph = {pair: [] for pair in sorted(pairs)}
    for link, (x, z) in links.items():
        graph[x + z].append([link])
        for pair in pairs:
            if pair[0] == z:
                graph[x + pair[1]].append([link, pair])
    return graph


# The three nodes of paper 000, section 3.2: p1 = (A,B), p2 = (B,C), p3 = (C,A), p4 = (C,B).
TRIANGLE = reachable({1: ("A", "B"), 2: ("B", "C"), 3: ("C", "A"), 4: ("C", "B")})
PROVENANCE: dict[str, Antichain[int]] = {
    "AA": frozenset({frozenset({1, 2, 3})}),
    "AB": frozenset({frozenset({1})}),
    "AC": frozenset({frozenset({1, 2})}),
    "BA": frozenset({frozenset({2, 3})}),
    "BB": frozenset({frozenset({2, 4}), frozenset({1, 2, 3})}),
    "BC": frozenset({frozenset({2})}),
    "CA": frozenset({frozenset({3})}),
    "CB": frozenset({frozenset({4}), frozenset({1, 3})}),
    "CC": frozenset({frozenset({2, 4}), frozenset({1, 2, 3})}),
}


def test_the_provenance_of_the_worked_example() -> None:
    supports: Supports[int] = Supports()
    spelled = evaluate(TRIANGLE, supports, lambda node: supports.variable(variable(node)))
    for pair, expected in PROVENANCE.items():
        assert spelled[pair] == expected
        # Deleting link(C, B) takes no pair away.
        assert supports.without(expected, [4])


def test_other_annotations_of_the_same_derivations() -> None:
    costs = evaluate(TRIANGLE, TROPICAL, lambda node: {1: 5, 2: 1, 3: 1, 4: 9}[variable(node)], roots=["CB", "BB"])
    assert (costs["CB"], costs["BB"]) == (6, 7)
    known = {1: Truth.TRUE, 2: Truth.TRUE, 3: Truth.MAYBE, 4: Truth.FALSE}
    arriving = evaluate(TRIANGLE, KLEENE, lambda node: known[variable(node)])
    assert (arriving["AC"], arriving["CB"]) == (Truth.TRUE, Truth.MAYBE)
    present = evaluate(TRIANGLE, BOOLEAN, lambda node: node in (2, 4))
    assert {pair for pair in PROVENANCE if present[pair]} == {"BB", "BC", "CB", "CC"}


def test_counts_on_a_cycle_are_refused_with_words() -> None:
    with pytest.raises(StratificationError) as caught:
        evaluate(TRIANGLE, COUNTS, lambda node: 1, show=lambda node: f"reachable({', '.join(str(node))})")
    assert caught.value.message.startswith("counts have no value on a cycle, and reachable(")
    assert "<- reachable(" in caught.value.message


def test_a_tuple_that_derives_itself_is_a_cycle() -> None:
    graph: Graph = {"a": [[1], ["a"]]}
    assert evaluate(graph, BOOLEAN, lambda node: True) == {1: True, "a": True}
    with pytest.raises(StratificationError, match="a depends on itself: a <- a"):
        evaluate(graph, COUNTS, lambda node: 1)


def test_counts_multiply_along_and_add_across() -> None:
    # a was derived with b twice in one body; c once from nothing, and never else.
    graph: Graph = {"a": [["b", "b"], [1]], "b": [[1], [2], ["c"]], "c": [[]], "d": []}
    assert evaluate(graph, COUNTS, lambda node: 10 * variable(node)) == {
        1: 10, 2: 20, "c": 1, "b": 31, "a": 31 * 31 + 10, "d": 0,
    }  # fmt: skip


def test_only_what_is_under_the_roots_is_evaluated() -> None:
    graph: Graph = {"a": [["b"]], "b": [[1]], "circle": [["circle"]]}
    assert evaluate(graph, COUNTS, lambda node: 3, roots=["b"]) == {1: 3, "b": 3}
    assert evaluate(graph, COUNTS, lambda node: 3, roots=[1]) == {1: 3}


def test_a_cycle_cannot_keep_itself_alive() -> None:
    graph: Graph = {"a": [["b", 1]], "b": [["a"]]}
    supports: Supports[int] = Supports()
    assert evaluate(graph, BOOLEAN, lambda node: True) == {1: True, "a": False, "b": False}
    assert evaluate(graph, supports, lambda node: supports.variable(variable(node)))["a"] == supports.zero
    assert evaluate(graph, TROPICAL, lambda node: 0)["b"] == INFINITE


def test_derivations_deeper_than_pythons_stack() -> None:
    depth = 5_000
    chain: dict[int, list[list[int]]] = {node: [[node - 1]] for node in range(1, depth)}
    assert evaluate(chain, COUNTS, lambda node: 2, roots=[depth - 1])[depth - 1] == 2
    ring = {**chain, 1: [[0], [depth - 1]]}
    assert evaluate(ring, TROPICAL, lambda node: 7)[depth - 1] == 7


def test_a_semiring_that_lies_about_its_laws_does_not_loop() -> None:
    class Lying(Counts):
        absorptive = True

    with pytest.raises(InternalError, match="said to be absorptive"):
        evaluate({"a": [["leaf"], ["a"]]}, Lying(), lambda node: 1)


NODES: list[str | int] = ["a", "b", "c", "d", "e", 1, 2, 3, 4]
BODIES = st.lists(st.lists(st.sampled_from(NODES), max_size=3), max_size=3)
GRAPHS: st.SearchStrategy[Graph] = st.fixed_dictionaries({head: BODIES for head in NODES if isinstance(head, str)})


def derivable(graph: Graph, present: frozenset[int]) -> set[str | int]:
    """The heads that follow from these leaves, by trying until nothing new follows."""
    true: set[str | int] = set(present)
    while more := {head for head, bodies in graph.items() if any(set(body) <= true for body in bodies)} - true:
        true |= more
    return true


@given(GRAPHS)
def test_provenance_says_what_follows_from_every_choice_of_leaves(graph: Graph) -> None:
    supports: Supports[int] = Supports()
    bdd = Bdd()
    spelled = evaluate(graph, supports, lambda node: supports.variable(variable(node)))
    drawn = evaluate(graph, bdd, lambda node: bdd.variable(variable(node)))
    for choice in product([False, True], repeat=4):
        present = frozenset(leaf for leaf, chosen in zip((1, 2, 3, 4), choice, strict=True) if chosen)
        expected = derivable(graph, present)
        truths = evaluate(graph, BOOLEAN, present.__contains__)
        for head in graph:
            assert any(support <= present for support in spelled[head]) == (head in expected)
            chances = {leaf: float(leaf in present) for leaf in (1, 2, 3, 4)}
            assert bdd.probability(drawn[head], chances) == (head in expected)
            assert truths[head] == (head in expected)


@given(GRAPHS, st.lists(st.integers(0, 9), min_size=4, max_size=4))
def test_costs_with_every_leaf_used_once_come_from_the_supports(graph: Graph, costs: list[int]) -> None:
    lowest = evaluate(graph, TROPICAL, lambda node: costs[variable(node) - 1])
    supports: Supports[int] = Supports()
    spelled = evaluate(graph, supports, lambda node: supports.variable(variable(node)))
    for head in graph:
        # A leaf that a derivation uses twice is paid twice, so supports give a lower bound.
        bound = min((sum(costs[leaf - 1] for leaf in support) for support in spelled[head]), default=INFINITE)
        assert lowest[head] >= bound
        assert (lowest[head] == INFINITE) == (not spelled[head])


@given(GRAPHS)
def test_components_come_after_what_they_need(graph: Graph) -> None:
    found = components(graph, graph)
    level = {node: i for i, component in enumerate(found) for node in component}
    assert sum(map(len, found)) == len(level)
    for head, bodies in graph.items():
        assert all(level[need] <= level[head] for body in bodies for need in body)
    reaches = {head: {need for body in bodies for need in body} for head, bodies in graph.items()}
    for _ in graph:
        for needs in reaches.values():
            needs.update(*(reaches.get(need, set()) for need in list(needs)))
    for one, other in product(graph, repeat=2):
        together = one == other or (other in reaches[one] and one in reaches[other])
        assert (level[one] == level[other]) == together


def test_minimal_keeps_what_contains_no_other() -> None:
    family = {frozenset({1, 2}), frozenset({1}), frozenset({2, 3}), frozenset({1, 2, 3})}
    assert minimal(family) == {frozenset({1}), frozenset({2, 3})}
