"""Aggregates that follow changes: per group a state, and over it the change that is not settled yet.

A change begins as the state is. Values are added to it, some of them with negative weights; the result is that of all
of them; settling makes a state of it. Until then the state from before is as good as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from whence.engines.local.counting.totals import Counted, adding, finish
from whence.model.types import Type, Value


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


class Linear:
    """count, sum and avg from the number of values and their total: all there is to know if no row is ever owed.

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


class Values:
    """The values of a group, how often each is there, and of those that count their number and total."""

    __slots__ = ("copies", "count", "kinds", "total")

    def __init__(self, total: Any) -> None:
        self.copies: dict[Any, int] = {}
        # Values that count, copies of them, their total.
        self.kinds = 0
        self.count = 0
        self.total = total


class ValuesChange:
    """By how much the copies of some values change."""

    __slots__ = ("copies", "state")

    def __init__(self, state: Values) -> None:
        self.state = state
        self.copies: dict[Any, int] = {}


class ByValue:
    """count, sum and avg where single values matter: DISTINCT, or because rows can be owed.

    With DISTINCT a value counts once if it is there. Without, it counts as often as it is there, and an owed one
    negatively; then values can be there although their number is 0.
    """

    def __init__(self, function: str, distinct: bool, argument: Type, result: Type) -> None:
        self._of_nothing = 0 if function == "count" else None
        self._distinct = distinct
        self._finish = finish(function, argument, result)
        self._adding = adding(function, argument)

    def empty(self) -> Values:
        return Values(self._adding.zero)

    def begin(self, state: Values) -> ValuesChange:
        return ValuesChange(state)

    def add(
        self, change: ValuesChange, values: Sequence[Any], weights: Sequence[int], places: Sequence[int]
    ) -> ValuesChange:
        add_copies(change.copies, values, weights, places)
        return change

    def result(self, change: ValuesChange) -> Value:
        kinds, count, total = self._together(change)
        return self._finish(count, total) if kinds else self._of_nothing

    def settle(self, change: ValuesChange) -> Values:
        state = change.state
        state.kinds, state.count, state.total = self._together(change)
        merge(state.copies, change.copies)
        return state

    def undo(self, change: ValuesChange) -> None:
        pass

    def is_empty(self, state: Values) -> bool:
        return not state.copies

    def _together(self, change: ValuesChange) -> tuple[int, int, Any]:
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


def add_copies(copies: dict[Any, int], values: Sequence[Any], weights: Sequence[int], places: Iterable[int]) -> None:
    for place in places:
        value = values[place]
        if value is not None:
            copies[value] = copies.get(value, 0) + weights[place]


def merge(copies: dict[Any, int], change: dict[Any, int]) -> None:
    """Adds up multiplicities; 0 is not kept."""
    for value, difference in change.items():
        count = copies.get(value, 0) + difference
        if count:
            copies[value] = count
        else:
            copies.pop(value, None)
