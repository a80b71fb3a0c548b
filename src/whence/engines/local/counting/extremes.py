"""min and max that follow changes: the values of a group in a heap, from which the best one is never far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from whence.engines.local.counting.folds import add_copies, merge
from whence.functions.order import sort_key
from whence.model.types import Type, Value

# A heap so small is not worth tidying up.
SMALL = 32


class Descending:
    """A value that comes before smaller ones."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: Descending) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Descending) and bool(other.value == self.value)

    def __hash__(self) -> int:
        return hash(self.value)


class Candidates:
    """How often each value is there, and a heap with all that are, best first.

    A value that is gone stays in the heap until it comes to the top.
    """

    __slots__ = ("copies", "heap", "queued")

    def __init__(self) -> None:
        self.copies: dict[Any, int] = {}
        self.heap: list[tuple[Any, Any]] = []
        # The values in the heap, each of which is there once.
        self.queued: set[Any] = set()


class CandidatesChange:
    """By how much the copies of some values change, and what was found on top of the heap that will not be there."""

    __slots__ = ("copies", "set_aside", "state")

    def __init__(self, state: Candidates) -> None:
        self.state = state
        self.copies: dict[Any, int] = {}
        self.set_aside: list[tuple[Any, Any]] = []


class Extreme:
    """min or max, with or without DISTINCT: a value is there if its multiplicity is positive."""

    def __init__(self, function: str, kind: Type) -> None:
        key = sort_key(kind) or _itself
        self._order: Callable[[Any], Any] = key if function == "min" else lambda value: Descending(key(value))

    def empty(self) -> Candidates:
        return Candidates()

    def begin(self, state: Candidates) -> CandidatesChange:
        return CandidatesChange(state)

    def add(
        self, change: CandidatesChange, values: Sequence[Any], weights: Sequence[int], places: Sequence[int]
    ) -> CandidatesChange:
        add_copies(change.copies, values, weights, places)
        return change

    def result(self, change: CandidatesChange) -> Value:
        copies, differences, heap = change.state.copies, change.copies, change.state.heap
        while heap and copies.get(heap[0][1], 0) + differences.get(heap[0][1], 0) <= 0:
            change.set_aside.append(heappop(heap))
        best = [
            (self._order(value), value)
            for value, difference in differences.items()
            if difference > 0 and copies.get(value, 0) + difference > 0
        ]
        best += heap[:1]
        return min(best)[1] if best else None

    def settle(self, change: CandidatesChange) -> Candidates:
        state = change.state
        copies, queued = state.copies, state.queued
        merge(copies, change.copies)
        queued.difference_update(value for _, value in change.set_aside)
        coming = [value for value in change.copies if value not in queued and copies.get(value, 0) > 0]
        if len(coming) > len(state.heap) or len(state.heap) > 2 * len(copies) + SMALL:
            queued.clear()
            queued.update(value for value, count in copies.items() if count > 0)
            state.heap = [(self._order(value), value) for value in queued]
            heapify(state.heap)
        else:
            queued.update(coming)
            for value in coming:
                heappush(state.heap, (self._order(value), value))
        return state

    def undo(self, change: CandidatesChange) -> None:
        for entry in change.set_aside:
            heappush(change.state.heap, entry)

    def is_empty(self, state: Candidates) -> bool:
        return not state.copies


def _itself(value: Any) -> Any:
    return value
