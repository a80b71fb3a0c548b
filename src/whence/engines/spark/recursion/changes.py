"""What a change does to the relations below a recursive component: the rows that come to be there, and those that go.

How often a row is there does not matter to a recursion, only whether it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from whence.engines.spark.frames import FrameDelta, delta_frame
from whence.engines.spark.recursion.checkpoints import Checkpoint, Counted, checkpoint
from whence.engines.spark.tuple_ids import tuple_id
from whence.engines.spark.types import column_names
from whence.model.schema import Relation
from whence.model.updates import Delta


@dataclass(frozen=True, slots=True)
class Flipped:
    """Rows with their numbers, as `id`, by relation; of relations that have any."""

    appeared: dict[str, Counted] = field(default_factory=dict)
    vanished: dict[str, Counted] = field(default_factory=dict)

    def release(self) -> None:
        for rows in (*self.appeared.values(), *self.vanished.values()):
            if isinstance(rows, Checkpoint):
                rows.release()


def flipped(
    spark: SparkSession,
    relations: Mapping[str, Relation],
    before: Mapping[str, DataFrame],
    deltas: Mapping[str, Delta],
) -> Flipped:
    """`before` are frames of rows and counts, as readers see the relations."""
    found = Flipped()
    for name, delta in deltas.items():
        relation = relations[name]
        if relation.distinct and not isinstance(delta, FrameDelta):
            _from_rows(spark, relation, delta, found)
        else:
            _from_frame(relation, before[name], delta_frame(spark, relation, delta), found)
    return found


def _from_rows(spark: SparkSession, relation: Relation, delta: Delta, found: Flipped) -> None:
    """A set's counts are 1, so that every change is one from nothing or to nothing."""
    for rows, sign in ((found.appeared, 1), (found.vanished, -1)):
        changed = {row: count for row, count in delta.items() if count * sign > 0}
        if changed:
            frame = delta_frame(spark, relation, changed).drop("n")
            rows[relation.name] = Counted(_numbered(relation, frame), len(changed))


def _from_frame(relation: Relation, before: DataFrame, delta: DataFrame, found: Flipped) -> None:
    counts = _numbered(relation, _counts(relation, before, delta))
    for rows, condition in (
        (found.appeared, "was <= 0 AND was + change > 0"),
        (found.vanished, "was > 0 AND was + change <= 0"),
    ):
        kept = checkpoint(counts.where(condition).drop("was", "change"))
        if kept.rows:
            rows[relation.name] = kept


def _counts(relation: Relation, before: DataFrame, delta: DataFrame) -> DataFrame:
    """Of the rows that change, how often they were there, and by how much that changes."""
    columns = column_names(relation.arity)
    zero = F.lit(0).cast("bigint")
    both = before.select(*columns, F.col("n").alias("was"), zero.alias("change")).unionAll(
        delta.select(*columns, zero.alias("was"), F.col("n").alias("change"))
    )
    return both.groupBy(*columns).agg(F.sum("was").alias("was"), F.sum("change").alias("change")).where("change <> 0")


def _numbered(relation: Relation, rows: DataFrame) -> DataFrame:
    columns = [F.col(name) for name in column_names(relation.arity)]
    return rows.select(tuple_id(relation.name, columns).alias("id"), "*")
