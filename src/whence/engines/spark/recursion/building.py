"""A recursive component from nothing, on the cluster."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, LongType, StructField, StructType

from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.engine import reads
from whence.engines.local.recursive.endless import Brake
from whence.engines.local.recursive.moving import moving_columns, unfounded
from whence.engines.reference.fixpoint import DEFAULT_LIMITS, Limits
from whence.engines.spark.recursion.checkpoints import checkpoint, planned_by_hand
from whence.engines.spark.recursion.growing import Bests, Growing, Rows
from whence.engines.spark.recursion.inputs import Inputs
from whence.engines.spark.recursion.recomputing import recompute
from whence.engines.spark.recursion.rounds import Progress, Rounds
from whence.engines.spark.recursion.rules import RecursiveRule
from whence.engines.spark.types import frame_schema
from whence.model.schema import Relation


def build(
    component: Component,
    relations: Mapping[str, Relation],
    functions: Functions,
    frames: Mapping[str, DataFrame],
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress | None = None,
) -> dict[str, DataFrame]:
    """The component's relations, as rows with `support`, over frames of the relations below."""
    spark = next((frame.sparkSession for frame in frames.values()), None) or SparkSession.active()
    brake = Brake(component, limits)
    with planned_by_hand(spark):
        inputs = Inputs(reads(component), relations, frames)
        try:
            if inputs.owing or unfounded(component) is not None:
                return recompute(spark, component, relations, functions, frames, brake)
            rules = [RecursiveRule(rule, relations, functions, component.relations) for rule in component.rules]
            return _proved(component, relations, Rounds(spark, rules, inputs, brake, progress))
        finally:
            inputs.release()


def _proved(component: Component, relations: Mapping[str, Relation], rounds: Rounds) -> dict[str, DataFrame]:
    growing = {name: _growing(relations[name], component) for name in component.relations}
    rounds.run(growing, {})
    outdated = _outdated(component)
    results = {name: _result(rounds.spark, each) for name, each in growing.items() if name not in outdated}
    if outdated:
        again = {name: _growing(relations[name], component) for name in outdated}
        rounds.run(again, results)
        results |= {name: _result(rounds.spark, each) for name, each in again.items()}
        for name in outdated:
            growing[name].pieces.release()
    return results


def _growing(relation: Relation, component: Component) -> Growing:
    if relation.name not in component.aggregated:
        return Rows(relation)
    return Bests(relation, next(rule for rule in component.rules if rule.head.relation == relation.name))


def _outdated(component: Component) -> list[str]:
    """Plain relations that keep values of min or max, so that they have rows of values that were not the best.

    Nothing else rests on such a row: what follows from a value follows from a better one, too.
    """
    moving = moving_columns(component)
    return [name for name in component.relations if moving[name] and name not in component.aggregated]


def _result(spark: SparkSession, grown: Growing) -> DataFrame:
    rows = grown.result()
    if rows is None:
        schema = frame_schema(grown.relation).fields
        return spark.createDataFrame(
            [], StructType([*schema, StructField("support", ArrayType(LongType(), False), False)])
        )
    if isinstance(grown, Rows):
        return rows
    best = checkpoint(rows).frame
    grown.pieces.release()
    return best
