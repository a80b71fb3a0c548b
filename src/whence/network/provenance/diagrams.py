"""Absorption provenance as decision diagrams.

In messages the diagrams of a batch share their branches: varint n, n varint tuple ids, in the order of the diagrams
from the top; varint n, and per branch, from the bottom, varint number of its id, varint reference if the tuple is
there, varint reference if it is not; then a varint reference per annotation. Reference 0 is false, 1 is true, and
k + 2 is the branch of number k, which comes before the one that refers to it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from whence.engines.local.recursive.journal import Journal
from whence.model.types import Row
from whence.network.diagrams.held import HeldDiagrams
from whence.network.diagrams.layout import AND, FALSE, FIRST_BRANCH, OR, TRUE, Array, Long
from whence.network.diagrams.shared import SharedDiagrams
from whence.network.diagrams.varints import packed, unpacked
from whence.network.values import DamagedError


class Diagrams:
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
        return _list(products)

    def plus(self, left: int, right: int) -> int:
        return int(self._shared.combine(OR, _array([left]), _array([right]))[0])

    def without(self, annotations: Sequence[int], ids: Collection[int]) -> list[int]:
        return _list(self._shared.without(_array(annotations), ids))

    def is_zero(self, annotation: int) -> bool:
        return annotation == FALSE

    def table(self, journal: Journal) -> HeldDiagrams:
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
        return _list(self._shared.built(ids.tolist(), triples)[references])

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


def _list(numbers: Array) -> list[int]:
    listed: list[int] = numbers.tolist()
    return listed
