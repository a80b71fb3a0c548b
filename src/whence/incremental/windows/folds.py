"""What window functions make of the rows of a frame, in order: states that are put together from those of parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from whence.functions.aggregates import aggregate_type
from whence.incremental.aggregates import best_first
from whence.incremental.counting.totals import adding, finish
from whence.incremental.windows.ordered_rows import Entry
from whence.model.terms import Constant, Window
from whence.model.types import DecimalType, Row, Type, Value
from whence.model.types.decimals import CONTEXT

# What an argument is for a row.
Argument = Callable[[Row], Any]


class FrameFold(Protocol):
    """`plus(fold(zero, a), fold(zero, b))` is `fold(zero, a + b)`."""

    zero: Any

    def fold(self, state: Any, entries: Sequence[Entry]) -> Any:
        """The state with more entries behind it."""

    def plus(self, left: Any, right: Any) -> Any: ...

    def minus(self, state: Any, part: Any) -> Any:
        """The state without a part of it; None where that cannot be told from the states."""

    def result(self, state: Any) -> Value: ...


class Totals:
    """count, sum and avg: the number of values, and their exact total."""

    def __init__(self, function: str, argument: Argument | None, kind: Type | None) -> None:
        self._argument = argument
        self._of_nothing = 0 if function == "count" else None
        result = aggregate_type(function, kind, None)
        self._is_decimal = function != "count" and isinstance(kind, DecimalType)
        if kind is None or argument is None:
            self.zero: tuple[int, Any] = (0, 0)
            self._finish: Callable[[int, Any], Value] = lambda count, _: count
        else:
            adds = adding(function, kind)
            self.zero, self._plus = (0, adds.zero), adds.plus
            self._finish = finish(function, kind, result)

    def fold(self, state: tuple[int, Any], entries: Sequence[Entry]) -> tuple[int, Any]:
        argument = self._argument
        if argument is None:
            return state[0] + len(entries), 0
        values = [argument(entry[2]) for entry in entries]
        return self._plus(state, values, [1] * len(values), range(len(values)))

    def plus(self, left: tuple[int, Any], right: tuple[int, Any]) -> tuple[int, Any]:
        total = CONTEXT.add(left[1], right[1]) if self._is_decimal else left[1] + right[1]
        return left[0] + right[0], total

    def minus(self, state: tuple[int, Any], part: tuple[int, Any]) -> tuple[int, Any]:
        total = CONTEXT.subtract(state[1], part[1]) if self._is_decimal else state[1] - part[1]
        return state[0] - part[0], total

    def result(self, state: tuple[int, Any]) -> Value:
        return self._finish(*state) if state[0] else self._of_nothing


class Extremes:
    """min and max: the best value, by its key."""

    zero = None

    def __init__(self, function: str, argument: Argument, kind: Type) -> None:
        self._argument = argument
        self._key = best_first(function, kind)

    def fold(self, state: Any, entries: Sequence[Entry]) -> Any:
        values = [value for entry in entries if (value := self._argument(entry[2])) is not None]
        if not values:
            return state
        best = min(values, key=self._key)
        return self.plus(state, (self._key(best), best))

    def plus(self, left: Any, right: Any) -> Any:
        if left is None or right is None:
            return right if left is None else left
        return right if right[0] < left[0] else left

    def minus(self, state: Any, part: Any) -> Any:  # noqa: ARG002 - what was second best is not known
        return None

    def result(self, state: Any) -> Value:
        return None if state is None else state[1]


class Picked:
    """first_value, last_value and nth_value: the first so many values, or the last one."""

    zero: tuple[Value, ...] = ()

    def __init__(self, argument: Argument, number: int, *, from_end: bool, ignores_null: bool) -> None:
        self._argument = argument
        self._number = number
        self._from_end = from_end
        self._ignores_null = ignores_null

    def fold(self, state: tuple[Value, ...], entries: Sequence[Entry]) -> tuple[Value, ...]:
        found = list(state)
        for entry in reversed(entries) if self._from_end else entries:
            if not self._from_end and len(found) == self._number:
                break
            value = self._argument(entry[2])
            if value is not None or not self._ignores_null:
                if self._from_end:
                    return (value,)
                found.append(value)
        return tuple(found)

    def plus(self, left: tuple[Value, ...], right: tuple[Value, ...]) -> tuple[Value, ...]:
        return right or left if self._from_end else (left + right)[: self._number]

    def minus(self, state: tuple[Value, ...], part: tuple[Value, ...]) -> None:  # noqa: ARG002
        return None

    def result(self, state: tuple[Value, ...]) -> Value:
        return state[self._number - 1] if len(state) >= self._number else None


class Collected:
    """collect_list: all values that are not NULL, in the order of the rows."""

    zero: tuple[Value, ...] = ()

    def __init__(self, argument: Argument) -> None:
        self._argument = argument

    def fold(self, state: tuple[Value, ...], entries: Sequence[Entry]) -> tuple[Value, ...]:
        return state + tuple(value for entry in entries if (value := self._argument(entry[2])) is not None)

    def plus(self, left: tuple[Value, ...], right: tuple[Value, ...]) -> tuple[Value, ...]:
        return left + right

    def minus(self, state: tuple[Value, ...], part: tuple[Value, ...]) -> None:  # noqa: ARG002
        return None

    def result(self, state: tuple[Value, ...]) -> Value:
        return state


class DistinctKeys:
    """How many different sort keys there are, with the first and the last of them."""

    zero = None

    def fold(self, state: Any, entries: Sequence[Entry]) -> Any:
        if not entries:
            return state
        number, last = 1, entries[0][0]
        for entry in entries:
            if entry[0] != last:
                number, last = number + 1, entry[0]
        return self.plus(state, (entries[0][0], last, number))

    def plus(self, left: Any, right: Any) -> Any:
        if left is None or right is None:
            return right if left is None else left
        return left[0], right[1], left[2] + right[2] - (left[1] == right[0])


def frame_fold(window: Window, argument: Callable[[int], Argument], kind: Type | None) -> FrameFold:
    """What a window function folds its frame with. `argument` gives those by their number; `kind` is the first's."""
    function = window.function
    if function in ("count", "sum", "avg"):
        return Totals(function, argument(0) if window.arguments else None, kind)
    if function in ("min", "max"):
        assert kind is not None
        return Extremes(function, argument(0), kind)
    if function == "collect_list":
        return Collected(argument(0))
    flag = 2 if function == "nth_value" else 1
    ignores = len(window.arguments) > flag and constant(window, flag) is True
    number = constant(window, 1) if function == "nth_value" else 1
    assert isinstance(number, int)
    return Picked(argument(0), number, from_end=function == "last_value", ignores_null=ignores)


def constant(window: Window, at: int) -> Value:
    """The value of an argument that is the same for all rows."""
    term = window.arguments[at]
    assert isinstance(term, Constant)
    return term.value
