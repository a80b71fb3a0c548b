"""What tables with a time to live or a row window keep beside their rows: when copies leave, in which order they came.

A time to live that counts from a column needs nothing of the kind: the row says when it leaves.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappush
from typing import Any

import pyarrow as pa
import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame

from whence.engines.spark.engine import SparkEngine
from whence.engines.spark.pages import Segments
from whence.engines.spark.types import rows_from_arrow, rows_to_arrow
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.types.times import midnight
from whence.session.journal import Record, TableChange
from whence.session.lifetimes import Arrival, Departure, Lifetimes, expiry
from whence.storage.files.changes import NewTable
from whence.storage.files.segments import columns_of_arrow
from whence.storage.files.store import Storage

LEAVES, ARRIVALS = "leaves", "arrivals"
_TYPES = {LEAVES: pa.list_(pa.timestamp("us")), ARRIVALS: pa.list_(pa.int64())}

# Entries that later ones have replaced are dropped when there are so many, and twice as many as others.
MOST_REPLACED = 10_000


def side_tables(relation: Relation) -> list[str]:
    """The kinds of side tables that a table has."""
    kinds = []
    if relation.ttl is not None and relation.ttl.column is None:
        kinds.append(LEAVES)
    if relation.window is not None:
        kinds.append(ARRIVALS)
    return kinds


def side_name(relation: Relation, kind: str) -> str:
    return f"{relation.name}#{kind}"


def side_changes(record: Record, storage: Storage) -> tuple[dict[str, pa.Table], dict[str, NewTable]]:
    """What a commit adds to side tables, and those that are written as a whole."""
    logs: dict[str, pa.Table] = {}
    tables: dict[str, NewTable] = {}
    for change in record.tables():
        for kind in side_tables(change.relation):
            name = side_name(change.relation, kind)
            entries = _entries(change, kind)
            if name not in storage.current.tables:
                tables[name] = _table(change.relation, kind, entries)
            elif entries:
                logs[name] = _encoded(change.relation, kind, entries)
                written = sum(log.rows for log in storage.current.tables[name].logs)
                # How many rows there are takes a look at all of them.
                if written > MOST_REPLACED and written > 2 * len(change.counts):
                    del logs[name]
                    tables[name] = _table(
                        change.relation, kind, {**read_side(storage, change.relation, kind), **entries}
                    )
    return logs, tables


def read_side(storage: Storage, relation: Relation, kind: str) -> dict[Row, list[Any]]:
    """The last entry of every row that has one."""
    name = side_name(relation, kind)
    if name not in storage.current.tables:
        return {}
    table = storage.logs([name]).get(name)
    if table is None:
        return {}
    values = table.column(kind).to_pylist()
    entries = dict(zip(rows_from_arrow(table, relation), values, strict=True))
    return {row: entry for row, entry in entries.items() if entry}


def _entries(change: TableChange, kind: str) -> Mapping[Row, Sequence[Any]]:
    return change.leaves if kind == LEAVES else change.arrivals


def _table(relation: Relation, kind: str, entries: Mapping[Row, Sequence[Any]]) -> NewTable:
    there = {row: entry for row, entry in entries.items() if entry}
    table = _encoded(relation, kind, there)
    return NewTable(kind, columns_of_arrow(table.schema), (), table)


def _encoded(relation: Relation, kind: str, entries: Mapping[Row, Sequence[Any]]) -> pa.Table:
    values: list[list[Any]] = [list(entry) for entry in entries.values()]
    return rows_to_arrow(list(entries), relation).append_column(kind, pa.array(values, _TYPES[kind]))


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
        self._engine = engine
        self._ttl = datetime.timedelta(microseconds=relation.ttl.microseconds)
        self._position = relation.column_names.index(relation.ttl.column)
        self._begin()

    def restore(self, counts: Mapping[Row, int], leaves: Mapping[Row, Sequence[datetime.datetime]]) -> None:
        """The rows tell it."""

    def record(self, events: Iterable[Arrival | Departure]) -> None:
        self._follow_base()
        for event in events:
            if isinstance(event, Arrival):
                heappush(self._queue, (event.expiry, next(self._order), event.row))

    def after(
        self,
        events: Iterable[Arrival | Departure],  # noqa: ARG002 - rows tell it
        others: Iterable[Row] = (),  # noqa: ARG002 - likewise
    ) -> dict[Row, list[datetime.datetime]]:
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
        time = F.col(f"c{self._position}").cast("timestamp_ntz")
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
    return F.coalesce(F.col(f"c{position}").cast("timestamp_ntz") <= _moment(first), F.lit(False))


def _moment(time: datetime.datetime) -> Column:
    """PySpark would take it for a time of this machine's time zone."""
    return F.lit(time.isoformat()).cast("timestamp_ntz")
