"""Aggregates that follow changes: per group a state, and over it the change that is not settled yet.

A change begins as the state is. Values are added to it, some of them with negative weights; the result is that of all
of them; settling makes a state of it. Until then the state from before is as good as it was.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from whence.algebra.deltas import add_to
from whence.functions.aggregates import collected
from whence.incremental.aggregates import best_first
from whence.incremental.counting.totals import Counted, adding, finish
from whence.model.types import Type, Value

# How often each value of a group is there.
Copies: TypeAlias = MutableMapping[Any, int]

# A heap so small is not worth tidying up.
SMALL_HEAP = 32


class Fold(Protocol):
    """One aggregate. What it keeps per group is its own affair."""

    def empty(self) -> Any:
        """The state of a group without values."""

    def begin(self, state: Any) -> Any:
        """A change of the state."""

    def add(self, change: Any, values: Sequence[Any], weights: Sequence[int], places: Sequence[int]) -> Any:
        """The change with the values at these places, each as often as the weight there says. NULL counts nothing."""

    def result(self, change: Any) -> Value: ...

    def settle(self, change: Any) -> Any:
        """The state that the change leads to."""

    def undo(self, change: Any) -> None: ...

    def is_empty(self, state: Any) -> bool:
        """Whether the state is as good as an empty one."""


class LinearFold:
    """count, sum and avg from the number of values and their total: all there is to know if no count is ever negative.

    States and changes are such pairs, which never change themselves.
    """

    def __init__(self, function: str, argument: Type, result: Type) -> None:
        self._of_nothing = 0 if function == "count" else None
        self._finish = finish(function, argument, result)
        adds = adding(function, argument)
        self._empty: Counted = (0, adds.zero)
        self.add = adds.plus

    def empty(self) -> Counted:
        return self._empty

    def begin(self, state: Counted) -> Counted:
        return state

    def result(self, change: Counted) -> Value:
        count, total = change
        return self._finish(count, total) if count else self._of_nothing

    def settle(self, change: Counted) -> Counted:
        return change

    def undo(self, change: Counted) -> None:
        pass

    def is_empty(self, state: Counted) -> bool:
        return not state[0]


@dataclass(eq=False, slots=True)
class Values:
    """The values of a group and how often each is there; of those that count, their number and total."""

    # Of the values that count: their total, how many different ones there are, and how many copies.
    total: Any
    kinds: int = 0
    count: int = 0
    copies: Copies = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Candidates:
    """How often each value is there, and a heap with all that are, best first.

    A value that is gone stays in the heap until it comes to the top.
    """

    copies: Copies = field(default_factory=dict)
    heap: list[tuple[Any, Any]] = field(default_factory=list)
    # The values in the heap, each of which is there once.
    queued: set[Any] = field(default_factory=set)

    def refill(self) -> bool:
        """Put more values into a heap that is empty; False if there are no others, as where all are in it anyway."""
        return False


S = TypeVar("S", bound=Values | Candidates)


class CopiesChange(Generic[S]):
    """By how much the copies of some values change, and what was found on top of a heap that will not be there."""

    __slots__ = ("copies", "set_aside", "state")

    def __init__(self, state: S) -> None:
        self.state = state
        self.copies: dict[Any, int] = {}
        self.set_aside: list[tuple[Any, Any]] = []


class _CopiesFold(Generic[S]):
    """What keeps the values of a group."""

    def begin(self, state: S) -> CopiesChange[S]:
        return CopiesChange(state)

    def add(
        self, change: CopiesChange[S], values: Sequence[Any], weights: Sequence[int], places: Sequence[int]
    ) -> CopiesChange[S]:
        copies = change.copies
        for place in places:
            value = values[place]
            if value is not None:
                copies[value] = copies.get(value, 0) + weights[place]
        return change

    def is_empty(self, state: S) -> bool:
        return not state.copies


class ByValue(_CopiesFold[Values]):
    """count, sum and avg where single values matter: DISTINCT, or because rows can have negative counts.

    With DISTINCT a value counts once if it is there. Without, it counts as often as its copies say, also negatively;
    then values can be there although their number is 0.
    """

    def __init__(self, function: str, distinct: bool, argument: Type, result: Type) -> None:
        self._of_nothing = 0 if function == "count" else None
        self._distinct = distinct
        self._finish = finish(function, argument, result)
        self._adding = adding(function, argument)

    def empty(self) -> Values:
        return Values(self._adding.zero)

    def result(self, change: CopiesChange[Values]) -> Value:
        kinds, count, total = self.summary(change)
        return self._finish(count, total) if kinds else self._of_nothing

    def settle(self, change: CopiesChange[Values]) -> Values:
        state = change.state
        state.kinds, state.count, state.total = self.summary(change)
        add_to(state.copies, change.copies.items())
        return state

    def undo(self, change: CopiesChange[Values]) -> None:
        pass

    def summary(self, change: CopiesChange[Values]) -> tuple[int, int, Any]:
        """What the state has to say of its values once the change is part of it."""
        state = change.state
        kinds, count, total = state.kinds, state.count, state.total
        for value, difference in change.copies.items():
            before = state.copies.get(value, 0)
            was, will = self._weight(before), self._weight(before + difference)
            if was != will:
                kinds += bool(will) - bool(was)
                count += will - was
                _, total = self._adding.plus((0, total), (value,), (will - was,), (0,))
        return kinds, count, total

    def _weight(self, copies: int) -> int:
        return int(copies > 0) if self._distinct else copies


class Collected(_CopiesFold[Values]):
    """collect_list, with or without DISTINCT: all values of the group, in their order. A change costs the group."""

    def __init__(self, distinct: bool, result: Type) -> None:
        self._distinct = distinct
        self._kind = result

    def empty(self) -> Values:
        return Values(None)

    def result(self, change: CopiesChange[Values]) -> Value:
        bag = dict(change.state.copies)
        add_to(bag, change.copies.items())
        return collected(dict.fromkeys(bag, 1) if self._distinct else bag, self._kind)

    def settle(self, change: CopiesChange[Values]) -> Values:
        add_to(change.state.copies, change.copies.items())
        return change.state

    def undo(self, change: CopiesChange[Values]) -> None:
        pass


class Extreme(_CopiesFold[Candidates]):
    """min or max, with or without DISTINCT: a value is there if its multiplicity is positive."""

    def __init__(self, function: str, kind: Type) -> None:
        self._order = best_first(function, kind)

    def empty(self) -> Candidates:
        return Candidates()

    def result(self, change: CopiesChange[Candidates]) -> Value:
        copies, differences, heap = change.state.copies, change.copies, change.state.heap
        while heap or change.state.refill():
            if copies.get(heap[0][1], 0) + differences.get(heap[0][1], 0) > 0:
                break
            change.set_aside.append(heappop(heap))
        best = [
            (self._order(value), value)
            for value, difference in differences.items()
            if difference > 0 and copies.get(value, 0) + difference > 0
        ]
        best += heap[:1]
        return min(best)[1] if best else None

    def settle(self, change: CopiesChange[Candidates]) -> Candidates:
        state = change.state
        copies, queued = state.copies, state.queued
        add_to(copies, change.copies.items())
        queued.difference_update(value for _, value in change.set_aside)
        coming = [value for value in change.copies if value not in queued and copies.get(value, 0) > 0]
        if len(coming) > len(state.heap) or len(state.heap) > 2 * len(copies) + SMALL_HEAP:
            queued.clear()
            queued.update(value for value, count in copies.items() if count > 0)
            state.heap = [(self._order(value), value) for value in queued]
            heapify(state.heap)
        else:
            queued.update(coming)
            for value in coming:
                heappush(state.heap, (self._order(value), value))
        return state

    def undo(self, change: CopiesChange[Candidates]) -> None:
        for entry in change.set_aside:
            heappush(change.state.heap, entry)
