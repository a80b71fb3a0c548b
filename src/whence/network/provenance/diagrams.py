"""Absorption provenance as decision diagrams.

In messages the diagrams of a batch share their nodes: varint n, n varint tuple ids, in the order of the diagrams from
the top; varint n, and per node, from the bottom, varint number of its id, varint reference if the tuple is there,
varint reference if it is not; then a varint reference per annotation. Reference 0 is false, 1 is true, and k + 2 is
the node of number k, which comes before the one that refers to it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import reduce
from weakref import WeakKeyDictionary

from whence.network.provenance.annotations import Tuple
from whence.network.values import DamagedError, Reader, Writer
from whence.semirings.bdd import Bdd, Diagram
from whence.semirings.dag import FIRST_NODE, Dag, Node


class Diagrams:
    """`_masks` says which leaves a diagram may mention, as bits: never too few. To ask the diagram takes a walk."""

    def __init__(self) -> None:
        self._bdd = Bdd(capacity=1 << 16)
        self._ids: list[int] = []
        self._bits: dict[int, int] = {}
        self._masks: WeakKeyDictionary[Diagram, int] = WeakKeyDictionary()
        self._masks[self._bdd.one] = 0

    def leaf(self, tuple_id: int) -> Diagram:
        return self._masked(self._bdd.variable(tuple_id), 1 << self._bit(tuple_id))

    def derived(self, head: Tuple, rule: int, body: Sequence[Diagram]) -> Diagram:  # noqa: ARG002 - only leaves count
        return reduce(self._times, body, self._bdd.one)

    def plus(self, left: Diagram, right: Diagram) -> Diagram:
        return self._masked(self._bdd.plus(left, right), self._masks[left] | self._masks[right])

    def without(self, annotation: Diagram, ids: Collection[int]) -> Diagram:
        gone = sum(1 << self._bits[each] for each in set(ids) if each in self._bits)
        return self._masked(self._bdd.without(annotation, ids), self._masks[annotation] & ~gone)

    def is_zero(self, annotation: Diagram) -> bool:
        return annotation is self._bdd.zero

    def leaves(self, annotation: Diagram) -> Iterator[int]:
        mask = self._masks[annotation]
        while mask:
            lowest = mask & -mask
            yield self._ids[lowest.bit_length() - 1]
            mask ^= lowest

    def write(self, annotations: Sequence[Diagram]) -> bytes:
        dag = self._bdd.dag(annotations)
        variables = {variable: number for number, variable in enumerate(dag.variables())}
        writer = Writer()
        writer.varint(len(variables))
        for variable in variables:
            writer.varint(variable)
        writer.varint(len(dag.nodes))
        for variable, high, low in dag.nodes:
            writer.varint(variables[variable])
            writer.varint(high)
            writer.varint(low)
        for root in dag.roots:
            writer.varint(root)
        return bytes(writer.data)

    def read(self, data: bytes, count: int) -> list[Diagram]:
        reader = Reader(data)
        ids = [reader.varint() for _ in range(reader.count())]
        nodes: list[Node] = []
        for place in range(FIRST_NODE, FIRST_NODE + reader.count()):
            number, high, low = reader.varint(), reader.varint(), reader.varint()
            if number >= len(ids) or high >= place or low >= place:
                raise DamagedError("a diagram refers to something that does not come before it")
            nodes.append(Node(ids[number], high, low))
        roots = tuple([reader.varint() for _ in range(count)])
        if any(root >= FIRST_NODE + len(nodes) for root in roots) or not reader.is_done:
            raise DamagedError("its diagrams are not those of its rows")
        dag = Dag(tuple(nodes), roots)
        masks = self._masks_of(dag)
        return [self._masked(each, masks[root]) for each, root in zip(self._bdd.load(dag), roots, strict=True)]

    def arrange(self, order: Sequence[int]) -> None:
        self._bdd.reorder(order)

    def _times(self, left: Diagram, right: Diagram) -> Diagram:
        return self._masked(self._bdd.times(left, right), self._masks[left] | self._masks[right])

    def _masks_of(self, dag: Dag) -> list[int]:
        masks = [0] * FIRST_NODE
        for node in dag.nodes:
            masks.append(1 << self._bit(node.variable) | masks[node.high] | masks[node.low])
        return masks

    def _masked(self, diagram: Diagram, mask: int) -> Diagram:
        known = self._masks.get(diagram)
        # Both are enough, so what they have in common is.
        self._masks[diagram] = mask if known is None else mask & known
        return diagram

    def _bit(self, tuple_id: int) -> int:
        bit = self._bits.get(tuple_id)
        if bit is None:
            bit = self._bits[tuple_id] = len(self._ids)
            self._ids.append(tuple_id)
        return bit
