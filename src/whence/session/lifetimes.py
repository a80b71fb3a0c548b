"""Time, as the database knows it, and when the rows of a table with a time to live leave."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple

from whence.errors import DataError, StateError
from whence.model.schema import Column, Relation, check_value
from whence.model.types import TIMESTAMP, Row
from whence.model.types.times import midnight, timestamp_text

# Before all commits.
LONG_AGO = datetime.datetime.min.replace(tzinfo=datetime.UTC)

# What `advance` takes for the time on the wall.
NOW = "now"


class Tick(NamedTuple):
    """A time that was advanced to, and whether the wall clock said it."""

    time: datetime.datetime
    by_wall: bool


class Clock:
    """The time that has passed is what the user advanced to; only `advance` makes rows expire.

    Rows arrive at the time of the last advance if that was given: event time stands still in between. It is the time
    on the wall if the last advance was to `now`, and before the first: processing time goes on.
    """

    def __init__(self, tick: Tick | None = None) -> None:
        # The last advance.
        self.tick = tick
        self.event: datetime.datetime | None = None
        self.by_wall = True
        if tick is not None:
            self.event, self.by_wall = tick

    @property
    def now(self) -> datetime.datetime:
        if self.event is None:
            return _on_the_wall()
        # A wall clock may be set back; time does not follow it.
        return max(self.event, _on_the_wall()) if self.by_wall else self.event

    def has_passed(self, moment: datetime.datetime | None) -> bool:
        return moment is not None and self.event is not None and moment <= self.event

    def set(self, tick: Tick) -> None:
        self.tick = tick
        self.event, self.by_wall = tick

    def read(self, moment: object) -> Tick:
        """A time to advance to: `now`, a datetime, a date or their text; not before the current time."""
        if isinstance(moment, str) and moment.strip().lower() == NOW:
            return Tick(self._checked(self.now if self.by_wall else _on_the_wall()), by_wall=True)
        return Tick(self._checked(_given(moment)), by_wall=False)

    def _checked(self, time: datetime.datetime) -> datetime.datetime:
        if self.event is not None and time < self.event:
            raise StateError(
                f"time does not go backwards: it is {timestamp_text(self.event)} already, "
                f"and {timestamp_text(time)} is before that"
            )
        return time


def _given(moment: object) -> datetime.datetime:
    try:
        time = check_value(moment, Column("time", TIMESTAMP, nullable=False))
    except DataError as error:
        raise DataError(
            f"advance takes a time: {error.message}", hint="write it like '2026-01-31 12:00:00', or 'now'"
        ) from None
    if not isinstance(time, datetime.datetime):
        raise DataError(f"advance takes a time, not {moment!r}")
    return time


def _on_the_wall() -> datetime.datetime:
    return wall_clock().replace(tzinfo=None)


def wall_clock() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


# So many entries of a queue are not worth looking through.
_FEW = 100


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

    The queue holds an entry for every copy that is there. Entries of copies that left another way are passed over, and
    dropped when there are as many of them as others.
    """

    def __init__(self, relation: Relation) -> None:
        self._relation = relation
        self._distinct = relation.distinct
        self._copies: dict[Row, list[datetime.datetime]] = {}
        self._queue: list[tuple[datetime.datetime, int, Row]] = []
        self._order = count()
        self._most = _FEW

    def restore(self, counts: Mapping[Row, int], leaves: Mapping[Row, Sequence[datetime.datetime]]) -> None:
        """These rows are there. Where a column tells when they leave, `leaves` need not."""
        relation = self._relation
        if relation.ttl is not None and relation.ttl.column is not None:
            # It does not matter when they came.
            by_column = ((row, expiry(relation, row, wall_clock()), copies) for row, copies in counts.items())
            leaves = {row: [leave] * copies for row, leave, copies in by_column if leave is not None}
        self.record(Arrival(row, leave) for row, of_copies in leaves.items() for leave in of_copies)

    def record(self, events: Iterable[Arrival | Departure]) -> None:
        """What a commit did. A row of a set that comes again starts its time again; of several copies of a row in a
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
        if len(self._queue) > self._most:
            self._queue = [(leave, next(self._order), row) for row, each in self._copies.items() for leave in each]
            heapify(self._queue)
            self._most = 2 * len(self._queue) + _FEW

    def after(
        self, events: Iterable[Arrival | Departure], others: Iterable[Row] = ()
    ) -> dict[Row, list[datetime.datetime]]:
        """When the copies of the rows that events are about leave, once these have happened; of others, as it is."""
        after: dict[Row, list[datetime.datetime]] = {row: list(self._copies.get(row, ())) for row in others}
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
