"""A view with window functions under changes: only rows whose value may change are looked at, before and after."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from whence.algebra.deltas import add_to
from whence.analysis.components import Component
from whence.analysis.limits import RecursionLimits
from whence.functions.windows import has_frame
from whence.incremental.store import ProbedRelation
from whence.incremental.windows.folds import Argument, constant, frame_fold
from whence.incremental.windows.frames import Framed
from whence.incremental.windows.ordered_rows import Entry, OrderedRows, RowOrder
from whence.incremental.windows.partition_change import Interval, PartitionChange, united, within
from whence.incremental.windows.places import (
    CumulativeDistribution,
    DenseRank,
    Kept,
    Neighbour,
    Numbering,
    PercentRank,
    Rank,
    RowNumber,
    Tile,
    WindowFunction,
)
from whence.model.program import Functions
from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.model.terms import Constant, Frame, Window
from whence.model.types import Row
from whence.model.updates import Delta

_NUMBERING: Mapping[str, Callable[[], Numbering]] = {
    "row_number": RowNumber,
    "within": Kept,
    "rank": Rank,
    "dense_rank": DenseRank,
}
_WHOLE = Frame("rows")
_NONE = OrderedRows()


class WindowedRows:
    """The window functions of a rule over one partition after the other."""

    def __init__(self, rule: Rule, below: Relation) -> None:
        windows = [term for term in rule.head.terms if isinstance(term, Window)]
        self.order = RowOrder(rule, below)
        self._columns = [column.type for column in below.columns]
        self._functions = [self._function(window) for window in windows]
        keeping = next((window for window in windows if window.within is not None), None)
        self._within = None if keeping is None else keeping.within
        self._numbering = None if keeping is None else _NUMBERING[keeping.function]()
        # Whether rows behind those that are shown do not matter to them.
        self._looks_back = keeping is not None and all(window.function in _NUMBERING for window in windows)

    def change(self, change: PartitionChange) -> Iterator[tuple[Row, int]]:
        """The rows of the view that come and go, among them some that do both."""
        before, after = change.before, change.after
        shown, will_be_shown = self._shown(before), self._shown(after)
        if self._looks_back and shown == will_be_shown and change.events[0].place >= shown[1]:
            return
        touched = [each for function in self._functions for each in function.touched(change)]
        touched.extend(_differently_shown(change, shown, will_be_shown))
        touched = united(touched, len(before))
        gone = united([*((place, place + 1) for place, _ in change.gone)], len(before))
        came = [(place, place + 1) for place, _ in change.came]
        for run in change.runs:
            for start, end in within(touched, (run.start, run.end)):
                gone.append((start, end))
                came.append((start + run.moved, end + run.moved))
        for row in self._rows(before, within(united(gone, len(before)), shown)):
            yield row, -1
        for row in self._rows(after, within(united(came, len(after)), will_be_shown)):
            yield row, 1

    def whole(self, rows: OrderedRows) -> Iterator[Row]:
        return self._rows(rows, [self._shown(rows)])

    def _rows(self, rows: OrderedRows, intervals: Iterable[Interval]) -> Iterator[Row]:
        for start, end in intervals:
            values = zip(*(function.values(rows, start, end) for function in self._functions), strict=True)
            for entry, found in zip(rows.between(start, end), values, strict=True):
                yield (*entry[2], *found)

    def _shown(self, rows: OrderedRows) -> Interval:
        if self._within is None or self._numbering is None:
            return 0, len(rows)
        return self._numbering.kept(rows, *self._within)

    def _function(self, window: Window) -> WindowFunction:
        function = window.function
        if has_frame(function):
            kind = None
            if window.arguments:
                term = window.arguments[0]
                kind = term.type if isinstance(term, Constant) else self._columns[self.order.place(term)]
            return Framed(window.frame or _WHOLE, frame_fold(window, lambda at: self._argument(window, at), kind))
        if function in ("lag", "lead"):
            distance: Any = constant(window, 1) if len(window.arguments) > 1 else 1
            default = self._argument(window, 2) if len(window.arguments) > 2 else None
            return Neighbour(self._argument(window, 0), -distance if function == "lag" else distance, default)
        if function == "ntile":
            tiles: Any = constant(window, 0)
            return Tile(tiles)
        if function in _NUMBERING:
            return _NUMBERING[function]()
        return PercentRank() if function == "percent_rank" else CumulativeDistribution()

    def _argument(self, window: Window, at: int) -> Argument:
        term = window.arguments[at]
        if isinstance(term, Constant):
            value = term.value
            return lambda _: value
        return itemgetter(self.order.place(term))


def _differently_shown(change: PartitionChange, shown: Interval, will_be_shown: Interval) -> Iterator[Interval]:
    """The places of rows that stay, and are shown only before or only after."""
    if shown == (0, len(change.before)) and will_be_shown == (0, len(change.after)):
        return
    for start, end, moved in change.runs:
        ends = {start, end, shown[0], shown[1], will_be_shown[0] - moved, will_be_shown[1] - moved}
        inside = sorted(each for each in ends if start <= each <= end)
        for low, high in pairwise(inside):
            if (shown[0] <= low < shown[1]) is not (will_be_shown[0] <= low + moved < will_be_shown[1]):
                yield low, high


class Windows:
    """Keeps a component of one rule with window functions."""

    has_recomputed = False

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,  # noqa: ARG002 - all maintainers are made alike; nothing is computed here
        stores: Mapping[str, ProbedRelation],
        limits: RecursionLimits,  # noqa: ARG002 - without recursion there is nothing to limit
    ) -> None:
        (self._name,) = component.relations
        (self._below,) = component.reads
        self._stores = stores
        self._windowed = WindowedRows(component.rules[0], relations[self._below])
        self._partitions: dict[Any, OrderedRows] = {}
        self._rows: dict[Row, int] = {}
        # What the last change leads to.
        self._pending: dict[Any, OrderedRows] = {}
        self._delta: dict[Row, int] = {}

    def build(self) -> Mapping[str, Delta]:
        partitions: dict[Any, list[Row]] = {}
        partition = self._windowed.order.partition
        for row, count in self._stores[self._below].counts.items():
            rows = partitions.setdefault(partition(row), [])
            if count == 1:
                rows.append(row)
            else:
                rows.extend([row] * count)
        self._pending, self._delta = {}, {}
        for key, rows in partitions.items():
            ordered = self._pending[key] = OrderedRows.of(self._windowed.order.entries(rows))
            for found in self._windowed.whole(ordered):
                self._delta[found] = self._delta.get(found, 0) + 1
        return {self._name: self._delta}

    def apply(self, deltas: Mapping[str, Delta]) -> Mapping[str, Delta]:
        self._pending, self._delta = {}, {}
        order = self._windowed.order
        changes: dict[Any, tuple[list[Entry], list[Entry]]] = {}
        for row, count in deltas[self._below].items():
            gone, came = changes.setdefault(order.partition(row), ([], []))
            (came if count > 0 else gone).extend([order.entry(row)] * abs(count))
        delta: dict[Row, int] = {}
        for key, (gone, came) in changes.items():
            change = PartitionChange(self._partitions.get(key, _NONE), sorted(gone), sorted(came))
            self._pending[key] = change.after
            add_to(delta, self._windowed.change(change))
        self._delta = delta
        return {self._name: delta} if delta else {}

    def settle(self) -> None:
        for key, rows in self._pending.items():
            if len(rows):
                self._partitions[key] = rows
            else:
                self._partitions.pop(key, None)
        if self._rows:
            add_to(self._rows, self._delta.items())
        else:
            self._rows = dict(self._delta)
        self._pending, self._delta = {}, {}

    def undo(self) -> None:
        self._pending, self._delta = {}, {}

    def counts(self, relation: str) -> Mapping[Row, int]:
        if relation != self._name:
            raise KeyError(relation)
        return MappingProxyType(self._rows)


def windowed_counts(rule: Rule, below: Relation, rows: Sequence[tuple[Row, int]]) -> dict[Row, int]:
    """The view over rows of one partition, from scratch."""
    windowed = WindowedRows(rule, below)
    copies = [row for row, count in rows for _ in range(count)]
    found: dict[Row, int] = {}
    for row in windowed.whole(OrderedRows.of(windowed.order.entries(copies))):
        found[row] = found.get(row, 0) + 1
    return found
