"""Which rows of a table with a row window live: the newest per partition.

`Window` is the state between commits, `WindowDraft` what a commit is about to make of it, change by change, so that
several changes in one commit do the same as one by one.
"""

from __future__ import annotations

import datetime
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.types.times import midnight

Partition: TypeAlias = Row
# A copy of a row: its time, the number of its arrival, which no other copy has, and the row.
Copy: TypeAlias = tuple[datetime.datetime, int, Row]

LONG_AGO = midnight(datetime.date.min)


class Window:
    """The copies that are there, oldest first, by partition and by row."""

    def __init__(self, relation: Relation) -> None:
        assert relation.window is not None
        self.rows = relation.window.rows
        self.distinct = relation.distinct
        self.arrivals = 0
        self.partitions: dict[Partition, list[Copy]] = {}
        self.copies: dict[Row, list[Copy]] = {}
        names = relation.column_names
        self._positions = [names.index(name) for name in relation.window.partition]
        column = relation.ttl.column if relation.ttl is not None else None
        self._time = None if column is None else names.index(column)

    def partition(self, row: Row) -> Partition:
        return tuple([row[position] for position in self._positions])

    def copy(self, row: Row, arrival: int) -> Copy:
        """A copy that comes as number `arrival`. Without a time, a row is older than all that have one."""
        time = None if self._time is None else row[self._time]
        if isinstance(time, datetime.date) and not isinstance(time, datetime.datetime):
            time = midnight(time)
        return (time if isinstance(time, datetime.datetime) else LONG_AGO, arrival, row)

    def add(self, copy: Copy) -> None:
        row = copy[2]
        insort(self.partitions.setdefault(self.partition(row), []), copy)
        insort(self.copies.setdefault(row, []), copy)

    def discard(self, copy: Copy) -> None:
        row = copy[2]
        _remove(self.partitions, self.partition(row), copy)
        _remove(self.copies, row, copy)


class WindowDraft:
    """Changes to a window that have not happened yet. The window stays as it is until `settle`."""

    def __init__(self, window: Window, relation: Relation) -> None:
        self._window = window
        self._added = Window(relation)
        self._gone: dict[int, Copy] = {}
        self._gone_from: Counter[Partition] = Counter()
        self._oldest_of_partition = _Oldest(window.partitions, self._added.partitions, self._gone)
        self._oldest_of_row = _Oldest(window.copies, self._added.copies, self._gone)

    def insert(self, row: Row) -> Row | None:
        """A row comes, and the oldest one of its partition leaves if it is one too many; the row itself can be that.

        A row of a set that comes again is as new as if it had not been there.
        """
        if self._window.distinct:
            self.remove(row, 1)
        partition = self._window.partition(row)
        self._added.add(self._window.copy(row, self._window.arrivals + self._added.arrivals))
        self._added.arrivals += 1
        if self._size(partition) <= self._window.rows:
            return None
        oldest = self._oldest_of_partition.find(partition)
        assert oldest is not None, "a partition that is too full is not empty"
        self._discard(oldest)
        return oldest[2]

    def remove(self, row: Row, copies: int) -> None:
        """The oldest copies of a row leave, as many of those wanted as there are."""
        for _ in range(copies):
            oldest = self._oldest_of_row.find(row)
            if oldest is not None:
                self._discard(oldest)

    def after(self) -> dict[Row, list[int]]:
        """By which numbers the copies of the rows that changed came, once the changes have happened."""
        changed = {copy[2] for copy in self._gone.values()} | self._added.copies.keys()
        return {
            row: [
                arrival
                for _, arrival, _ in (*self._window.copies.get(row, ()), *self._added.copies.get(row, ()))
                if arrival not in self._gone
            ]
            for row in changed
        }

    def settle(self) -> Window:
        """The changes happen, and this is the window after them."""
        for copy in self._gone.values():
            self._window.discard(copy)
        for copies in self._added.copies.values():
            for copy in copies:
                self._window.add(copy)
        self._window.arrivals += self._added.arrivals
        return self._window

    def _size(self, partition: Partition) -> int:
        settled = len(self._window.partitions.get(partition, ())) - self._gone_from[partition]
        return settled + len(self._added.partitions.get(partition, ()))

    def _discard(self, copy: Copy) -> None:
        if copy[1] >= self._window.arrivals:
            self._added.discard(copy)
        else:
            self._gone[copy[1]] = copy
            self._gone_from[self._window.partition(copy[2])] += 1


def restored_window(relation: Relation, arrivals: Mapping[Row, Sequence[int]]) -> Window:
    """The window of a table with these rows, whose copies came by these numbers."""
    window = Window(relation)
    for row, of_copies in arrivals.items():
        for arrival in of_copies:
            window.add(window.copy(row, arrival))
            window.arrivals = max(window.arrivals, arrival + 1)
    return window


class _Oldest:
    """Finds the oldest copy under a key. Settled copies that are gone are passed over once, not every time."""

    def __init__(
        self,
        settled: Mapping[Row, Sequence[Copy]],
        added: Mapping[Row, Sequence[Copy]],
        gone: Mapping[int, Copy],
    ) -> None:
        self._settled = settled
        self._added = added
        self._gone = gone
        self._passed: Counter[Row] = Counter()

    def find(self, key: Row) -> Copy | None:
        settled = self._settled.get(key, ())
        at = self._passed[key]
        while at < len(settled) and settled[at][1] in self._gone:
            at += 1
        self._passed[key] = at
        return min([*settled[at : at + 1], *self._added.get(key, ())[:1]], default=None)


def _remove(copies: dict[Row, list[Copy]], key: Row, copy: Copy) -> None:
    found = copies[key]
    del found[bisect_left(found, copy)]
    if not found:
        del copies[key]
