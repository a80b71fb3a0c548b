"""When rows leave that tell it themselves, by a time in one of their columns.

Only the next of them are in memory. The others are on the cluster, in the base of their table, and are brought in the
order of their times, some thousands at once, when time comes near them.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from heapq import heapify, heappush

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame

from whence.engines.spark.engine import SparkEngine
from whence.engines.spark.paging import Segments
from whence.functions.timetext import midnight
from whence.model.schema import Relation
from whence.model.types import Row
from whence.session.lifetimes import Arrival, Departure, Lifetimes, expiry

# Rows that are brought at a time.
UPCOMING = 20_000

_AT_ONCE = midnight(datetime.date.min)


class BaseLifetimes(Lifetimes):
    """The lifetimes of a table with a `ttl_column`. All copies of a row leave at the same time.

    The queue has the rows that came since the base was written, and the first ones of the base.
    """

    def __init__(self, relation: Relation, engine: SparkEngine) -> None:
        super().__init__(relation)
        assert relation.ttl is not None and relation.ttl.column is not None
        self._relation = relation
        self._engine = engine
        self._ttl = datetime.timedelta(microseconds=relation.ttl.microseconds)
        self._position = relation.column_names.index(relation.ttl.column)
        self._begin()

    def record(self, events: Iterable[Arrival | Departure]) -> None:
        self._follow_base()
        for event in events:
            if isinstance(event, Arrival):
                heappush(self._queue, (event.expiry, next(self._order), event.row))

    def after(self, events: Iterable[Arrival | Departure]) -> dict[Row, list[datetime.datetime]]:  # noqa: ARG002
        """Nothing has to be remembered that the rows do not say."""
        return {}

    def due(self, now: datetime.datetime) -> dict[Row, int]:
        self._follow_base()
        if self._segments is not None and self._next is not None and self._next <= now:
            self._bring(self._segments, now)
        changed = self._engine.registry.counted(self._relation.name).overlay_rows
        due = {row: self._in_base.get(row, 0) + changed.get(row, 0) for row in self._due_rows(now)}
        return {row: copies for row, copies in due.items() if copies > 0}

    def settle(self, now: datetime.datetime) -> None:
        for row in self._due_rows(now):
            self._in_base.pop(row, None)
        super().settle(now)

    def _follow_base(self) -> None:
        if self._engine.registry.counted(self._relation.name).base.segments is not self._segments:
            self._begin()

    def _begin(self) -> None:
        """There is another base, of which nothing is in memory yet."""
        state = self._engine.registry.counted(self._relation.name)
        self._segments: Segments[int] | None = state.base.segments
        # The rows of the base that are in the queue: all up to a time in their column.
        self._in_base: dict[Row, int] = {}
        self._reached: datetime.datetime | None = None
        # When the first row leaves that is not in the queue; None if all of them are.
        self._next = None if self._segments is None else _AT_ONCE
        self._queue = []
        self._enqueue(row for row, change in state.overlay_rows.items() if change > 0)

    def _bring(self, segments: Segments[int], now: datetime.datetime) -> None:
        """Have all rows of the base in the queue that leave by `now`, and some more if those are few."""
        time = F.col(f"c{self._position}").cast("timestamp")
        left = segments.frame.where(time.isNotNull() if self._reached is None else time > _moment(self._reached))
        rows, number = self._read(segments, left.orderBy(time).limit(UPCOMING + 1))
        if number <= UPCOMING:
            self._next = None
        else:
            # There may be others as late as the last one.
            last = max(map(self._time, rows))
            self._next = self._leaves(last)
            if self._next is not None and self._next <= now:
                self._reached, self._next = now - self._ttl, now
                rows, _ = self._read(segments, left.where(time <= _moment(self._reached)))
            else:
                rows = {row: count for row, count in rows.items() if self._time(row) < last}
                self._reached = max(map(self._time, rows), default=self._reached)
        self._in_base.update(rows)
        self._enqueue(rows)

    def _read(self, segments: Segments[int], frame: DataFrame) -> tuple[dict[Row, int], int]:
        """The rows of a frame with their counts, and how many it has: a count can come in parts."""
        with self._engine.phase(self._relation.name, "find what expires"):
            table = frame.toArrow()
        rows: dict[Row, int] = {}
        for row, count in segments.decode(table):
            rows[row] = rows.get(row, 0) + count
        return rows, table.num_rows

    def _enqueue(self, rows: Iterable[Row]) -> None:
        for row in rows:
            leaves = expiry(self._relation, row, _AT_ONCE)
            if leaves is not None:
                self._queue.append((leaves, next(self._order), row))
        heapify(self._queue)

    def _time(self, row: Row) -> datetime.datetime:
        value = row[self._position]
        assert isinstance(value, datetime.date), "others are not brought"
        return value if isinstance(value, datetime.datetime) else midnight(value)

    def _leaves(self, time: datetime.datetime) -> datetime.datetime | None:
        """A row with that time, unless it stays for good."""
        try:
            return time + self._ttl
        except OverflowError:
            return None


def is_late(relation: Relation, time: datetime.datetime) -> Column:
    """Whether a row would have left by that time already."""
    assert relation.ttl is not None and relation.ttl.column is not None
    position = relation.column_names.index(relation.ttl.column)
    try:
        first = time - datetime.timedelta(microseconds=relation.ttl.microseconds)
    except OverflowError:
        return F.lit(False)
    return F.coalesce(F.col(f"c{position}").cast("timestamp") <= _moment(first), F.lit(False))


def _moment(time: datetime.datetime) -> Column:
    """PySpark would take it for a time of this machine's time zone."""
    return F.lit(f"{time.isoformat()}Z").cast("timestamp")
