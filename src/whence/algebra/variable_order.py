"""The order of variables that keeps diagrams small: links as a depth-first traversal of the network meets them.

A diagram shares best what derivations have in common at their beginning, and a depth-first order keeps the variables
of one way, and of its branches, next to each other.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from whence.algebra.derivations import Derivations, needs
from whence.model.graphs import reached

N = TypeVar("N", bound=Hashable)


class DepthFirstOrder(Generic[N]):
    """The links of a changing network in depth-first order.

    Kept is what decides the order: where traversals start, and the sequence of links at every node. A new link
    - at a node that is there goes behind the node's other links;
    - at a new node that leads to the start of a traversal, which nothing else leads to, makes the new node that start;
    - at any other new node starts a traversal of its own, behind all others.

    The order itself is traversed when it is asked for, in time linear in the links. Shifting positions on every insert
    costs the same each time; and moving only the links below the new one's target would not stay depth-first, where
    these lead on to links that used to come earlier. After a delete, what hung on the link follows the next link that
    leads there; what nothing leads to any more comes last, as its links are still there.
    """

    def __init__(self) -> None:
        self._links: dict[int, tuple[N, N]] = {}
        self._outgoing: dict[N, dict[int, N]] = {}
        self._incoming: dict[N, int] = {}
        # Where traversals start, by rank.
        self._starts: dict[N, int] = {}
        self._next_rank = 0

    def insert(self, link: int, source: N, target: N) -> None:
        if source not in self._outgoing:
            if source not in self._incoming:
                self._start(source, target)
            self._outgoing[source] = {}
        self._links[link] = (source, target)
        self._outgoing[source][link] = target
        self._incoming[target] = self._incoming.get(target, 0) + 1

    def delete(self, link: int) -> None:
        source, target = self._links.pop(link)
        del self._outgoing[source][link]
        if not self._outgoing[source]:
            del self._outgoing[source]
            self._starts.pop(source, None)
        self._incoming[target] -= 1
        if not self._incoming[target]:
            del self._incoming[target]

    def order(self) -> list[int]:
        """All links, from the top of the diagrams."""
        starts = sorted(self._starts, key=self._starts.__getitem__)
        return list(_traverse(self._outgoing, [*starts, *self._outgoing]))

    def _start(self, source: N, target: N) -> None:
        if target in self._starts and target not in self._incoming:
            self._starts[source] = self._starts.pop(target)
        else:
            self._starts[source] = self._next_rank
            self._next_rank += 1


def leaf_order(derivations: Derivations[N], roots: Iterable[N]) -> list[N]:
    """The same for any program: leaves as a depth-first walk down the derivations of the roots first meets them."""
    met = reached([*roots][::-1], lambda head: [*needs(derivations, head)][::-1])
    return [node for node in met if node not in derivations]


def level_order(derivations: Derivations[N], roots: Iterable[N]) -> list[N]:
    """Leaves as they are met level by level: with those that are about as far from the roots next to each other.

    What a diagram has to keep apart between one level and the next is then no more than what joins the two, which is
    little where derivations are like a path or a tree, however long.
    """
    met = dict.fromkeys(roots)
    todo = list(met)
    for head in todo:
        new = [need for need in dict.fromkeys(needs(derivations, head)) if need not in met]
        met.update(dict.fromkeys(new))
        todo += new
    return [node for node in todo if node not in derivations]


def _traverse(outgoing: Mapping[N, Mapping[int, N]], starts: Iterable[N]) -> Iterator[int]:
    visited: set[N] = set()
    for start in starts:
        if start in visited:
            continue
        visited.add(start)
        path = [iter(outgoing.get(start, {}).items())]
        while path:
            for link, target in path[-1]:
                yield link
                if target not in visited:
                    visited.add(target)
                    path.append(iter(outgoing.get(target, {}).items()))
                    break
            else:
                path.pop()
