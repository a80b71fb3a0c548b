"""From a micro-batch to a commit."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from whence.engines.spark.errors import spark_errors
from whence.errors import DataError, StateError
from whence.model.types import Row
from whence.model.types.times import midnight
from whence.model.updates import Commit
from whence.session.changes import Delete, Insert
from whence.session.draft import Draft, TableDraft, key_of
from whence.session.lifetimes import Tick
from whence.session.session import Session
from whence.sources.rows import listed, row_text
from whence.spark import bulk_load
from whence.spark.bulk_load import BulkDraft, few_rows
from whence.spark.column_load import ColumnChecks
from whence.spark.streams.attachment import Attachment
from whence.spark.streams.large_batch import LargeBatches
from whence.spark.streams.records import (
    DELETE,
    INSERT,
    Bad,
    Quarantine,
    copies,
    netted,
    read_records,
    read_signs,
    selected,
)
from whence.storage.files.store import Storage


@dataclass(frozen=True, slots=True)
class Progress:
    """What became of a micro-batch. `rows` came in, and `bad` of them were set aside."""

    relation: str
    batch: int
    rows: int
    bad: int
    version: int
    elapsed: float
    jobs: int


class Intake:
    """Takes the micro-batches of one stream."""

    def __init__(
        self,
        attachment: Attachment,
        changing: Callable[[], AbstractContextManager[Session]],
        storage: Storage,
        large: LargeBatches,
        columns: ColumnChecks,
        quarantine: Quarantine | None,
    ) -> None:
        self.attachment = attachment
        self._changing = changing
        self._storage = storage
        self._large = large
        self._columns = columns
        self._quarantine = quarantine

    def take(self, batch: DataFrame, number: int) -> Progress | None:
        """Commit a micro-batch; None if that has happened before."""
        started = time.perf_counter()
        query = batch.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
        assert query is not None
        with spark_errors(
            DataError, f"the rows of batch {number} for {self.attachment.relation.name!r} cannot be computed"
        ):
            records = selected(batch, self.attachment)
            small = self._small(records)
        with self._changing() as session:
            stream = f"{self.attachment.relation.name}:{query}"
            if not self._is_next(stream, number):
                return None
            self._check_table(session)
            place = f"a row of batch {number}"
            draft = None if small is None else self._in_columns(small, session)
            if draft is not None and small is not None:
                rows, bad, tick = small.num_rows, [], None
            elif small is None or (small.num_rows > bulk_load.TAKEN_AS_ROWS and self._tells_all):
                taken = self._large.take(records, self.attachment, place)
                rows, bad, tick = taken.rows, taken.bad, None
                draft = BulkDraft(self.attachment.relation, taken.delta, session.clock)
            else:
                rows = small.num_rows
                draft, bad, tick = self._draft(session, small, place)
            if bad and self._quarantine is None:
                raise bad[0].error
            if self._quarantine is not None:
                self._quarantine.put(query, number, bad)
            commit = session.commit(draft, tick, {stream: number})
        return _progress(self.attachment.relation.name, number, rows, len(bad), commit, started)

    @property
    def _tells_all(self) -> bool:
        """Whether records need not be looked at one by one."""
        return self.attachment.relation.ttl is None and self.attachment.relation.window is None

    def _small(self, records: DataFrame) -> pa.Table | None:
        """The records if they are few enough for this process, or if they have to be looked at one by one."""
        return few_rows(records, in_columns=True) if self._tells_all else records.toArrow()

    def _in_columns(self, records: pa.Table, session: Session) -> Draft | None:
        """What many records come to, if all of them are good; None if they have to be looked at one by one."""
        relation = self.attachment.relation
        if records.num_rows < self._columns.many_rows or not self._tells_all:
            return None
        signs = read_signs(records, self.attachment)
        own = records.select(range(relation.arity)).rename_columns(list(relation.column_names))
        try:
            rows = None if signs is None else self._columns.rows(own, relation)
        except DataError:
            return None
        return None if rows is None or signs is None else self._columns.netted(rows, signs, session.clock)

    def _is_next(self, stream: str, number: int) -> bool:
        """Whether a batch is the one after those that were taken. Raises if others have been in between."""
        last = self._storage.current.batches.get(stream, -1)
        if number > last + 1:
            raise StateError(
                f"batch {number} comes to {self.attachment.relation.name!r}, and "
                + (f"batch {last} was the last one" if last >= 0 else "none came before"),
                hint="the checkpoint is that of another database, or of another state of this one; "
                "start with a new checkpoint",
            )
        return number == last + 1

    def _check_table(self, session: Session) -> None:
        if session.definitions.table(self.attachment.relation.name) != self.attachment.relation:
            raise StateError(
                f"table {self.attachment.relation.name!r} has changed since its stream was attached",
                hint="stop the streams, and attach it again",
            )

    def _draft(self, session: Session, table: pa.Table, place: str) -> tuple[Draft, list[Bad], Tick | None]:
        """Rows that go come first, then those whose time has come, and then the new ones."""
        relation = self.attachment.relation
        records = read_records(table, self.attachment, place)
        going, coming = netted(records)
        session.expect([Delete(relation, list(going), ignore_missing=True), Insert(relation, list(coming))])
        tick = self._tick(session, (row for row, _ in records.good))
        draft = session.draft(tick)
        changes = _RowByRow(draft.table(relation), place)
        changes.delete(copies(going), ignore_missing=self.attachment.ignore_missing)
        if tick is not None:
            session.tables.expire(draft, tick.time)
        changes.insert(coming)
        return draft, records.bad + changes.bad, tick

    def _tick(self, session: Session, rows: Iterable[Row]) -> Tick | None:
        """Where event time is after these rows, if it moves."""
        ttl, delay = self.attachment.relation.ttl, self.attachment.delay
        if delay is None or ttl is None or ttl.column is None:
            return None
        at = self.attachment.relation.column_names.index(ttl.column)
        times = [value for row in rows if isinstance(value := row[at], datetime.date)]
        if not times:
            return None
        newest = max(value if isinstance(value, datetime.datetime) else midnight(value) for value in times)
        try:
            moment = newest - datetime.timedelta(microseconds=delay)
        except OverflowError:
            return None
        now = session.clock.event
        return Tick(moment, by_wall=False) if now is None or moment > now else None


class _RowByRow:
    """Changes to a table of which each happens or does not."""

    def __init__(self, table: TableDraft, place: str) -> None:
        self._table = table
        self._place = place
        self.bad: list[Bad] = []

    def delete(self, rows: Iterable[Row], *, ignore_missing: bool) -> None:
        for row in rows:
            try:
                self._table.delete([row], ignore_missing=ignore_missing, place=lambda _: self._place)
            except DataError as error:
                self.bad.append(Bad(DELETE, row, None, error))

    def insert(self, rows: dict[Row, int]) -> None:
        rivals = self._rivals(rows)
        for row in copies(rows):
            try:
                if row in rivals:
                    raise self._conflict(row, rivals[row])
                self._table.insert([row], place=lambda _: self._place)
            except DataError as error:
                self.bad.append(Bad(INSERT, row, None, error))

    def _rivals(self, rows: Iterable[Row]) -> dict[Row, Row]:
        """Another row with the same key, for those that have one. None of them is better than the others."""
        key = key_of(self._table.relation)
        if key is None:
            return {}
        by_key: dict[object, list[Row]] = {}
        for row in rows:
            by_key.setdefault(key(row), []).append(row)
        return {row: same[row is same[0]] for same in by_key.values() if len(same) > 1 for row in same}

    def _conflict(self, row: Row, rival: Row) -> DataError:
        relation = self._table.relation
        return DataError(
            f"{self._place} has the key of another one for {relation.name!r}, {listed(relation.key)}: {row_text(row)}",
            related=[(f"the other one is {row_text(rival)}", None)],
            hint="a batch has no order: between two rows with one key, the first must be deleted in it",
        )


def _progress(relation: str, batch: int, rows: int, bad: int, commit: Commit, started: float) -> Progress:
    jobs = 1 + int(commit.metrics.get("jobs", 0))
    return Progress(relation, batch, rows, bad, commit.version, time.perf_counter() - started, jobs)
