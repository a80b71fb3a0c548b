"""A view with window functions, naively: every partition is put in order, and every row looks at its whole frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from functools import cmp_to_key
from typing import Any

from whence.analysis.typed_rules import TypedRule
from whence.engines.reference.body import Table
from whence.functions.aggregates import aggregate_type, count_rows, fold
from whence.model.rules import Atom, Rule
from whence.model.schema import Relation
from whence.model.terms import AGGREGATES, Constant, SortKey, Term, Variable, Window
from whence.model.types import DecimalType, Row, Type, Value
from whence.model.types.decimals import CONTEXT


class WindowView:
    """The relation of a rule with window functions, over the one atom of its body."""

    def __init__(self, relation: Relation, typed: TypedRule) -> None:
        self.name = relation.name
        self.rule: Rule = typed.rule
        (atom,) = self.rule.body
        assert isinstance(atom, Atom)
        self._below = atom.relation
        self._columns = [column.type for column in typed.relations[atom.relation].columns]
        self._places = {term.name: place for place, term in enumerate(atom.terms) if isinstance(term, Variable)}
        self._windows = [term for term in self.rule.head.terms if isinstance(term, Window)]

    def counts(self, tables: Mapping[str, Table]) -> dict[Row, int]:
        first = self._windows[0]
        keeping = next((window for window in self._windows if window.within is not None), None)
        partitions: dict[Row, list[Row]] = {}
        for row, count in tables[self._below].counts.items():
            key = tuple(row[self._place(term)] for term in first.partition)
            partitions.setdefault(key, []).extend([row] * count)
        found: dict[Row, int] = {}
        for rows in partitions.values():
            ordered = sorted(rows, key=cmp_to_key(self._compare))
            for at, row in enumerate(ordered):
                if keeping is None or self._is_kept(keeping, ordered, at):
                    whole = (*row, *(self._value(window, ordered, at) for window in self._windows))
                    found[whole] = found.get(whole, 0) + 1
        return found

    # The order of rows

    def _compare(self, left: Row, right: Row) -> int:
        return self._compare_by_keys(left, right) or _first_difference(left, right, self._columns)

    def _compare_by_keys(self, left: Row, right: Row) -> int:
        for key in self._windows[0].order:
            place = self._place(key.term)
            found = _by_key(left[place], right[place], key, self._columns[place])
            if found:
                return found
        return 0

    def _place(self, term: Term) -> int:
        assert isinstance(term, Variable)
        return self._places[term.name]

    # Values

    def _is_kept(self, window: Window, rows: Sequence[Row], at: int) -> bool:
        assert window.within is not None
        first, last = window.within
        number = at + 1 if window.function == "within" else self._value(window, rows, at)
        assert isinstance(number, int)
        return number >= first and (last is None or number <= last)

    def _value(self, window: Window, rows: Sequence[Row], at: int) -> Value:
        def is_peer(other: int) -> bool:
            return self._compare_by_keys(rows[at], rows[other]) == 0

        before = sum(1 for other in range(at) if not is_peer(other))
        up_to_peers = sum(1 for other in range(len(rows)) if other < at or is_peer(other))
        match window.function:
            case "row_number":
                return at + 1
            case "within":
                return True
            case "rank":
                return before + 1
            case "dense_rank":
                starts = [i for i in range(1, at + 1) if self._compare_by_keys(rows[i - 1], rows[i])]
                return len(starts) + 1
            case "percent_rank":
                return before / (len(rows) - 1) if len(rows) > 1 else 0.0
            case "cume_dist":
                return up_to_peers / len(rows)
            case "ntile":
                return _tile(len(rows), self._number(window, 0, 1), at)
            case "lag" | "lead":
                distance = self._number(window, 1, 1)
                other = at - distance if window.function == "lag" else at + distance
                if 0 <= other < len(rows):
                    return self._argument(window, 0, rows[other])
                return self._argument(window, 2, rows[at]) if len(window.arguments) > 2 else None
        inside = [row for other, row in enumerate(rows) if self._is_inside(window, rows, at, other)]
        return self._folded(window, inside)

    def _folded(self, window: Window, inside: Sequence[Row]) -> Value:
        values = [self._argument(window, 0, row) for row in inside] if window.arguments else []
        match window.function:
            case "first_value" | "last_value":
                values = self._without_nulls(window, 1, values)
                return None if not values else values[0 if window.function == "first_value" else -1]
            case "nth_value":
                number = self._number(window, 1, 1)
                values = self._without_nulls(window, 2, values)
                return values[number - 1] if number <= len(values) else None
            case "collect_list":
                return tuple(value for value in values if value is not None)
        assert window.function in AGGREGATES
        if not window.arguments:
            return count_rows(1 for _ in inside)
        term = window.arguments[0]
        given = term.type if isinstance(term, Constant) else self._columns[self._place(term)]
        return fold(
            window.function, False, [(value, 1) for value in values], aggregate_type(window.function, given, None)
        )

    def _without_nulls(self, window: Window, at: int, values: list[Value]) -> list[Value]:
        ignored = len(window.arguments) > at and self._argument(window, at, ()) is True
        return [value for value in values if value is not None] if ignored else values

    def _argument(self, window: Window, number: int, row: Row) -> Value:
        term = window.arguments[number]
        return term.value if isinstance(term, Constant) else row[self._place(term)]

    def _number(self, window: Window, at: int, otherwise: int) -> int:
        if at >= len(window.arguments):
            return otherwise
        value = self._argument(window, at, ())
        assert isinstance(value, int)
        return value

    # Frames

    def _is_inside(self, window: Window, rows: Sequence[Row], at: int, other: int) -> bool:
        frame = window.frame
        assert frame is not None
        low, high = (None if bound is None else bound.value for bound in (frame.start, frame.end))
        if frame.unit == "rows":
            return (low is None or other >= at + low) and (high is None or other <= at + high)  # type: ignore[operator]
        return self._reaches(window, rows, at, other, low, -1) and self._reaches(window, rows, at, other, high, 1)

    def _reaches(self, window: Window, rows: Sequence[Row], at: int, other: int, bound: Any, side: int) -> bool:
        """Whether a frame by range, which ends at this bound on this side, reaches as far as another row."""
        if bound is None:
            return True
        if not bound:
            return self._compare_by_keys(rows[other], rows[at]) * side <= 0
        (key,) = window.order
        place = self._place(key.term)
        mine, others = rows[at][place], rows[other][place]
        if mine is None or others is None:
            # NULL is as far from any value as the order says, and no distance from NULL.
            return _by_key(others, mine, key, self._columns[place]) * side <= 0
        sign = -1 if key.descending else 1
        distance = _distance(mine, others, self._columns[place]) * sign
        return bool(distance * side <= bound * side)


def _tile(rows: int, tiles: int, at: int) -> int:
    number = 0
    for tile in range(tiles):
        number += rows // tiles + (1 if tile < rows % tiles else 0)
        if at < number:
            return tile + 1
    raise AssertionError("every row is in a tile")


def _by_key(left: Value, right: Value, key: SortKey, kind: Type) -> int:
    if left is None or right is None:
        if left is right:
            return 0
        return (-1 if left is None else 1) * (-1 if key.nulls_last else 1)
    return _compared(left, right, kind) * (-1 if key.descending else 1)


def _compared(left: Any, right: Any, kind: Type) -> int:
    sort: Callable[[Any], Any] = kind.sort_key or (lambda value: value)
    one, other = sort(left), sort(right)
    return int(one > other) - int(one < other)


def _first_difference(left: Row, right: Row, kinds: Sequence[Type]) -> int:
    for one, other, kind in zip(left, right, kinds, strict=True):
        found = _by_key(one, other, SortKey(Constant(None, kind)), kind)
        if found:
            return found
    return 0


def _distance(start: Any, end: Any, kind: Type) -> Any:
    """From one value to another: numbers, days, or microseconds."""
    if isinstance(start, datetime):
        return (end - start) // (datetime.resolution)
    if isinstance(start, date):
        return (end - start).days
    return CONTEXT.subtract(end, start) if isinstance(kind, DecimalType) else end - start
