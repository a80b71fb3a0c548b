"""Recursive components that no proof holds for: all relations from those of the round before, until nothing changes.

This is the meaning of a recursion, taken literally. It is right for every program, at the price of evaluating all of it
in every round.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from itertools import count
from operator import and_

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StructType

from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.recursive.endless import Brake
from whence.engines.spark.recursion.checkpoints import Checkpoint, checkpoint
from whence.engines.spark.tuple_ids import UNPROVED
from whence.engines.spark.types import column_names, frame_schema, rows_from_arrow
from whence.engines.spark.views import derive
from whence.model.schema import Relation


def recompute(
    spark: SparkSession,
    component: Component,
    relations: Mapping[str, Relation],
    functions: Functions,
    frames: Mapping[str, DataFrame],
    brake: Brake,
) -> dict[str, DataFrame]:
    """The component's relations, without a proof of any row, over frames of the relations below."""
    parts = {
        name: replace(
            component,
            relations=(name,),
            rules=tuple(rule for rule in component.rules if rule.head.relation == name),
            aggregated=component.aggregated & {name},
        )
        for name in component.relations
    }
    before = {name: checkpoint(spark.createDataFrame([], _schema(relations[name]))) for name in parts}
    for number in count(1):
        below = {**frames, **{name: rows.frame for name, rows in before.items()}}
        after = {
            name: checkpoint(_present(derive(part, relations, functions, below).frame)) for name, part in parts.items()
        }
        changed = [name for name in parts if not _are_same(relations[name], before[name], after[name])]
        if not changed:
            break
        for name in changed:
            brake.check_size(after[name].rows, parts[name].rules[0])
        if number > brake.depth:
            name = changed[0]
            some = _missing(relations[name], after[name], before[name]).limit(1).toArrow()
            raise brake.too_deep(next(iter(rows_from_arrow(some, relations[name])), ()), parts[name].rules[0])
        for rows in before.values():
            rows.release()
        before = after
    return {name: marked(rows.frame.drop("n"), UNPROVED) for name, rows in before.items()}


def marked(rows: DataFrame, mark: int) -> DataFrame:
    """Rows that have no support, but a mark in its place."""
    return rows.withColumn("support", F.array(F.lit(mark).cast("bigint")))


def _schema(relation: Relation) -> StructType:
    return frame_schema(relation).add("n", LongType(), nullable=False)


def _present(rows: DataFrame) -> DataFrame:
    """The rows of a set, each once."""
    return rows.where("n > 0").withColumn("n", F.lit(1).cast("bigint"))


def _are_same(relation: Relation, left: Checkpoint, right: Checkpoint) -> bool:
    return left.rows == right.rows and _missing(relation, left, right).isEmpty()


def _missing(relation: Relation, rows: Checkpoint, others: Checkpoint) -> DataFrame:
    """The rows that are not among the others."""
    names = column_names(relation.arity)
    renamed = others.frame.select(*(F.col(name).alias(f"r_{name}") for name in names))
    same = [F.col(name).eqNullSafe(F.col(f"r_{name}")) for name in names]
    return rows.frame.join(renamed, reduce(and_, same, F.lit(True)), "left_anti")
