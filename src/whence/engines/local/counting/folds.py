"""Aggregates that follow changes: per group a state, and beside it the change that is not settled yet.

State and change of a group have the same form. A change begins empty and values are added to it, some of them with
negative multiplicities; the result is that of both together; settling adds the change to the state.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from whence.engines.local.counting.totals import adding, finish
from whence.model.types import Type, Value


class Fold(Protocol):
    """One aggregate. What it keeps per group is its own affair."""

    def empty(self) -> Any: ...

    def add(self, change: Any, value: Any, multiplicity: int) -> None:
        """The value is not NULL."""

    def add_all(self, change: Any, values: Sequence[Any], multiplicity: int) -> None:
        """Each of the values, of which there is at least one, and none is NULL."""

    def result(self, state: Any, change: Any) -> Value: ...

    def settle(self, state: Any, change: Any) -> None: ...

    def undo(self, state: Any, change: Any) -> None: ...

    def is_empty(self, state: Any) -> bool:
        """Whether the state is as good as an empty one."""


class Linear:
    """count, sum and avg from the number of values and their total: all there is to know if no row is ever owed."""

    def __init__(self, function: str, argument: Type, result: Type) -> None:
        self._of_nothing = 0 if function == "count" else None
        self._finish = finish(function, argument, result)
        self._adding = adding(function, argument)
        self._plus = self._adding.plus

    def empty(self) -> list[Any]:
        return [0, self._adding.zero]

    def add(self, change: list[Any], value: Any, multiplicity: int) -> None:
        self.add_all(change, (value,), multiplicity)

    def add_all(self, change: list[Any], values: Sequence[Any], multiplicity: int) -> None:
        change[0] += len(values) * multiplicity
        change[1] = self._plus(change[1], values, multiplicity)

    def result(self, state: list[Any], change: list[Any]) -> Value:
        count = state[0] + change[0]
        return self._finish(count, self._adding.both(state[1], change[1])) if count else self._of_nothing

    def settle(self, state: list[Any], change: list[Any]) -> None:
        state[:] = state[0] + change[0], self._adding.both(state[1], change[1])

    def undo(self, state: list[Any], change: list[Any]) -> None:
        pass

    def is_empty(self, state: list[Any]) -> bool:
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

    def add(self, change: Values, value: Any, multiplicity: int) -> None:
        add_copies(change.copies, (value,), multiplicity)

    def add_all(self, change: Values, values: Sequence[Any], multiplicity: int) -> None:
        add_copies(change.copies, values, multiplicity)

    def result(self, state: Values, change: Values) -> Value:
        kinds, count, total = self._together(state, change)
        return self._finish(count, total) if kinds else self._of_nothing

    def settle(self, state: Values, change: Values) -> None:
        state.kinds, state.count, state.total = self._together(state, change)
        merge(state.copies, change.copies)

    def undo(self, state: Values, change: Values) -> None:
        pass

    def is_empty(self, state: Values) -> bool:
        return not state.copies

    def _together(self, state: Values, change: Values) -> tuple[int, int, Any]:
        """What the state has to say of its values once the change is part of it."""
        kinds, count, total = state.kinds, state.count, state.total
        for value, difference in change.copies.items():
            before = state.copies.get(value, 0)
            was, will = self._weight(before), self._weight(before + difference)
            if was != will:
                kinds += bool(will) - bool(was)
                count += will - was
                total = self._adding.plus(total, (value,), will - was)
        return kinds, count, total

    def _weight(self, copies: int) -> int:
        return int(copies > 0) if self._distinct else copies


def add_copies(copies: dict[Any, int], values: Iterable[Any], multiplicity: int) -> None:
    for value in values:
        copies[value] = copies.get(value, 0) + multiplicity


def merge(copies: dict[Any, int], change: dict[Any, int]) -> None:
    """Adds up multiplicities; 0 is not kept."""
    for value, difference in change.items():
        count = copies.get(value, 0) + difference
        if count:
            copies[value] = count
        else:
            copies.pop(value, None)
