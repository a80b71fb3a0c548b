"""Annotations that are no integers: their handles are numbers in a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Generic, TypeVar

from whence.semirings.handles import Handles, HandleTable, pairwise

V = TypeVar("V", bound=Hashable)


class Tabled(ABC, Generic[V]):
    """What a semiring of hashable values needs for batches."""

    def __init__(self, zero: V, one: V) -> None:
        self.zero = zero
        self.one = one
        self._table: HandleTable[V] = HandleTable(zero, one)

    @abstractmethod
    def plus(self, left: V, right: V) -> V: ...

    @abstractmethod
    def times(self, left: V, right: V) -> V: ...

    def is_zero(self, annotation: V) -> bool:
        return annotation == self.zero

    def handle(self, annotation: V) -> int:
        return self._table.handle(annotation)

    def value(self, handle: int) -> V:
        return self._table.value(handle)

    def plus_batch(self, left: Handles, right: Handles) -> Handles:
        return pairwise(lambda a, b: self.handle(self.plus(self.value(a), self.value(b))), left, right)

    def times_batch(self, left: Handles, right: Handles) -> Handles:
        return pairwise(lambda a, b: self.handle(self.times(self.value(a), self.value(b))), left, right)
