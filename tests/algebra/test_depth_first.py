"""The order of variables: paper 001, section 3.5."""

from __future__ import annotations

import random
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.algebra.derivations import Derivations, evaluate
from whence.algebra.diagrams import Bdd, Diagram
from whence.algebra.variable_order import DepthFirstOrder, leaf_order

# Figure 9 is a picture; this is the network that its provenance expression and its two traversals describe.
FIGURE_9 = ["AB", "BF", "BC", "CF", "AD", "DF", "AE", "ED"]
BREADTH_FIRST = [0, 4, 6, 1, 2, 5, 7, 3]


def reachable_from_a() -> Derivations[str | int]:
    """reachable(x, F) :- link(x, F).  reachable(x, F) :- link(x, z), reachable(z, F)."""
    heads: dict[str | int, list[list[str | int]]] = {x: [] for x in "ABCDE"}
    for link, (x, z) in enumerate(map(tuple, FIGURE_9)):
        heads[x].append([link] if z == "F" else [link, z])
    return heads


def test_the_traversals_of_figure_9_are_those_of_the_text() -> None:
    links = [(link[0], link[1]) for link in FIGURE_9]
    assert arrivals(*FIGURE_9).order() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert leaf_order(reachable_from_a(), ["A"]) == [0, 1, 2, 3, 4, 5, 6, 7]
    waiting, seen, met = deque("A"), {"A"}, []
    while waiting:
        here = waiting.popleft()
        for link, (x, y) in enumerate(links):
            if x == here:
                met.append(link)
                waiting.extend({y} - seen)
                seen.add(y)
    assert met == BREADTH_FIRST


@pytest.mark.parametrize(("order", "nodes"), [(range(8), 9), (BREADTH_FIRST, 18)], ids=["depth", "breadth"])
def test_figure_10(order: list[int], nodes: int) -> None:
    bdd = Bdd(order)
    p = [bdd.variable(link) for link in range(8)]
    plus, times = bdd.plus, bdd.times
    formula = plus(times(p[0], plus(p[1], times(p[2], p[3]))), times(plus(p[4], times(p[6], p[7])), p[5]))
    assert formula.function.node_count() - 1 == nodes

    derived = evaluate(reachable_from_a(), bdd, lambda node: bdd.variable(int(node)))
    assert derived["A"] is formula


def arrivals(*links: str) -> DepthFirstOrder[str]:
    order: DepthFirstOrder[str] = DepthFirstOrder()
    for number, link in enumerate(links):
        order.insert(number, link[0], link[1])
    return order


def shown(links: list[str], order: DepthFirstOrder[str]) -> list[str]:
    return [links[link] for link in order.order()]


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        # Figure 11: x is new and y leads nowhere; x is new and y starts a traversal, or is reached already.
        (["ab", "xy"], ["ab", "xy"]),
        (["ab", "yb", "xy"], ["ab", "xy", "yb"]),
        (["yb", "ab", "xy"], ["xy", "yb", "ab"]),
        (["ay", "yb", "ac", "xy"], ["ay", "yb", "ac", "xy"]),
        # x is led to and leads nowhere: y follows it, and so do the links of y when they came later.
        (["ax", "ab", "xy"], ["ax", "xy", "ab"]),
        (["ax", "yb", "yc", "xy"], ["ax", "xy", "yb", "yc"]),
        (["ay", "yb", "yx", "xy"], ["ay", "yb", "yx", "xy"]),
        # x leads somewhere: y comes after that.
        (["ax", "xb", "bc", "ad", "yb", "xy"], ["ax", "xb", "bc", "xy", "yb", "ad"]),
        # What the links of y lead to moves along with them, and is not left behind.
        (["rx", "ru", "uv", "ry", "yu", "xy"], ["rx", "xy", "yu", "uv", "ru", "ry"]),
    ],
)
def test_where_a_new_link_goes(links: list[str], expected: list[str]) -> None:
    assert shown(links, arrivals(*links)) == expected


@pytest.mark.parametrize(
    ("links", "deleted", "expected"),
    [
        # The orphaned part follows the next link that leads there.
        (["ab", "bc", "cd", "ac", "ae"], "bc", ["ab", "ac", "cd", "ae"]),
        # Without such a link it comes last, because its links are still there.
        (["ab", "bc", "ad"], "ab", ["ad", "bc"]),
        # A node that leads nowhere any more is as new.
        (["ab", "cd"], "ab", ["cd"]),
    ],
)
def test_where_links_go_after_a_delete(links: list[str], deleted: str, expected: list[str]) -> None:
    order = arrivals(*links)
    order.delete(links.index(deleted))
    assert shown(links, order) == expected


def is_depth_first(links: list[tuple[int, int]]) -> bool:
    """Whether walking these links in turn only ever steps back from a node when all its links are done."""
    left = {node: sum(source == node for source, _ in links) for link in links for node in link}
    visited: set[int] = set()
    path: list[int] = []
    for source, target in links:
        while path and path[-1] != source:
            if left[path.pop()]:
                return False
        if not path:
            if source in visited:
                return False
            visited.add(source)
            path.append(source)
        left[source] -= 1
        if target not in visited:
            visited.add(target)
            path.append(target)
    return True


STEPS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)) | st.integers(0, 30), max_size=40)


@given(STEPS)
def test_the_order_is_a_depth_first_traversal_after_every_change(steps: list[tuple[int, int] | int]) -> None:
    order: DepthFirstOrder[int] = DepthFirstOrder()
    links: dict[int, tuple[int, int]] = {}
    for number, step in enumerate(steps):
        if isinstance(step, tuple):
            links[number] = step
            order.insert(number, *step)
        elif links:
            deleted = sorted(links)[step % len(links)]
            del links[deleted]
            order.delete(deleted)
        found = order.order()
        assert sorted(found) == sorted(links)
        assert is_depth_first([links[link] for link in found])


def test_depth_first_is_smaller_than_the_order_of_arrival() -> None:
    # A ladder: seven pairs of nodes, both linked to both of the next pair, with links that arrive in any order.
    links = [(2 * i + x, 2 * i + 2 + y) for i in range(6) for x in range(2) for y in range(2)]
    random.Random(3).shuffle(links)
    end = 12
    ladder: dict[str | int, list[list[str | int]]] = {f"node {node}": [] for node in range(14)}
    for link, (source, target) in enumerate(links):
        ladder[f"node {source}"].append([link] if target == end else [link, f"node {target}"])

    # From the first pair, as the links of a node would arrive that starts there.
    depth_first: DepthFirstOrder[int] = DepthFirstOrder()
    for link, (source, target) in sorted(enumerate(links), key=lambda each: each[1][0]):
        depth_first.insert(link, source, target)

    sizes = []
    for order in (list(range(len(links))), depth_first.order()):
        bdd = Bdd(order)
        variables: dict[str | int, Diagram] = {link: bdd.variable(link) for link in order}
        derived = evaluate(ladder, bdd, variables.__getitem__, ["node 0"])
        sizes.append(derived["node 0"].function.node_count() - 1)
    assert sizes[1] * 2 < sizes[0]
