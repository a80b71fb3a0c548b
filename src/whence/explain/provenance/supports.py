"""Minimal supports, smallest first: sets of base rows that are enough for a row, and of which none can be left out.

The supports of all rows of a cone are found together, in the order of their sizes, as Dijkstra finds distances: what a
derivation needs has a support that is no larger than that of its head. A support that contains one that its row has
already is dropped (absorption), so cycles come to an end by themselves. A caller that wants few stops early.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import product
from typing import NamedTuple

from whence.explain.proofs.reasons import Fact, Watch
from whence.explain.provenance.cone import AbsentRow, AggregateValue, Cone, Node


class Enumeration:
    """The minimal supports of a cone's row one after the other, as bits; `leaves` says of what.

    Where `counts_absent`, what must be absent takes part like a base row; else it just holds.
    """

    def __init__(
        self,
        cone: Cone,
        root: Node,
        watch: Watch,
        without: Collection[Node] = (),
        *,
        counts_absent: bool = False,
    ) -> None:
        self.leaves: list[Node] = []
        self._bits: dict[Node, int] = {}
        self._counts_absent = counts_absent
        self._watch = watch
        self._root = root
        self._supports: dict[Node, list[int]] = {}
        # Per derived node, the derivations that need it: head, bits of leaves, all derived nodes that are needed.
        self._uses: dict[Node, list[_Use]] = {}
        self._heap: list[tuple[int, int, Node, int]] = []
        self._pushed = 0
        gone = frozenset(without)
        self._ahead = _ahead(cone, root)
        for head, bodies in cone.derivations.items():
            for body in bodies:
                if gone.isdisjoint(body):
                    self._add(head, body, cone)
        if root in cone.base and root not in gone:
            self._push(root, self._bit(root))

    def _add(self, head: Node, body: Sequence[Node], cone: Cone) -> None:
        bits = 0
        inner: dict[Node, None] = {}
        for need in body:
            if need in cone.derivations:
                inner[need] = None
            elif self._counts_absent or not isinstance(need, AbsentRow):
                bits |= self._bit(need)
        use = _Use(head, bits, tuple(inner))
        for need in inner:
            self._uses.setdefault(need, []).append(use)
        if not inner:
            self._push(head, bits)

    def __iter__(self) -> Iterator[int]:
        """Stops where there are no more, or when the watch says so."""
        while self._heap:
            if self._watch.step():
                return
            _, _, node, support = heappop(self._heap)
            known = self._supports.setdefault(node, [])
            if any(smaller & support == smaller for smaller in known):
                continue
            known.append(support)
            for use in self._uses.get(node, ()):
                self._combine(use, node, support)
            if node == self._root:
                yield support

    def leaves_of(self, support: int) -> frozenset[Node]:
        found: list[Node] = []
        while support:
            lowest = support & -support
            found.append(self.leaves[lowest.bit_length() - 1])
            support ^= lowest
        return frozenset(found)

    def _combine(self, use: _Use, node: Node, support: int) -> None:
        """The new support of a node together with those that the other nodes of a derivation have."""
        others = [self._supports.get(each, []) for each in use.inner if each != node]
        for combination in product(*others):
            if self._watch.is_over:
                return
            bits = use.bits | support
            for part in combination:
                bits |= part
            self._push(use.head, bits)
            if others:
                self._watch.step()

    def _push(self, node: Node, support: int) -> None:
        ahead = 0 if self._ahead is None else self._ahead.get(node)
        if ahead is None or any(smaller & support == smaller for smaller in self._supports.get(node, ())):
            return
        self._pushed += 1
        # The number keeps entries of one size in the order in which they were found.
        heappush(self._heap, (support.bit_count() + ahead, self._pushed, node, support))

    def _bit(self, leaf: Node) -> int:
        number = self._bits.get(leaf)
        if number is None:
            number = self._bits[leaf] = len(self.leaves)
            self.leaves.append(leaf)
        return 1 << number


class _Use(NamedTuple):
    head: Node
    bits: int
    inner: tuple[Node, ...]


def is_path_like(cone: Cone) -> bool:
    """Whether every derivation needs one derived row at most, and every base row stands in one derivation at most.

    Then a proof is a path, and what is used on one part of it is not used on another.
    """
    used: set[Node] = set()
    for bodies in cone.derivations.values():
        for body in bodies:
            if sum(need in cone.derivations for need in set(body)) > 1:
                return False
            for need in set(body):
                if need not in cone.derivations:
                    if need in used:
                        return False
                    used.add(need)
    return True


def _ahead(cone: Cone, root: Node) -> dict[Node, int] | None:
    """How many base rows it takes at least to come from a node to the root; None where that cannot be told.

    To look ahead like this is what makes a search for the smallest support of one row a search for a shortest path.
    """
    if not is_path_like(cone):
        return None
    found = {root: 0}
    heap = [(0, 0, root)]
    pushed = 0
    while heap:
        distance, _, node = heappop(heap)
        if distance > found[node]:
            continue
        for body in cone.derivations.get(node, ()):
            inner = [need for need in body if need in cone.derivations]
            further = distance + sum(need not in cone.derivations and not isinstance(need, AbsentRow) for need in body)
            for need in inner:
                if further < found.get(need, further + 1):
                    found[need] = further
                    pushed += 1
                    heappush(heap, (further, pushed, need))
    return found


def smallest(cone: Cone, root: Fact, watch: Watch, without: Collection[Fact] = ()) -> frozenset[Fact] | None:
    """A smallest support that does without some base rows; None if there is none."""
    enumeration = Enumeration(cone, root, watch, without)
    for support in enumeration:
        return base_rows(enumeration.leaves_of(support))
    return None


def base_rows(leaves: Iterable[Node]) -> frozenset[Fact]:
    """Those of a support's leaves that are base rows."""
    return frozenset(leaf for leaf in leaves if not isinstance(leaf, AbsentRow | AggregateValue))
