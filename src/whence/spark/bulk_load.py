"""Rows that come as a Spark DataFrame: a few are taken as rows, many stay on the cluster and are checked there."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyspark.sql.functions as functions
from pyspark.sql import Column, DataFrame

from whence.engines.spark.engine import SparkEngine
from whence.engines.spark.frames import FrameDelta
from whence.engines.spark.types import column_names, held_column, in_months, rows_from_arrow
from whence.errors import DataError, UnsupportedError
from whence.functions.types import fits
from whence.model.schema import Relation
from whence.model.types import DOUBLE, REAL, Row
from whence.model.updates import Delta, Update
from whence.session.draft import Draft, TableContents
from whence.session.lifetimes import Clock
from whence.sources.rows import column_positions, listed, row_text
from whence.spark.home import StorageHome
from whence.spark.lifetimes import is_late
from whence.spark.sessions import type_of, zoneless

# Up to so many rows of a frame are taken one by one, if they do not have more values than this.
TAKEN_AS_ROWS = 100_000
TAKEN_AS_VALUES = 1_000_000
# And up to so many as columns: the driver follows them in less time than the cluster takes to derive a view again.
COLUMN_ROWS = 2_000_000
COLUMN_VALUES = 20_000_000
# A frame that Spark takes to be no larger than this is read without a limit, which would bring it into one task.
UNLIMITED_BYTES = 1 << 28


def few_rows(frame: DataFrame, *, in_columns: bool = False) -> pa.Table | None:
    """The rows of a frame if they are few, or few enough for columns."""
    rows, values = (COLUMN_ROWS, COLUMN_VALUES) if in_columns and TAKEN_AS_ROWS else (TAKEN_AS_ROWS, TAKEN_AS_VALUES)
    most = min(rows, values // max(1, len(frame.columns)))
    # What Spark plans with; PySpark has no other way to it.
    size = frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()  # noqa: SLF001
    found = in_months(frame if int(str(size)) <= UNLIMITED_BYTES else frame.limit(most + 1)).toArrow()
    return found if found.num_rows <= most else None


class BulkDraft(Draft):
    """A change to one table that nobody looks at row by row. So many rows were too late for it."""

    def __init__(self, relation: Relation, delta: Delta, clock: Clock, late: int = 0) -> None:
        super().__init__(nothing_looked_up, clock)
        self._relation = relation
        self._delta = delta
        self.passage.expired = late

    @property
    def update(self) -> Update:
        return Update({self._relation.name: self._delta} if self._delta else {})


def nothing_looked_up(relation: Relation) -> TableContents:
    raise AssertionError(f"{relation.name} is changed as a whole")


class BulkChecks:
    """Takes frames in for tables of an engine, which then has them in its own session and on its own storage."""

    def __init__(self, engine: SparkEngine, home: StorageHome) -> None:
        self._engine = engine
        self._home = home

    def inserted(self, frame: DataFrame, relation: Relation, clock: Clock) -> BulkDraft:
        """The rows that come. Raises for the first one that must not."""
        check_rows_tell_all(relation)
        rows, late = self.taken(frame, relation), 0
        if relation.ttl is not None:
            rows, late = self.in_time(rows, relation, clock)
        if relation.key:
            self._check_keys(rows, relation)
        if relation.distinct:
            there = self._engine.frame(relation.name)
            rows = joined(rows, there, relation, "left_anti").withColumn("n", functions.lit(1).cast("bigint"))
        return BulkDraft(relation, self.delta(rows, relation), clock, late)

    def deleted(self, frame: DataFrame, relation: Relation, clock: Clock, *, ignore_missing: bool) -> BulkDraft:
        """The rows that go. Raises for the first one that is not there."""
        check_rows_tell_all(relation)
        rows = self.taken(frame, relation)
        found = with_present(rows, self._engine.frame(relation.name), relation)
        if not ignore_missing:
            for row in self.first(found.where("there < n"), relation):
                raise DataError(
                    f"a row of the DataFrame is not in {relation.name!r}, so it cannot be deleted: {row_text(row)}",
                    hint='missing="ignore" passes over rows that are not there',
                )
        going = found.withColumn("n", -functions.least("n", "there")).drop("there").where("n <> 0")
        return BulkDraft(relation, self.delta(going, relation), clock)

    def in_time(self, rows: DataFrame, relation: Relation, clock: Clock) -> tuple[DataFrame, int]:
        """Rows that have not left by now, and how many have."""
        if clock.event is None:
            return rows, 0
        gone = is_late(relation, clock.event)
        (found,) = rows.where(gone).agg(functions.sum("n")).collect()
        return rows.where(~gone), found[0] or 0

    def taken(self, frame: DataFrame, relation: Relation) -> DataFrame:
        """The rows in the engine's hands, each once with its number of copies, all of them fit for their columns."""
        positions = column_positions(frame.columns, relation, f"the DataFrame for {relation.name!r}")
        picked: list[Column] = []
        for at, (position, column) in enumerate(zip(positions, relation.columns, strict=True)):
            field = frame.schema.fields[position]
            source = type_of(field)
            if source is None or not fits(source, column.type):
                raise DataError(
                    f"column {column.name!r} of {relation.name!r} must be {column.type}, and the DataFrame has "
                    f"{field.dataType.simpleString().upper()}",
                    hint="cast it before",
                )
            value = held_column(zoneless(functions.col(f"`{field.name}`"), field.dataType), column.type)
            # There is one zero.
            picked.append((value + functions.lit(0.0) if column.type in (DOUBLE, REAL) else value).alias(f"c{at}"))
        kept = self._home.keep(relation.name, frame.select(*picked))
        self.check_values(kept, relation, "a row of the DataFrame")
        return kept.groupBy(*column_names(relation.arity)).agg(functions.count(functions.lit(1)).alias("n"))

    def check_values(self, frame: DataFrame, relation: Relation, what: str) -> None:
        """Raises for the first row with a value that its column does not take. `what` it goes by in a message."""
        wrong = functions.lit(False)
        for at, column in enumerate(relation.columns):
            value = functions.col(f"c{at}")
            if not column.nullable:
                wrong |= value.isNull()
            if column.type in (DOUBLE, REAL):
                wrong |= is_no_number(value)
        for row in self.first(frame.where(wrong), relation):
            bad = next(
                column
                for column, value in zip(relation.columns, row, strict=True)
                if (value is None and not column.nullable)
                or (isinstance(value, float) and not abs(value) < float("inf"))
            )
            refused = "NULL" if row[relation.columns.index(bad)] is None else "a number that is not finite"
            raise DataError(f"column {bad.name!r} of {relation.name!r} takes no {refused}, in {what}: {row_text(row)}")

    def _check_keys(self, rows: DataFrame, relation: Relation) -> None:
        key = [f"c{relation.column_names.index(name)}" for name in relation.key]
        there = self._engine.frame(relation.name)
        both = rows.drop("n").unionByName(there.drop("n")).distinct()
        twice = both.groupBy(*key).agg(functions.count(functions.lit(1)).alias("n")).where("n > 1").drop("n")
        for row in self.first(rows.join(twice, key, "left_semi"), relation):
            raise DataError(
                f"a row of the DataFrame has the key of another row of {relation.name!r}, {listed(relation.key)}: "
                f"{row_text(row)}",
                hint="delete that row first",
            )

    def first(self, frame: DataFrame, relation: Relation) -> Iterator[Row]:
        yield from rows_from_arrow(frame.select(column_names(relation.arity)).limit(1).toArrow(), relation)

    def delta(self, rows: DataFrame, relation: Relation) -> FrameDelta:
        kept = self._home.keep(relation.name, rows)
        return FrameDelta(relation, kept, self._home.rows(kept), kept)


def is_no_number(value: Column) -> Column:
    """Whether a DOUBLE is NaN or infinite, which is no value here."""
    return functions.coalesce(functions.isnan(value) | (functions.abs(value) == float("inf")), functions.lit(False))


def rows_tell_all(relation: Relation) -> bool:
    """Whether nothing beside the rows is kept. Where rows leave because of when they came, each is looked at."""
    return relation.window is None and (relation.ttl is None or relation.ttl.column is not None)


def check_rows_tell_all(relation: Relation) -> None:
    if not rows_tell_all(relation):
        raise UnsupportedError(
            f"rows of {relation.name!r} leave because of when they came, so it takes {TAKEN_AS_ROWS:,} rows of a "
            "DataFrame at a time",
            hint="hand them over in parts, or attach a stream",
        )


def with_present(rows: DataFrame, table: DataFrame, relation: Relation) -> DataFrame:
    """Rows with the number of copies `there` are in a table."""
    both = joined(rows, table.withColumnRenamed("n", "there"), relation, "left")
    return both.withColumn("there", functions.coalesce("there", functions.lit(0).cast("bigint")))


def joined(left: DataFrame, right: DataFrame, relation: Relation, how: str) -> DataFrame:
    """Two frames of the same relation, row by row."""
    names = column_names(relation.arity)
    renamed = right.withColumnsRenamed({name: f"r_{name}" for name in names})
    matches = [left[name].eqNullSafe(renamed[f"r_{name}"]) for name in names]
    return left.join(renamed, matches, how).drop(*[f"r_{name}" for name in names])
