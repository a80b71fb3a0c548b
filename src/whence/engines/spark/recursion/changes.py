"""The relations below a recursive component, at hand for all its rounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, Observation, SparkSession

from whence.engines.spark.frames import FrameDelta, delta_frame, summed
from whence.engines.spark.recursion.checkpoints import Checkpoint, CountedFrame, checkpoint, union
from whence.engines.spark.tuple_ids import tuple_id
from whence.engines.spark.types import column_names
from whence.model.schema import Relation
from whence.model.updates import Delta

# Up to so many rows go to every executor. A frame is then kept in the driver, where sending it takes no job of its own.
SMALL = 10_000

OWING = "a relation that it reads has rows with a count below zero"


class Inputs:
    """Frames of the rows that are there, with the number of each as `id`.

    `owing` tells that there are rows with a count below zero, so that presence is not all there is to know.
    """

    def __init__(
        self, names: Iterable[str], relations: Mapping[str, Relation], frames: Mapping[str, DataFrame]
    ) -> None:
        self._frames: dict[str, DataFrame] = {}
        self._kept: dict[str, Checkpoint] = {}
        self._rows: dict[str, int] = {}
        self.owing = False
        for name in names:
            self._prepare(relations[name], frames[name])

    def __getitem__(self, name: str) -> DataFrame:
        return self._frames[name]

    def rows(self, name: str) -> int:
        return self._rows[name]

    def is_small(self, name: str) -> bool:
        return name not in self._kept

    def release(self) -> None:
        for kept in self._kept.values():
            kept.release()

    def _prepare(self, relation: Relation, frame: DataFrame) -> None:
        columns = column_names(relation.arity)
        counted = Observation()
        present = frame
        if not relation.distinct:
            present = frame.observe(counted, F.min("n").alias("least")).where("n > 0")
        rows = present.select(*columns, tuple_id(relation.name, [F.col(name) for name in columns]).alias("id"))
        kept = checkpoint(rows)
        self._rows[relation.name] = kept.rows
        if not relation.distinct:
            self.owing = self.owing or (counted.get["least"] or 0) < 0
        if kept.rows > SMALL:
            self._kept[relation.name] = kept
            self._frames[relation.name] = kept.frame
        else:
            local = frame.sparkSession.createDataFrame(kept.frame.toArrow(), rows.schema)
            self._frames[relation.name] = F.broadcast(local)
            kept.release()


@dataclass(frozen=True, slots=True)
class Flipped:
    """Rows with their numbers, as `id`, by relation; of relations that have any."""

    appeared: dict[str, CountedFrame] = field(default_factory=dict)
    vanished: dict[str, CountedFrame] = field(default_factory=dict)

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
            rows[relation.name] = CountedFrame(_numbered(relation, frame), len(changed))


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


@dataclass(frozen=True, slots=True)
class RecursionOutcome:
    """Rows that stay as they are; the columns of those that were there, and are dead or outdone; and those that came,
    or came back. The first and the last have `support`. `changed` is how many the others are at most.
    """

    relation: Relation
    staying: DataFrame
    leaving: DataFrame
    coming: DataFrame
    changed: int

    def changes(self) -> DataFrame:
        """What comes, and what leaves, which has no support. A row may do both."""
        nothing = F.lit(None).cast("array<bigint>")
        return union([self.leaving.withColumn("support", nothing), self.coming])

    def after(self) -> DataFrame:
        """All rows."""
        return union([self.staying, self.coming])

    def difference(self) -> DataFrame:
        """What readers see of it: rows and by how much their count changes."""
        one = F.lit(1).cast("bigint")
        return summed(
            self.relation,
            [self.coming.drop("support").withColumn("n", one), self.leaving.withColumn("n", -one)],
        )
