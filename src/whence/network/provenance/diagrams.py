"""Absorption provenance as decision diagrams.

In messages the diagrams of a batch share their nodes: varint n, n varint tuple ids, in the order of the diagrams from
the top; varint n, and per node, from the bottom, varint number of its id, varint reference if the tuple is there,
varint reference if it is not; then a varint reference per annotation. Reference 0 is false, 1 is true, and k + 2 is
the node of number k, which comes before the one that refers to it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import reduce

from whence.network.provenance.annotations import Tuple
from whence.network.values import DamagedError, Reader, Writer
from whence.semirings.bdd import Bdd, Diagram
from whence.semirings.dag import FIRST_NODE, Dag, Node


class Diagrams:
    """The mask of a diagram says which leaves it may mention, as bits: never too few."""

    def __init__(self) -> None:
        self._bdd = Bdd(capacity=1 << 18)
        self._ids: list[int] = []
        self._bits: dict[int, int] = {}
        self._leaves: dict[int, Diagram] = {}
        self._bdd.zero.mask = self._bdd.one.mask = 0

    def leaf(self, tuple_id: int) -> Diagram:
        leaf = self._leaves.get(tuple_id)
        if leaf is None:
            leaf = self._leaves[tuple_id] = _masked(self._bdd.variable(tuple_id), 1 << self._bit(tuple_id))
        return leaf

    def derived(self, head: Tuple, rule: int, body: Sequence[Diagram]) -> Diagram:  # noqa: ARG002 - only leaves count
        return reduce(self._times, body) if body else self._bdd.one

    def plus(self, left: Diagram, right: Diagram) -> Diagram:
        return _masked(self._bdd.plus(left, right), _mask(left) | _mask(right))

    def without(self, annotations: Sequence[Diagram], ids: Collection[int]) -> list[Diagram]:
        gone = sum(1 << self._bits[each] for each in set(ids) if each in self._bits)
        touched = list({each: None for each in annotations if _mask(each) & gone})
        left = dict(zip(touched, self._bdd.without_all(touched, ids), strict=True))
        for before, after in left.items():
            _masked(after, _mask(before) & ~gone)
        return [left.get(each, each) for each in annotations]

    def is_zero(self, annotation: Diagram) -> bool:
        return annotation is self._bdd.zero

    def leaves(self, annotation: Diagram, known: Diagram | None) -> Iterator[int]:
        mask = _mask(annotation) if known is None else _mask(annotation) & ~_mask(known)
        while mask:
            lowest = mask & -mask
            yield self._ids[lowest.bit_length() - 1]
            mask ^= lowest

    def write(self, annotations: Sequence[Diagram]) -> bytes:
        dag = self._bdd.dag(annotations)
        variables = {variable: number for number, variable in enumerate(dag.variables())}
        writer = Writer()
        writer.varint(len(variables))
        writer.varints(variables)
        writer.varint(len(dag.nodes))
        writer.varints(each for variable, high, low in dag.nodes for each in (variables[variable], high, low))
        writer.varints(dag.roots)
        return bytes(writer.data)

    def read(self, data: bytes, count: int) -> list[Diagram]:
        reader = Reader(data)
        ids = reader.varints(reader.count())
        numbers = iter(reader.varints(3 * reader.count()))
        nodes: list[Node] = []
        for place, (number, high, low) in enumerate(zip(numbers, numbers, numbers, strict=True), FIRST_NODE):
            if number >= len(ids) or high >= place or low >= place:
                raise DamagedError("a diagram refers to something that does not come before it")
            nodes.append(Node(ids[number], high, low))
        roots = tuple(reader.varints(count))
        if any(root >= FIRST_NODE + len(nodes) for root in roots) or not reader.is_done:
            raise DamagedError("its diagrams are not those of its rows")
        dag = Dag(tuple(nodes), roots)
        masks = self._masks_of(dag)
        return [_masked(each, masks[root]) for each, root in zip(self._bdd.load(dag), roots, strict=True)]

    def arrange(self, order: Sequence[int]) -> None:
        self._bdd.reorder(order)

    def _times(self, left: Diagram, right: Diagram) -> Diagram:
        return _masked(self._bdd.times(left, right), _mask(left) | _mask(right))

    def _masks_of(self, dag: Dag) -> list[int]:
        masks = [0] * FIRST_NODE
        for node in dag.nodes:
            masks.append(1 << self._bit(node.variable) | masks[node.high] | masks[node.low])
        return masks

    def _bit(self, tuple_id: int) -> int:
        bit = self._bits.get(tuple_id)
        if bit is None:
            bit = self._bits[tuple_id] = len(self._ids)
            self._ids.append(tuple_id)
        return bit


def _mask(diagram: Diagram) -> int:
    assert diagram.mask is not None, "only masked diagrams leave this module"
    return diagram.mask


def _masked(diagram: Diagram, mask: int) -> Diagram:
    # Both masks are enough, so what they have in common is.
    diagram.mask = mask if diagram.mask is None else mask & diagram.mask
    return diagram
