"""Reachability and paths over links, against searching the network."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from hypothesis import example, given, settings
from hypothesis import strategies as st

Row: TypeAlias = tuple[object, ...]
Views: TypeAlias = Mapping[str, Collection[Row]]
Check: TypeAlias = Callable[..., None]
Link: TypeAlias = tuple[str, str]
Weighted: TypeAlias = tuple[str, str, int]
Valued: TypeAlias = tuple[str, str, str, int]

SETTINGS = settings(max_examples=40)


def links(*, acyclic: bool = False) -> st.SearchStrategy[frozenset[Link]]:
    ends = st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef"))
    return st.frozensets(ends.filter(lambda link: link[0] < link[1]) if acyclic else ends, max_size=10)


def weighted(*, acyclic: bool = False) -> st.SearchStrategy[frozenset[Weighted]]:
    """Links with a number; two nodes may have several."""
    ends = st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde"), st.integers(1, 4))
    return st.frozensets(ends.filter(lambda link: link[0] < link[1]) if acyclic else ends, max_size=10)


# The network of the worked example: three nodes, four links, and cycles.
THREE_NODES: frozenset[Link] = frozenset({("A", "B"), ("B", "C"), ("C", "A"), ("C", "B")})
PRICED: frozenset[Weighted] = frozenset({("A", "B", 1), ("B", "C", 2), ("C", "A", 3), ("C", "B", 4), ("A", "C", 3)})
# Two ways from a to d cost the same, and a third has fewer links.
DIAMOND: frozenset[Weighted] = frozenset(
    {("a", "b", 1), ("a", "c", 2), ("b", "d", 3), ("c", "d", 2), ("a", "d", 5), ("d", "e", 1)}
)
DETOURS: frozenset[Link] = frozenset({("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "e"), ("a", "e")})


def reach(edges: Collection[Link], start: str) -> set[str]:
    """The nodes at the end of one or more links."""
    found: set[str] = set()
    frontier = [start]
    while frontier:
        node = frontier.pop()
        new = {there for here, there in edges if here == node} - found
        found |= new
        frontier.extend(new)
    return found


def walks(edges: Collection[Weighted]) -> set[tuple[tuple[str, ...], tuple[int, ...]]]:
    """All walks over acyclic links: the nodes, and the numbers of the links."""
    found: set[tuple[tuple[str, ...], tuple[int, ...]]] = {((here, there), (weight,)) for here, there, weight in edges}
    frontier = found
    while frontier:
        frontier = {
            ((here, *nodes), (weight, *weights))
            for nodes, weights in frontier
            for here, there, weight in edges
            if there == nodes[0]
        }
        found = found | frontier
    return found


def least(edges: Collection[Weighted]) -> dict[Link, int]:
    """Dijkstra's algorithm from each node, over one or more links."""
    found: dict[Link, int] = {}
    for start in {here for here, _, _ in edges}:
        queue = [(weight, there) for here, there, weight in edges if here == start]
        heapq.heapify(queue)
        while queue:
            cost, node = heapq.heappop(queue)
            if (start, node) not in found:
                found[start, node] = cost
                for here, there, weight in edges:
                    if here == node:
                        heapq.heappush(queue, (cost + weight, there))
    return found


def least_walks(edges: Collection[Weighted]) -> dict[Link, set[str]]:
    """All walks of least cost between two nodes. They are finite in number, since every link costs something."""
    best = least(edges)
    found: dict[Link, set[str]] = defaultdict(set)

    def extend(nodes: tuple[str, ...], cost: int) -> None:
        for here, there, weight in edges:
            if here == nodes[-1] and best[nodes[0], there] == cost + weight:
                found[nodes[0], there].add(".".join((*nodes, there)))
                extend((*nodes, there), cost + weight)

    for start in {here for here, _, _ in edges}:
        extend((start,), 0)
    return found


def chosen(choose: Callable[[Collection[int]], int], rows: Collection[Weighted]) -> set[Weighted]:
    """One number for each pair of nodes."""
    groups: dict[Link, list[int]] = defaultdict(list)
    for src, dst, value in rows:
        groups[src, dst].append(value)
    return {(*pair, choose(values)) for pair, values in groups.items()}


def reachable(link: Collection[Link]) -> Views:
    pairs = {(start, end) for start, _ in link for end in reach(link, start)}
    return {"reachable": pairs, "onCycle": {(src,) for src, dst in pairs if src == dst}}


def horizon(link: Collection[Link]) -> Views:
    near = {(src, dst, 1) for src, dst in link}
    far = {(src, dst, 2) for src, here in link for there, dst in link if here == there}
    around: dict[str, set[str]] = defaultdict(set)
    for src, dst, _ in near | far:
        around[src].add(dst)
    return {"within": near | far, "horizon": {(src, len(nodes)) for src, nodes in around.items()}}


def paths(link: Collection[Weighted]) -> Views:
    path = {(nodes[0], nodes[-1], ".".join(nodes), sum(costs), len(costs)) for nodes, costs in walks(link)}
    min_cost = chosen(min, [(src, dst, cost) for src, dst, _, cost, _ in path])
    min_hops = chosen(min, [(src, dst, length) for src, dst, _, _, length in path])
    cheapest = {(src, dst, vec, cost) for src, dst, vec, cost, _ in path if (src, dst, cost) in min_cost}
    fewest = {(src, dst, vec, length) for src, dst, vec, _, length in path if (src, dst, length) in min_hops}
    return {"path": path, **best_paths(min_cost, min_hops, cheapest, fewest)}


def cheapest(link: Collection[Weighted]) -> Views:
    hops = [(src, dst, 1) for src, dst, _ in link]
    min_cost, min_hops = least(link), least(hops)
    cheapest = {(*pair, vec, min_cost[pair]) for pair, vecs in least_walks(link).items() for vec in vecs}
    fewest = {(*pair, vec, min_hops[pair]) for pair, vecs in least_walks(hops).items() for vec in vecs}
    return best_paths(
        {(*pair, cost) for pair, cost in min_cost.items()},
        {(*pair, length) for pair, length in min_hops.items()},
        cheapest,
        fewest,
    )


def best_paths(
    min_cost: set[Weighted], min_hops: set[Weighted], cheapest: set[Valued], fewest: set[Valued]
) -> dict[str, Collection[Row]]:
    return {
        "minCost": min_cost,
        "minHops": min_hops,
        "cheapestPath": cheapest,
        "fewestHops": fewest,
        "shortestCheapestPath": {(*one, *other[2:]) for one in cheapest for other in fewest if one[:2] == other[:2]},
    }


def hops(link: Collection[Link]) -> Views:
    path = {(vec[0], vec[-1], ".".join(vec), len(ones)) for vec, ones in walks({(*pair, 1) for pair in link})}
    min_hops = chosen(min, [(src, dst, length) for src, dst, _, length in path])
    shortest = {(src, dst, vec, length) for src, dst, vec, length in path if (src, dst, length) in min_hops}
    return {"path": path, "minHops": min_hops, "shortestPath": shortest}


def bandwidth(link: Collection[Weighted]) -> Views:
    path = {(nodes[0], nodes[-1], ".".join(nodes), min(widths)) for nodes, widths in walks(link)}
    widest = chosen(max, [(src, dst, width) for src, dst, _, width in path])
    highest = {(src, dst, vec, width) for src, dst, vec, width in path if (src, dst, width) in widest}
    return {"path": path, "maxBandwidth": widest, "highestBandwidthPath": highest}


def widest(link: Collection[Weighted]) -> Views:
    """A bandwidth can be had where its links and wider ones lead."""
    had = set()
    for width in {width for _, _, width in link}:
        wide = [(src, dst) for src, dst, other in link if other >= width]
        had |= {(start, end, width) for start, _ in wide for end in reach(wide, start)}
    return {"maxBandwidth": chosen(max, had)}


def resilience(link: Collection[Link]) -> Views:
    found = [nodes for nodes, _ in walks({(*pair, 1) for pair in link})]
    ends = Counter((nodes[0], nodes[-1]) for nodes in found)
    return {
        "path": {(nodes[0], nodes[-1], ".".join(nodes)) for nodes in found},
        "resilience": {(*pair, count) for pair, count in ends.items()},
    }


@SETTINGS
@given(links())
@example(THREE_NODES)
def test_reachability(check: Check, link: frozenset[Link]) -> None:
    check("reachable", reachable, {"link": link})


@SETTINGS
@given(links())
@example(THREE_NODES)
def test_what_is_around_a_node(check: Check, link: frozenset[Link]) -> None:
    check("horizon", horizon, {"link": link})


@SETTINGS
@given(weighted(acyclic=True))
@example(DIAMOND)
def test_all_paths_and_the_best_of_them(check: Check, link: frozenset[Weighted]) -> None:
    check("paths", paths, {"link": link})


@SETTINGS
@given(weighted())
@example(DIAMOND)
@example(PRICED)
def test_only_the_best_paths(check: Check, link: frozenset[Weighted]) -> None:
    check("cheapest", cheapest, {"link": link})


@SETTINGS
@given(links(acyclic=True))
@example(DETOURS)
def test_shortest_paths(check: Check, link: frozenset[Link]) -> None:
    check("hops", hops, {"link": link})


@SETTINGS
@given(weighted(acyclic=True))
@example(DIAMOND)
def test_paths_of_highest_bandwidth(check: Check, link: frozenset[Weighted]) -> None:
    check("bandwidth", bandwidth, {"link": link})


@SETTINGS
@given(weighted())
@example(PRICED)
def test_highest_bandwidth(check: Check, link: frozenset[Weighted]) -> None:
    check("widest", widest, {"link": link})


@SETTINGS
@given(links(acyclic=True))
@example(DETOURS)
def test_resilience(check: Check, link: frozenset[Link]) -> None:
    check("resilience", resilience, {"link": link})
