"""Window functions of the place of a row: numbers, ranks, tiles, and the rows before and after."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from typing import Any, Protocol

from whence.incremental.windows.folds import Argument, DistinctKeys
from whence.incremental.windows.ordered_rows import OrderedRows
from whence.incremental.windows.partition_change import Interval, PartitionChange
from whence.model.types import Value


class WindowFunction(Protocol):
    def touched(self, change: PartitionChange) -> Iterable[Interval]:
        """Places in the old version, among them all rows that stay and whose value changes."""

    def values(self, rows: OrderedRows, start: int, end: int) -> Iterable[Value]:
        """The values of the rows from one place to before another."""


class Numbering(WindowFunction, Protocol):
    """A function that numbers rows, so that some can be left out by their number."""

    def kept(self, rows: OrderedRows, first: int, last: int | None) -> Interval:
        """The places of the rows that have these numbers."""


class RowNumber:
    def touched(self, change: PartitionChange) -> Iterable[Interval]:
        return ((start, end) for start, end, moved in change.runs if moved)

    def values(self, rows: OrderedRows, start: int, end: int) -> Iterable[Value]:  # noqa: ARG002 - by the place alone
        return range(start + 1, end + 1)

    def kept(self, rows: OrderedRows, first: int, last: int | None) -> Interval:
        size = len(rows)
        return min(first - 1, size), size if last is None else min(max(last, 0), size)


class Kept(RowNumber):
    """TRUE for the rows that are there at all."""

    def touched(self, change: PartitionChange) -> Iterable[Interval]:  # noqa: ARG002 - it never changes
        return ()

    def values(self, rows: OrderedRows, start: int, end: int) -> Iterable[Value]:  # noqa: ARG002
        return repeat(True, end - start)


class Rank:
    """One more than there are rows with smaller sort keys."""

    def touched(self, change: PartitionChange) -> Iterable[Interval]:
        before = change.before
        return change.since((before.after_peers(event.entry[0]), event.sign) for event in change.events)

    def values(self, rows: OrderedRows, start: int, end: int) -> Iterable[Value]:
        return (first + 1 for first, _ in _peers(rows, start, end))

    def kept(self, rows: OrderedRows, first: int, last: int | None) -> Interval:
        size = len(rows)
        low, high = first - 1, size if last is None else max(last, 0)
        if 0 < low < size and rows.first_peer(rows[low][0]) < low:
            low = rows.after_peers(rows[low][0])
        if 0 < high < size:
            high = rows.after_peers(rows[high - 1][0])
        return min(low, size), min(high, size)


class DenseRank:
    """One more than there are different sort keys that are smaller."""

    _keys = DistinctKeys()

    def touched(self, change: PartitionChange) -> Iterable[Interval]:
        before, after = change.before, change.after
        steps: dict[int, int] = {}
        last: Any = None
        for at, event in enumerate(change.events):
            key = event.entry[0]
            if at and key == last:
                continue
            last, place = key, before.after_peers(key)
            was = place > before.first_peer(key)
            will = after.after_peers(key) > after.first_peer(key)
            steps[place] = steps.get(place, 0) + will - was
        return change.since(steps.items())

    def values(self, rows: OrderedRows, start: int, end: int) -> Iterable[Value]:
        if start >= end:
            return
        known = rows.folded(self, 0, start + 1, self._keys.fold, self._keys.plus, self._keys.zero)
        number, last = known[2], known[1]
        for key, _, _ in rows.between(start, end):
            if key != last:
                number, last = number + 1, key
            yield number

    def kept(self, rows: OrderedRows, first: int, last: int | None) -> Interval:
        low = _after_keys(rows, 0, first - 1)
        return low, len(rows) if last is None else _after_keys(rows, low, max(last, first - 1) - first + 1)


def _after_keys(rows: OrderedRows, place: int, number: int) -> int:
    """The place behind so many different sort keys, or at the end."""
    for _ in range(number):
        if place >= len(rows):
            break
        place = rows.after_peers(rows[place][0])
    return place


class PercentRank(Rank):
    """The rank from 0 to 1. Every row's changes with the number of rows."""

    def touched(self, change: PartitionChange) -> Iterable[Interval]:
        is_resized = len(change.before) != len(change.after)
        return change.everything() if is_resized else super().touched(change)

    def values(self, rows: OrderedRows, start: int, end: int) -> Iterable[Value]:
        others = len(rows) - 1
        return (first / others if others else 0.0 for first, _ in _peers(rows, start, end))


class CumulativeDistribution:
    """The share of rows whose sort keys are not greater. Every row's changes with the number of rows."""

    def touched(self, change: PartitionChange) -> Iterable[Interval]:
        before = change.before
        if len(before) != len(change.after):
            return change.everything()
        return change.since((before.first_peer(event.entry[0]), event.sign) for event in change.events)

    def values(self, rows: OrderedRows, start: int, end: int) -> Iterable[Value]:
        size = len(rows)
        return (after / size for _, after in _peers(rows, start, end))


def _peers(rows: OrderedRows, start: int, end: int) -> Iterator[Interval]:
    """For each row from one place to before another the places of all that have its sort keys."""
    at = start
    while at < end:
        key = rows[at][0]
        first, after = rows.first_peer(key), rows.after_peers(key)
        yield from repeat((first, after), min(after, end) - at)
        at = after


class Tile:
    """So many parts of about the same number of rows; the first ones have one more."""

    def __init__(self, tiles: int) -> None:
        self._tiles = tiles

    def touched(self, change: PartitionChange) -> Iterable[Interval]:
        old, new = len(change.before), len(change.after)
        for start, end, moved in change.runs:
            ends = [*self._ends(old, start, end), *(at - moved for at in self._ends(new, start + moved, end + moved))]
            at = start
            for place in sorted({*ends, end}):
                if self._tile(old, at) != self._tile(new, at + moved):
                    yield at, place
                at = place

    def values(self, rows: OrderedRows, start: int, end: int) -> Iterable[Value]:
        size = len(rows)
        return (self._tile(size, at) for at in range(start, end))

    def _tile(self, size: int, at: int) -> int:
        rows, longer = divmod(size, self._tiles)
        if at < longer * (rows + 1):
            return at // (rows + 1) + 1
        return longer + (at - longer * (rows + 1)) // rows + 1

    def _ends(self, size: int, start: int, end: int) -> Iterator[int]:
        """The places between two others at which a tile begins."""
        rows, longer = divmod(size, self._tiles)
        at = 0
        for tile in range(min(self._tiles, size)):
            at += rows + (tile < longer)
            if start < at < end:
                yield at


class Neighbour:
    """lag and lead: the value of a row so many places away, or what takes its place at the ends."""

    def __init__(self, argument: Argument, distance: int, default: Argument | None) -> None:
        """A negative `distance` is before the row."""
        self._argument = argument
        self._distance = distance
        self._default: Callable[[Any], Value] = default or (lambda _: None)

    def touched(self, change: PartitionChange) -> Iterable[Interval]:
        before, after = max(self._distance, 0), max(-self._distance, 0)
        return ((event.place - before, event.place + after + 1) for event in change.events)

    def values(self, rows: OrderedRows, start: int, end: int) -> Iterable[Value]:
        low, high = start + self._distance, end + self._distance
        own = rows.between(start, end)
        for _ in range(low, min(high, 0)):
            yield self._default(next(own)[2])
        for entry in rows.between(max(low, 0), min(high, len(rows))):
            next(own)
            yield self._argument(entry[2])
        yield from (self._default(entry[2]) for entry in own)
