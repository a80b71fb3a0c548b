"""Absorption provenance spelled out: per row its minimal supports, each a varint n and n varint tuple ids."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import reduce

from whence.engines.local.recursive.journal import Journal
from whence.model.types import Row
from whence.network.provenance.plain import PlainTable
from whence.network.values import DamagedError, Reader, Writer
from whence.semirings.absorption import Antichain
from whence.semirings.supports import Supports


class SupportSets:
    def __init__(self) -> None:
        self._supports = Supports()

    def leaf(self, tuple_id: int) -> Antichain:
        return self._supports.variable(tuple_id)

    def derived(
        self,
        relation: str,  # noqa: ARG002 - only leaves count
        heads: Sequence[Row],
        rule: int,  # noqa: ARG002 - of whatever rule
        bodies: Sequence[Sequence[Antichain]],
    ) -> list[Antichain]:
        if not bodies:
            return [self._supports.one] * len(heads)
        return [reduce(self._supports.times, body) for body in zip(*bodies, strict=True)]

    def plus(self, left: Antichain, right: Antichain) -> Antichain:
        return self._supports.plus(left, right)

    def without(self, annotations: Sequence[Antichain], ids: Collection[int]) -> list[Antichain]:
        return [self._supports.without(each, ids) for each in annotations]

    def is_zero(self, annotation: Antichain) -> bool:
        return not annotation

    def leaves(self, annotation: Antichain, known: Antichain | None) -> Iterable[int]:
        return {tuple_id for support in annotation - (known or frozenset()) for tuple_id in support}

    def table(self, journal: Journal) -> PlainTable[Antichain]:
        return PlainTable(self, journal)

    def write(self, annotations: Sequence[Antichain]) -> bytes:
        writer = Writer()
        for annotation in annotations:
            writer.varint(len(annotation))
            for support in sorted(map(sorted, annotation)):
                writer.varint(len(support))
                for tuple_id in support:
                    writer.varint(tuple_id)
        return bytes(writer.data)

    def read(self, data: bytes, count: int) -> list[Antichain]:
        reader = Reader(data)
        annotations = [
            frozenset([frozenset([reader.varint() for _ in range(reader.count())]) for _ in range(reader.count())])
            for _ in range(count)
        ]
        if not reader.is_done:
            raise DamagedError("something follows the last annotation")
        return annotations

    def arrange(self, order: Sequence[int]) -> None:
        """Sets have no order."""

    def tidy(self) -> None:
        """What nobody has is gone."""

    def settle(self) -> None:
        """Tables are settled with the journal."""
