"""Rows of a recursive component that have lost their proof: what they rest on is no longer so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, Observation, SparkSession

from whence.engines.spark.recursion.changes import Flipped
from whence.engines.spark.recursion.checkpoints import Checkpoint, checkpoint
from whence.engines.spark.recursion.growing import Growing
from whence.engines.spark.recursion.pieces import union
from whence.engines.spark.recursion.rules import RecursiveRule
from whence.engines.spark.supported import resting
from whence.engines.spark.tuple_ids import absence_id
from whence.model.schema import Relation

# More pieces of input than these are not looked for in supports.
MOST_LOST = 1_000_000


def lost_input(
    rules: Sequence[RecursiveRule], relations: Mapping[str, Relation], change: Flipped
) -> frozenset[int] | None:
    """The numbers of what is no longer so: rows that are gone, and keys that a row has now. None if it is too much."""
    numbers = [rows.frame.select("id") for rows in change.vanished.values()]
    numbers += _refuted(rules, relations, change)
    if not numbers:
        return frozenset()
    found = union(numbers).distinct().limit(MOST_LOST + 1).toArrow().column("id")
    return frozenset(found.to_pylist()) if len(found) <= MOST_LOST else None


def _refuted(rules: Sequence[RecursiveRule], relations: Mapping[str, Relation], change: Flipped) -> Iterator[DataFrame]:
    for pattern in {pattern for rule in rules for pattern in rule.patterns.values()}:
        if pattern.relation in change.appeared:
            positions = (*pattern.positions, *(position for position, _ in pattern.widened))
            keys = [F.col(f"c{position}") for position in positions]
            number = absence_id(pattern, relations[pattern.relation], keys)
            yield change.appeared[pattern.relation].frame.select(number.alias("id"))


def resting_rows(
    spark: SparkSession, rows: DataFrame, growing: Growing, lost: frozenset[int], marks: frozenset[int]
) -> tuple[Checkpoint, bool]:
    """The rows that rest on something lost, partitioned as pieces are, and whether there are rows with these marks."""
    observed = Observation()
    has_mark = F.arrays_overlap("support", F.array(*(F.lit(mark).cast("bigint") for mark in sorted(marks))))
    found = resting(spark, rows, lost | marks).observe(
        observed, F.coalesce(F.bool_or(has_mark), F.lit(False)).alias("marked")
    )
    dead = checkpoint(growing.numbered(found.select(*growing.names)).repartition("id").dropDuplicates())
    return dead, bool(observed.get["marked"])
