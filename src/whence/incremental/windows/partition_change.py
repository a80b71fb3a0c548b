"""A change of one partition: which rows come and go at which places, and how far those that stay move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias

from whence.incremental.windows.ordered_rows import Entry, OrderedRows

# From a place to before another. Lists of them are in order and apart from each other.
Interval: TypeAlias = tuple[int, int]


class Event(NamedTuple):
    """An entry that comes before the one at this place of the old version (1), or the one there that goes (-1)."""

    place: int
    sign: int
    entry: Entry


class Run(NamedTuple):
    """Entries that stay, by their places in the old version, and by how much they move."""

    start: int
    end: int
    moved: int


class PartitionChange:
    """`gone` and `came` are entries in order; the two versions are there at the same time."""

    def __init__(self, before: OrderedRows, gone: Sequence[Entry], came: Sequence[Entry]) -> None:
        self.before = before
        self.after = before.changed(gone, came)
        self.gone = list(before.places(gone))
        self._came = came

    @cached_property
    def events(self) -> list[Event]:
        """In the order of their entries: what comes at a place does so before what goes there."""
        found = [Event(self.before.place(entry), 1, entry) for entry in self._came]
        found.extend(Event(place, -1, entry) for place, entry in self.gone)
        return sorted(found, key=lambda event: (event.place, -event.sign))

    @cached_property
    def came(self) -> list[tuple[int, Entry]]:
        """What comes, with its places in the new version."""
        return list(self.after.places(self._came))

    @cached_property
    def runs(self) -> list[Run]:
        found: list[Run] = []
        at = moved = 0
        for place, sign, _ in self.events:
            if place > at:
                found.append(Run(at, place, moved))
                at = place
            moved += sign
            if sign < 0:
                at = place + 1
        if at < len(self.before):
            found.append(Run(at, len(self.before), moved))
        return found

    def since(self, steps: Iterable[tuple[int, int]]) -> list[Interval]:
        """Where the sum of all steps up to a place is not 0: each is a place and by how much the sum changes there."""
        sums: dict[int, int] = {}
        for place, step in steps:
            sums[place] = sums.get(place, 0) + step
        found: list[Interval] = []
        at = total = 0
        for place in sorted(sums):
            if total and place > at:
                found.append((at, place))
            at, total = place, total + sums[place]
        if total and at < len(self.before):
            found.append((at, len(self.before)))
        return found

    def everything(self) -> list[Interval]:
        return [(0, len(self.before))]


def united(intervals: Iterable[Interval], size: int) -> list[Interval]:
    """Places that are in any of them, as far as there are so many."""
    found: list[Interval] = []
    for start, end in sorted(intervals):
        low, high = max(start, 0), min(end, size)
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        elif low < high:
            found.append((low, high))
    return found


def within(intervals: Iterable[Interval], bounds: Interval) -> Iterator[Interval]:
    """The parts of them between two places."""
    for start, end in intervals:
        low, high = max(start, bounds[0]), min(end, bounds[1])
        if low < high:
            yield low, high
