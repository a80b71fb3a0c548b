"""When the rows of a table with a time to live leave."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

from whence.functions.timetext import midnight
from whence.model.schema import Relation
from whence.model.types import Row
from whence.session.clock import wall_clock


@dataclass(frozen=True, slots=True)
class Arrival:
    """A copy of a row came, and leaves at `expiry`."""

    row: Row
    expiry: datetime.datetime


@dataclass(frozen=True, slots=True)
class Departure:
    """A copy of a row was deleted."""

    row: Row


class Lifetimes:
    """One expiry time per copy of a row.

    The queue holds an entry for every copy that ever came; entries of copies that left another way are passed over.
    """

    def __init__(self, relation: Relation) -> None:
        self._distinct = relation.distinct
        self._copies: dict[Row, list[datetime.datetime]] = {}
        self._queue: list[tuple[datetime.datetime, int, Row]] = []
        self._order = count()

    def record(self, events: Iterable[Arrival | Departure]) -> None:
        """What a commit did. A row of a set that comes again starts its time anew; of several copies of a row in a
        bag, a delete takes the one that would leave first.
        """
        events = list(events)
        for row, copies in self.after(events).items():
            if copies:
                self._copies[row] = copies
            else:
                self._copies.pop(row, None)
        for event in events:
            if isinstance(event, Arrival):
                heappush(self._queue, (event.expiry, next(self._order), event.row))

    def after(self, events: Iterable[Arrival | Departure]) -> dict[Row, list[datetime.datetime]]:
        """When the copies of the rows that events are about leave, once these have happened."""
        after: dict[Row, list[datetime.datetime]] = {}
        for event in events:
            copies = after.get(event.row)
            if copies is None:
                copies = after[event.row] = list(self._copies.get(event.row, ()))
            if isinstance(event, Arrival):
                if self._distinct:
                    copies.clear()
                copies.append(event.expiry)
            elif copies:
                copies.remove(min(copies))
        return after

    def due(self, now: datetime.datetime) -> dict[Row, int]:
        """How many copies of each row leave by `now`."""
        due: Counter[Row] = Counter()
        for row in self._due_rows(now):
            due[row] = sum(expiry <= now for expiry in self._copies.get(row, ()))
        return +due

    def settle(self, now: datetime.datetime) -> None:
        """Forget what `due` named."""
        while self._queue and self._queue[0][0] <= now:
            _, _, row = heappop(self._queue)
            copies = [expiry for expiry in self._copies.pop(row, ()) if expiry > now]
            if copies:
                self._copies[row] = copies

    def _due_rows(self, now: datetime.datetime) -> set[Row]:
        """Rows of which a copy may leave by `now`."""
        # Only the part of the heap that is due is walked, and nothing is taken from it before the commit succeeds.
        todo = [0]
        rows = set()
        while todo:
            at = todo.pop()
            if at < len(self._queue) and self._queue[at][0] <= now:
                rows.add(self._queue[at][2])
                todo += (2 * at + 1, 2 * at + 2)
        return rows


def restored_lifetimes(
    relation: Relation, counts: Mapping[Row, int], leaves: Mapping[Row, Sequence[datetime.datetime]]
) -> Lifetimes:
    """The lifetimes of rows that are there. Where a column tells when they leave, `leaves` need not."""
    lifetimes = Lifetimes(relation)
    if relation.ttl is not None and relation.ttl.column is not None:
        # It does not matter when they came.
        by_column = ((row, expiry(relation, row, wall_clock()), copies) for row, copies in counts.items())
        leaves = {row: [leave] * copies for row, leave, copies in by_column if leave is not None}
    lifetimes.record(Arrival(row, leave) for row, of_copies in leaves.items() for leave in of_copies)
    return lifetimes


def expiry(relation: Relation, row: Row, now: datetime.datetime) -> datetime.datetime | None:
    """When a row that is inserted `now` leaves; None if it stays for want of a time to live, or of a time."""
    if relation.ttl is None:
        return None
    since: object = now
    if relation.ttl.column is not None:
        since = row[relation.column_names.index(relation.ttl.column)]
    if not isinstance(since, datetime.date):
        return None
    start = since if isinstance(since, datetime.datetime) else midnight(since)
    try:
        return start + datetime.timedelta(microseconds=relation.ttl.microseconds)
    except OverflowError:
        return None
