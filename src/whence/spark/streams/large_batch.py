"""Micro-batches that are too large for the driver: checked, netted and compared with their table on the cluster.

The cluster tells which records are in doubt, and the driver looks at those, so that what is bad and why is decided, and
put into words, in one place.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame

from whence.algebra.deltas import add_to
from whence.engines.spark.engine import SparkEngine
from whence.engines.spark.frames import FrameDelta, delta_frame
from whence.engines.spark.types import column_names, rows_from_arrow, spark_type
from whence.errors import DataError
from whence.model.schema import Relation
from whence.model.types import DOUBLE, REAL, ArrayType, Row, Type
from whence.sources.rows import listed, row_text
from whence.spark.bulk_load import is_no_number, with_present
from whence.spark.home import StorageHome
from whence.spark.sessions import type_of
from whence.spark.streams.attachment import Attachment
from whence.spark.streams.records import BEYOND, CHANGE, CORRUPT, DELETE, INSERT, SIGNS, Bad, read_records


@dataclass(frozen=True, slots=True)
class Taken:
    """What so many records come to, but for the bad ones."""

    rows: int
    delta: FrameDelta
    bad: list[Bad]


class LargeBatches:
    """Takes micro-batches for tables of an engine, which then has them in its own session and on its own storage."""

    def __init__(self, engine: SparkEngine, home: StorageHome) -> None:
        self._engine = engine
        self._home = home

    def take(self, records: DataFrame, attachment: Attachment, place: str) -> Taken:
        """`records` are as `selected` has made them."""
        relation = attachment.relation
        # A stream may not give the same records twice.
        kept = self._home.keep(relation.name, records)
        rows = self._home.rows(kept)
        net, bad = self._net(kept, attachment, place)
        # Read several times from here on.
        compared = self._home.keep(relation.name, with_present(net, self._engine.frame(relation.name), relation))
        self._home.discard(kept)
        found = compared
        if not attachment.ignore_missing:
            bad += self._missing(found, relation, place)
        # A row that is not there does not go.
        found = found.withColumn("n", F.greatest("n", -F.col("there"))).where("n <> 0")
        if relation.key:
            found, conflicts = self._without_conflicts(found, relation, place)
            bad += conflicts
        if relation.distinct:
            found = found.where("n < 0 OR there = 0").withColumn("n", F.signum("n").cast("bigint"))
        delta = self._home.keep(relation.name, found.drop("there"))
        self._home.discard(compared)
        return Taken(rows, FrameDelta(relation, delta, self._home.rows(delta)), bad)

    def _net(self, records: DataFrame, attachment: Attachment, place: str) -> tuple[DataFrame, list[Bad]]:
        """The sum of all good records, row by row."""
        relation = attachment.relation
        doubt = _doubt(records, attachment)
        judged = read_records(records.where(doubt).toArrow(), attachment, place)
        sign = F.lit(1)
        if attachment.change is not None:
            sign = F.when(F.col(CHANGE).isin([name for name, sign in SIGNS.items() if sign > 0]), 1).otherwise(-1)
        values = [_cast(attachment, at).alias(f"c{at}") for at in range(relation.arity)]
        signed = records.where(~doubt).select(*values, sign.cast("bigint").alias("n"))
        good: dict[Row, int] = {}
        add_to(good, judged.good)
        if good:
            signed = signed.unionByName(delta_frame(self._engine.spark, relation, good))
        net = signed.groupBy(*column_names(relation.arity)).agg(F.sum("n").alias("n")).where("n <> 0")
        return net, judged.bad

    def _missing(self, found: DataFrame, relation: Relation, place: str) -> list[Bad]:
        missing = found.where("n + there < 0").withColumn("n", -(F.col("n") + F.col("there")))
        return [
            Bad(
                DELETE,
                row,
                None,
                DataError(
                    f"{place} is not in {relation.name!r}, so it cannot be deleted: {row_text(row)}",
                    hint='missing="ignore" passes over rows that are not there',
                ),
            )
            for row, copies in self._rows(missing, relation)
            for _ in range(copies)
        ]

    def _without_conflicts(self, found: DataFrame, relation: Relation, place: str) -> tuple[DataFrame, list[Bad]]:
        """Without the rows that come although another one has their key, or comes with it."""
        key = [f"c{relation.column_names.index(name)}" for name in relation.key]
        names = column_names(relation.arity)
        coming = found.where("n > 0")
        # The table with all that comes and goes; what was there and comes again is one row.
        after = (
            self._engine.frame(relation.name)
            .select(*names, "n")
            .unionByName(found.select(*names, "n"))
            .groupBy(*names)
            .agg(F.sum("n").alias("n"))
            .where("n > 0")
        )
        taken = after.groupBy(*key).agg(F.count(F.lit(1)).alias("holders")).where("holders > 1").drop("holders")
        conflicts = [
            Bad(
                INSERT,
                row,
                None,
                DataError(
                    f"{place} has the key of another row of {relation.name!r}, {listed(relation.key)}: {row_text(row)}",
                    hint="delete that row first; in the same batch the two make an update",
                ),
            )
            for row, copies in self._rows(coming.join(taken, key, "left_semi"), relation)
            for _ in range(copies)
        ]
        if not conflicts:
            return found, []
        good = coming.join(taken, key, "left_anti")
        return found.where("n < 0").unionByName(good.select(found.columns)), conflicts

    def _rows(self, frame: DataFrame, relation: Relation) -> list[tuple[Row, int]]:
        table = frame.select(*column_names(relation.arity), "n").toArrow()
        return list(zip(rows_from_arrow(table, relation), table.column("n").to_pylist(), strict=True))


def _doubt(records: DataFrame, attachment: Attachment) -> Column:
    """Whether a record may be bad. Of one that is not, all is certain."""
    doubts = [F.col(CORRUPT).isNotNull(), F.col(BEYOND).isNotNull()]
    if attachment.change is not None:
        doubts.append(~F.coalesce(F.col(CHANGE).isin(list(SIGNS)), F.lit(False)))
    for at, column in enumerate(attachment.relation.columns):
        value, cast = records[f"c{at}"], _cast(attachment, at)
        if not column.nullable:
            doubts.append(value.isNull())
        if type_of(attachment.fields[at]) != column.type:
            # A cast that rounds says nothing.
            doubts.append(value.isNotNull() & F.coalesce(cast != value, F.lit(True)))
        if column.type in (DOUBLE, REAL):
            doubts.append(is_no_number(cast))
        elif isinstance(column.type, ArrayType):
            doubts.append(_odd_elements(value, column.type.element))
        elif column.type.inner:
            doubts.append(F.lit(True))
    return reduce(or_, doubts)


def _odd_elements(value: Column, element: Type) -> Column:
    if element in (DOUBLE, REAL):
        # There is one zero, and one inside of an array is not seen from here.
        return F.coalesce(F.exists(value, lambda each: is_no_number(each) | (each == 0)), F.lit(False))
    return F.lit(bool(element.inner))


def _cast(attachment: Attachment, at: int) -> Column:
    column = attachment.relation.columns[at]
    value = F.col(f"c{at}").try_cast(spark_type(column.type))
    # There is one zero.
    return value + F.lit(0.0) if column.type in (DOUBLE, REAL) else value
