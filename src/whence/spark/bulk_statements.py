"""Answers of statements that are too large for the driver: they come into tables, and change them, as frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pyspark.sql.functions as functions
from pyspark.sql import DataFrame

from whence.engines.spark.engine import SparkEngine
from whence.engines.spark.frames import FrameDelta, delta_frame, difference, present, summed
from whence.engines.spark.types import column_names
from whence.errors import DataError
from whence.model.program import ChangeRows
from whence.model.schema import Relation
from whence.model.types import Row
from whence.session.answers import ONE_MATCH
from whence.session.contents import size
from whence.session.lifetimes import Clock
from whence.sources.rows import listed, row_text
from whence.sources.source import read_rows
from whence.spark.bulk_load import TAKEN_AS_ROWS, BulkChecks, BulkDraft, joined, rows_tell_all, with_present
from whence.spark.home import StorageHome


class BulkStatements:
    """What statements do to tables of an engine."""

    def __init__(self, engine: SparkEngine, home: StorageHome) -> None:
        self._engine = engine
        self._checks = BulkChecks(engine, home)

    def inserting(self, rows: Mapping[Row, int], relation: Relation, clock: Clock) -> BulkDraft | None:
        if not isinstance(rows, FrameDelta) or not rows_tell_all(relation):
            return None
        return self._checks.inserted(_as_rows(rows, relation), relation, clock)

    def removing(self, rows: Mapping[Row, int], relation: Relation, clock: Clock) -> BulkDraft | None:
        if not isinstance(rows, FrameDelta) or not rows_tell_all(relation):
            return None
        there = self._engine.frame(relation.name)
        going = joined(there, rows.frame.drop("n"), relation, "left_semi").withColumn("n", -functions.col("n"))
        return BulkDraft(relation, self._checks.delta(going, relation), clock)

    def overwriting(self, rows: Mapping[Row, int], relation: Relation, clock: Clock) -> BulkDraft | None:
        if not rows_tell_all(relation):
            return None
        late = 0
        if isinstance(rows, FrameDelta):
            wanted = self._checks.taken(_as_rows(rows, relation), relation)
        elif size(relation, self._engine.counts(relation.name))[0] > TAKEN_AS_ROWS:
            checked = Counter(read_rows(list(Counter(rows).elements()), relation))
            wanted = delta_frame(self._engine.spark, relation, checked)
        else:
            return None
        if relation.ttl is not None:
            wanted, late = self._checks.in_time(wanted, relation, clock)
        if relation.distinct:
            wanted = present(wanted)
        self._check_keys(wanted.limit(0), wanted, wanted.limit(0), relation)
        table = self._engine.frame(relation.name)
        return BulkDraft(relation, self._checks.delta(difference(relation, table, wanted), relation), clock, late)

    def changing(
        self, rows: Mapping[Row, int], relation: Relation, statement: ChangeRows, clock: Clock
    ) -> BulkDraft | None:
        if not isinstance(rows, FrameDelta) or not rows_tell_all(relation):
            return None
        found = _side(rows, relation, statement, "update", "delete", is_new=False)
        going = self._going(found, relation, repeats=statement.repeats)
        table = self._engine.frame(relation.name)
        staying = summed(relation, [table, going])
        updated, inserted = (_side(rows, relation, statement, kind, is_new=True) for kind in ("update", "insert"))
        self._checks.check_values(updated.unionByName(inserted), relation, "a row that the statement makes")
        late = [0, 0]
        if relation.ttl is not None:
            updated, late[0] = self._checks.in_time(updated, relation, clock)
            inserted, late[1] = self._checks.in_time(inserted, relation, clock)
        coming = summed(relation, [updated, inserted])
        self._check_keys(updated, inserted, staying, relation)
        if relation.distinct:
            coming = joined(present(coming), staying, relation, "left_anti")
        return BulkDraft(relation, self._checks.delta(summed(relation, [coming, going]), relation), clock, sum(late))

    def _going(self, found: DataFrame, relation: Relation, *, repeats: bool) -> DataFrame:
        """The rows that leave, all copies of each. Raises for one that is to leave several times."""
        rows = with_present(found, self._engine.frame(relation.name), relation)
        for row in () if repeats else self._checks.first(rows.where("n > there"), relation):
            raise DataError(
                f"several rows of the source match one row of {relation.name!r}, so that it is not clear what becomes "
                f"of it: {row_text(row)}",
                hint=ONE_MATCH,
            )
        return rows.withColumn("n", -functions.col("there")).drop("there").where("n <> 0")

    def _check_keys(self, updated: DataFrame, inserted: DataFrame, staying: DataFrame, relation: Relation) -> None:
        """Raises where two rows would have one key. Only inserting the same row again is no second row."""
        if not relation.key:
            return
        key = [f"c{relation.column_names.index(name)}" for name in relation.key]
        others = inserted.unionByName(staying).drop("n").distinct()
        one = functions.lit(1).cast("bigint")
        each = summed(relation, [updated]).unionByName(others.withColumn("n", one))
        taken = each.groupBy(*key).agg(functions.sum("n").alias("n")).where("n > 1").drop("n")
        changed = updated.unionByName(inserted)
        for row in self._checks.first(changed.join(taken, key, "left_semi"), relation):
            raise DataError(
                f"a row that the statement makes has the key of another row of {relation.name!r}, "
                f"{listed(relation.key)}: {row_text(row)}",
                hint="each row needs a key of its own, after the change as before",
            )


def _side(rows: FrameDelta, relation: Relation, statement: ChangeRows, *kinds: str, is_new: bool) -> DataFrame:
    """The rows that leave by some kinds of action, or those that come."""
    numbers = [number for number, action in enumerate(statement.actions) if action.kind in kinds]
    start = 1 + (relation.arity if is_new else 0)
    picked = [functions.col(f"c{start + at}").alias(name) for at, name in enumerate(column_names(relation.arity))]
    found = rows.frame.where(functions.col("c0").isin(numbers)).select(*picked, "n")
    return found.groupBy(*column_names(relation.arity)).agg(functions.sum("n").alias("n"))


def _as_rows(delta: FrameDelta, relation: Relation) -> DataFrame:
    """The answer to a query as a frame for a table, each row as often as it is there."""
    names = [
        functions.col(name).alias(column.name)
        for name, column in zip(column_names(relation.arity), relation.columns, strict=True)
    ]
    copies = functions.explode(functions.sequence(functions.lit(1).cast("bigint"), functions.col("n")))
    return delta.frame.withColumn("copy", copies).select(*names)
