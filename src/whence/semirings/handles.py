"""Annotations as integers, so that a batch of rows carries a column of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Handles: TypeAlias = NDArray[np.int64]

V = TypeVar("V", bound=Hashable)


class HandleTable(Generic[V]):
    """Values that do not fit an integer, numbered: equal values have the same handle."""

    def __init__(self, *values: V) -> None:
        self._values: dict[int, V] = dict(enumerate(values))
        self._handles: dict[V, int] = {value: handle for handle, value in self._values.items()}
        self._next = len(values)
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._values)

    def handle(self, value: V) -> int:
        known = self._handles.get(value)
        if known is not None:
            return known
        if self._free:
            handle = self._free.pop()
        else:
            handle = self._next
            self._next += 1
        self._values[handle] = value
        self._handles[value] = handle
        return handle

    def value(self, handle: int) -> V:
        return self._values[handle]

    def retain(self, handles: Iterable[int]) -> None:
        """Forget every other value; its handle will stand for something else."""
        for handle in self._values.keys() - set(handles):
            del self._handles[self._values.pop(handle)]
            self._free.append(handle)


def pairwise(operation: Callable[[int, int], int], left: Handles, right: Handles) -> Handles:
    """An operation row by row, done once for each pair of handles: the rows of a join repeat them."""
    known: dict[tuple[int, int], int] = {}
    result = np.empty(len(left), np.int64)
    for row, pair in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        handle = known.get(pair)
        if handle is None:
            handle = known[pair] = operation(*pair)
        result[row] = handle
    return result
