"""Absorption provenance of a node: as decision diagrams, or spelled out as minimal supports."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import reduce

import numpy as np

from whence.algebra.provenance import Antichain, Supports
from whence.incremental.recursive.journal import UndoLog
from whence.lab.network.diagrams.held import HeldDiagrams
from whence.lab.network.diagrams.layout import (
    AND,
    FALSE,
    FIRST_BRANCH,
    OR,
    TRUE,
    Array,
    Long,
    as_list,
    packed,
    unpacked,
)
from whence.lab.network.diagrams.shared import SharedDiagrams
from whence.lab.network.provenance.annotations import Annotations, ValueAnnotations
from whence.lab.network.values import DamagedError, ValueReader, ValueWriter
from whence.model.types import Row


class Diagrams(Annotations[int]):
    """An annotation is the number of a diagram among those of the node."""

    def __init__(self) -> None:
        self._shared = SharedDiagrams()
        self._tables: list[HeldDiagrams] = []

    def leaf(self, tuple_id: int) -> int:
        return self._shared.leaf(tuple_id)

    def derived(self, relation: str, heads: Sequence[Row], rule: int, bodies: Sequence[Sequence[int]]) -> list[int]:  # noqa: ARG002 - only leaves count
        if not bodies:
            return [TRUE] * len(heads)
        products = _array(bodies[0])
        for others in bodies[1:]:
            products = self._shared.combine(AND, products, _array(others))
        return as_list(products)

    def plus(self, left: int, right: int) -> int:
        return int(self._shared.combine(OR, _array([left]), _array([right]))[0])

    def without(self, annotations: Sequence[int], ids: Collection[int]) -> list[int]:
        return as_list(self._shared.without(_array(annotations), ids))

    def is_zero(self, annotation: int) -> bool:
        return annotation == FALSE

    def table(self, journal: UndoLog) -> HeldDiagrams:
        table = HeldDiagrams(self._shared, journal)
        self._tables.append(table)
        return table

    def write(self, annotations: Sequence[int]) -> bytes:
        ids, numbers, references = self._shared.flat(_array(annotations))
        return packed(np.concatenate(([len(ids)], ids, [len(numbers)], numbers.ravel(), references)).astype(np.int64))

    def read(self, data: bytes, count: int) -> list[int]:
        numbers = unpacked(data)
        if numbers is None:
            raise DamagedError("its diagrams end too early")
        ids, rest = _counted(numbers, 1)
        branches, references = _counted(rest, 3)
        triples = branches.reshape(-1, 3)
        if len(references) != count or (references >= FIRST_BRANCH + len(triples)).any():
            raise DamagedError("its diagrams are not those of its rows")
        below = np.arange(FIRST_BRANCH, FIRST_BRANCH + len(triples))
        if (triples[:, 0] >= len(ids)).any() or (triples[:, 1:].max(axis=1, initial=0) >= below).any():
            raise DamagedError("a diagram refers to something that does not come before it")
        return as_list(self._shared.built(ids.tolist(), triples)[references])

    def arrange(self, order: Sequence[int]) -> None:
        self._shared.arrange(order)

    def tidy(self) -> None:
        self._shared.tidy()

    def settle(self) -> None:
        for table in self._tables:
            table.settle()


def _counted(numbers: Long, width: int) -> tuple[Long, Long]:
    """How many there are, `width` numbers each, comes first; these, and what follows."""
    end = 1 + width * int(numbers[0]) if len(numbers) else 1
    if end > len(numbers):
        raise DamagedError("it ends too early")
    return numbers[1:end], numbers[end:]


def _array(numbers: Sequence[int]) -> Array:
    return np.array(numbers, np.int32)


class SupportSets(ValueAnnotations[Antichain[int]]):
    def __init__(self) -> None:
        self._supports: Supports[int] = Supports()

    def leaf(self, tuple_id: int) -> Antichain[int]:
        return self._supports.variable(tuple_id)

    def derived(
        self,
        relation: str,  # noqa: ARG002 - only leaves count
        heads: Sequence[Row],
        rule: int,  # noqa: ARG002 - of whatever rule
        bodies: Sequence[Sequence[Antichain[int]]],
    ) -> list[Antichain[int]]:
        if not bodies:
            return [self._supports.one] * len(heads)
        return [reduce(self._supports.times, body) for body in zip(*bodies, strict=True)]

    def plus(self, left: Antichain[int], right: Antichain[int]) -> Antichain[int]:
        return self._supports.plus(left, right)

    def without(self, annotations: Sequence[Antichain[int]], ids: Collection[int]) -> list[Antichain[int]]:
        return [self._supports.without(each, ids) for each in annotations]

    def is_zero(self, annotation: Antichain[int]) -> bool:
        return not annotation

    def leaves(self, annotation: Antichain[int], known: Antichain[int] | None) -> Iterable[int]:
        return {tuple_id for support in annotation - (known or frozenset()) for tuple_id in support}

    def write(self, annotations: Sequence[Antichain[int]]) -> bytes:
        writer = ValueWriter()
        for annotation in annotations:
            writer.varint(len(annotation))
            for support in sorted(map(sorted, annotation)):
                writer.varint(len(support))
                for tuple_id in support:
                    writer.varint(tuple_id)
        return bytes(writer.data)

    def read(self, data: bytes, count: int) -> list[Antichain[int]]:
        reader = ValueReader(data)
        annotations = [
            frozenset([frozenset([reader.varint() for _ in range(reader.count())]) for _ in range(reader.count())])
            for _ in range(count)
        ]
        if not reader.is_done:
            raise DamagedError("something follows the last annotation")
        return annotations
