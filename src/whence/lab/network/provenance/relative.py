"""Relative provenance: the derivations themselves, as edges from every tuple to those it was derived from.

An annotation is a tuple and the edges that lead from it down to leaves. Nothing is simplified: a new derivation of
anything below is a change. Whether the tuple can still be derived is found by following the edges. What a batch of them
is in a message is in docs/network.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from whence.algebra.derivations import founded
from whence.lab.network.held import Tuple
from whence.lab.network.provenance.annotations import ValueAnnotations
from whence.lab.network.values import DamagedError, ValueReader, ValueWriter
from whence.model.types import Row

T = TypeVar("T")

# A leaf by its id, or a derived tuple.
Reference: TypeAlias = int | Tuple
Edge: TypeAlias = tuple[Tuple, int, tuple[Reference, ...]]


@dataclass(frozen=True, slots=True)
class Proofs:
    """Zero has no root."""

    root: Reference | None
    edges: frozenset[Edge]


ZERO = Proofs(None, frozenset())


class Edges(ValueAnnotations[Proofs]):
    def leaf(self, tuple_id: int) -> Proofs:
        return Proofs(tuple_id, frozenset())

    def derived(
        self, relation: str, heads: Sequence[Row], rule: int, bodies: Sequence[Sequence[Proofs]]
    ) -> list[Proofs]:
        each_body = zip(*bodies, strict=True) if bodies else [()] * len(heads)
        return [self._derived((relation, head), rule, body) for head, body in zip(heads, each_body, strict=True)]

    def _derived(self, head: Tuple, rule: int, body: Sequence[Proofs]) -> Proofs:
        roots = tuple([each.root for each in body if each.root is not None])
        return Proofs(head, frozenset([(head, rule, roots)]).union(*[each.edges for each in body]))

    def plus(self, left: Proofs, right: Proofs) -> Proofs:
        return Proofs(left.root if right.root is None else right.root, left.edges | right.edges)

    def without(self, annotations: Sequence[Proofs], ids: Collection[int]) -> list[Proofs]:
        gone = frozenset(ids)
        return [self._without(each, gone) for each in annotations]

    def _without(self, annotation: Proofs, gone: frozenset[int]) -> Proofs:
        edges = _derivable(edge for edge in annotation.edges if gone.isdisjoint(_leaves_of(edge)))
        root = annotation.root
        if root in gone or (not isinstance(root, int) and not any(edge[0] == root for edge in edges)):
            return ZERO
        return Proofs(root, edges)

    def is_zero(self, annotation: Proofs) -> bool:
        return annotation.root is None

    def leaves(self, annotation: Proofs, known: Proofs | None) -> Iterable[int]:
        if isinstance(annotation.root, int):
            return (annotation.root,)
        news = annotation.edges if known is None else annotation.edges - known.edges
        return {leaf for edge in news for leaf in _leaves_of(edge)}

    def write(self, annotations: Sequence[Proofs]) -> bytes:
        edges = {edge: at for at, edge in enumerate({edge: None for each in annotations for edge in each.edges})}
        mentioned = [each for head, _, body in edges for each in (head, *body)]
        mentioned += [each.root for each in annotations if each.root is not None]
        tuples = {each: at for at, each in enumerate(dict.fromkeys(t for t in mentioned if not isinstance(t, int)))}

        def reference(to: Reference) -> int:
            return 2 * to + 1 if isinstance(to, int) else 2 * tuples[to]

        writer = ValueWriter()
        writer.varint(len(tuples))
        for relation, row in tuples:
            writer.text(relation)
            writer.row(row)
        writer.varint(len(edges))
        for head, rule, body in edges:
            writer.varint(tuples[head])
            writer.varint(rule)
            writer.varint(len(body))
            for each in body:
                writer.varint(reference(each))
        for annotation in annotations:
            assert annotation.root is not None, "zero is never sent"
            writer.varint(reference(annotation.root))
            writer.varint(len(annotation.edges))
            for edge in annotation.edges:
                writer.varint(edges[edge])
        return bytes(writer.data)

    def read(self, data: bytes, count: int) -> list[Proofs]:
        reader = ValueReader(data)
        tuples = [(reader.text(), reader.row()) for _ in range(reader.count())]

        def reference() -> Reference:
            number = reader.varint()
            return number // 2 if number % 2 else _item(tuples, number // 2)

        edges = [
            (
                _item(tuples, reader.varint()),
                reader.varint(),
                tuple([reference() for _ in range(reader.count())]),
            )
            for _ in range(reader.count())
        ]
        annotations = [
            Proofs(reference(), frozenset([_item(edges, reader.varint()) for _ in range(reader.count())]))
            for _ in range(count)
        ]
        if not reader.is_done:
            raise DamagedError("something follows the last annotation")
        return annotations


def _leaves_of(edge: Edge) -> Iterable[int]:
    return [each for each in edge[2] if isinstance(each, int)]


def _derivable(edges: Iterable[Edge]) -> frozenset[Edge]:
    """The edges whose bodies follow from leaves: what only supports itself around a cycle is left out."""
    needs = {edge: {each for each in edge[2] if not isinstance(each, int)} for edge in edges}
    there: set[Tuple] = founded(((edge[0], needed) for edge, needed in needs.items()), ())
    return frozenset(edge for edge, needed in needs.items() if needed <= there)


def _item(items: Sequence[T], at: int) -> T:
    if at >= len(items):
        raise DamagedError("it refers to something that is not there")
    return items[at]
