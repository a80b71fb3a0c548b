"""Absorption provenance spelled out: the set of minimal supports."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet
from itertools import groupby

import numpy as np

from whence.semirings.absorption import Antichain, Support, require_few
from whence.semirings.handles import Handles, HandleTable, pairwise
from whence.semirings.semiring import Laws


class Supports:
    """Antichains of sets of variables: plus is union, times is union of each with each, and only minimal sets stay.

    Dropping every set that contains another one is absorption, and makes equal expressions equal as Python values.
    """

    name = "supports"
    laws = Laws(idempotent=True, absorptive=True, negatives=False)
    zero: Antichain = frozenset()
    one: Antichain = frozenset((frozenset(),))

    def __init__(self) -> None:
        self._table: HandleTable[Antichain] = HandleTable(self.zero, self.one)

    def variable(self, tuple_id: int) -> Antichain:
        return frozenset((frozenset((tuple_id,)),))

    def plus(self, left: Antichain, right: Antichain) -> Antichain:
        return minimal(left | right)

    def times(self, left: Antichain, right: Antichain) -> Antichain:
        products: set[Support] = set()
        for support in left:
            products.update(support | other for other in right)
            require_few(len(products))
        return minimal(products)

    def is_zero(self, annotation: Antichain) -> bool:
        return not annotation

    def without(self, annotation: Antichain, deleted: Collection[int]) -> Antichain:
        gone = frozenset(deleted)
        return frozenset(support for support in annotation if support.isdisjoint(gone))

    def holds(self, annotation: Antichain, present: AbstractSet[int]) -> bool:
        return any(support <= present for support in annotation)

    def minimal_supports(self, annotation: Antichain) -> Antichain:
        return annotation

    def handle(self, annotation: Antichain) -> int:
        return self._table.handle(annotation)

    def value(self, handle: int) -> Antichain:
        return self._table.value(handle)

    def retain(self, handles: Iterable[int]) -> None:
        self._table.retain({*handles, self.handle(self.zero), self.handle(self.one)})

    def plus_batch(self, left: Handles, right: Handles) -> Handles:
        return pairwise(lambda a, b: self.handle(self.plus(self.value(a), self.value(b))), left, right)

    def times_batch(self, left: Handles, right: Handles) -> Handles:
        return pairwise(lambda a, b: self.handle(self.times(self.value(a), self.value(b))), left, right)

    def without_batch(self, handles: Handles, deleted: Collection[int]) -> Handles:
        different, rows = np.unique(handles, return_inverse=True)
        left = [self.handle(self.without(self.value(handle), deleted)) for handle in different.tolist()]
        return np.array(left, np.int64)[rows]


def minimal(supports: AbstractSet[Support]) -> Antichain:
    """Those that contain no other: only a smaller one could be contained, and smaller ones are decided first."""
    require_few(len(supports))
    kept: list[Support] = []
    for _, same_size in groupby(sorted(supports, key=len), key=len):
        kept += [support for support in same_size if not any(smaller <= support for smaller in kept)]
    return frozenset(kept)
