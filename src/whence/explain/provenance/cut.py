"""The smallest set of base rows whose loss takes a row away: one that every support meets."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import combinations

from whence.explain.proofs.reasons import Fact, Watch
from whence.explain.provenance.cone import AbsentRow, Cone, Node, derived
from whence.explain.provenance.supports import is_path_like, smallest

# The node that all derivations from base rows alone lead to.
_GROUND = ("", ())


def smallest_cut(cone: Cone, root: Fact, watch: Watch) -> frozenset[Fact] | None:
    """A smallest cut of an exact cone; None if nothing can take the row away, or if the watch says so."""
    if root in cone.base:
        return frozenset((root,))
    if is_path_like(cone):
        return _by_flow(cone, root)
    return _by_supports(cone, root, watch)


def cut_by_trying(
    candidates: Sequence[Fact], holds: Callable[[Collection[Fact]], bool], watch: Watch
) -> frozenset[Fact] | None:
    """A smallest set of candidates without which the row is gone, by trying sets of one, of two, and so on.

    None if there is none, or if the watch says so.
    """
    for size in range(1, len(candidates) + 1):
        for rows in combinations(candidates, size):
            if watch.step():
                return None
            if not holds(rows):
                return frozenset(rows)
    return None


def _by_supports(cone: Cone, root: Fact, watch: Watch) -> frozenset[Fact] | None:
    """Meet all supports known so far with as few rows as possible; where that leaves another one, it is known too.

    What meets all those known is never larger than what meets all, so the first that leaves none is a smallest one.
    """
    known: list[frozenset[Fact]] = []
    while not watch.is_over:
        cut = _meeting(known, watch)
        if cut is None:
            return None
        if root not in derived(cone, cut):
            return frozenset(cut)
        support = smallest(cone, root, watch, cut)
        if support is None or not support:
            return None
        known.append(support)
    return None


def _meeting(sets: Sequence[frozenset[Fact]], watch: Watch) -> frozenset[Fact] | None:
    """A smallest set that meets all sets, by deepening: one element of the first that is not met, and then again."""
    for size in range(len(sets) + 1):
        found = _meeting_within(list(sets), size, watch)
        if found is not None:
            return found
        if watch.is_over:
            return None
    return None


def _meeting_within(sets: list[frozenset[Fact]], size: int, watch: Watch) -> frozenset[Fact] | None:
    if not sets:
        return frozenset()
    if size == 0 or _disjoint(sets) > size or watch.step():
        return None
    smallest_set = min(sets, key=len)
    for element in sorted(smallest_set, key=repr):
        rest = _meeting_within([each for each in sets if element not in each], size - 1, watch)
        if rest is not None:
            return rest | {element}
    return None


def _disjoint(sets: list[frozenset[Fact]]) -> int:
    """How many sets can be told apart that have nothing in common: each needs an element of its own."""
    taken: set[Fact] = set()
    number = 0
    for each in sorted(sets, key=len):
        if taken.isdisjoint(each):
            taken |= each
            number += 1
    return number


def _by_flow(cone: Cone, root: Fact) -> frozenset[Fact] | None:
    """Where proofs are paths: as many paths as have no base row in common, and a row on each."""
    edges: list[_Edge] = []
    leaving: dict[Node, list[int]] = {}
    for head, bodies in cone.derivations.items():
        for body in bodies:
            rows = [need for need in body if need not in cone.derivations and not isinstance(need, AbsentRow)]
            inner = [need for need in body if need in cone.derivations]
            target: Node = inner[0] if inner else _GROUND
            for source, end, capacity in ((head, target, 1 if rows else len(cone.base) + 1), (target, head, 0)):
                leaving.setdefault(source, []).append(len(edges))
                edges.append(_Edge(end, capacity, min(rows, key=repr) if rows else None))
    while _GROUND in (came := _reached(edges, leaving, root)):
        path = _path(edges, came)
        if all(edges[number].row is None for number in path):
            return None
        for number in path:
            edges[number].capacity -= 1
            edges[number ^ 1].capacity += 1
    cut = [
        edges[number].row
        for node in came
        for number in leaving.get(node, ())
        if number % 2 == 0 and edges[number].end not in came
    ]
    return frozenset(row for row in cut if row is not None)  # type: ignore[misc]


@dataclass(slots=True)
class _Edge:
    end: Node
    capacity: int
    row: Node | None


def _reached(edges: Sequence[_Edge], leaving: dict[Node, list[int]], root: Node) -> dict[Node, int | None]:
    """The nodes to which there is capacity left, each with the edge that led to it. The ground ends the search."""
    came: dict[Node, int | None] = {root: None}
    todo = deque([root])
    while todo and _GROUND not in came:
        for number in leaving.get(todo.popleft(), ()):
            edge = edges[number]
            if edge.capacity and edge.end not in came:
                came[edge.end] = number
                todo.append(edge.end)
    return came


def _path(edges: Sequence[_Edge], came: dict[Node, int | None]) -> list[int]:
    """The edges from the root to the ground, last first."""
    path: list[int] = []
    last = came[_GROUND]
    while last is not None:
        path.append(last)
        last = came[edges[last ^ 1].end]
    return path
