"""A recursive component from nothing, on the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, LongType, StructField, StructType

from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.engine import reads
from whence.engines.local.recursive.endless import Brake
from whence.engines.local.recursive.moving import moving_columns, unfounded
from whence.engines.reference.fixpoint import DEFAULT_LIMITS, Limits
from whence.engines.spark.recursion.checkpoints import Counted, checkpoint, planned_by_hand
from whence.engines.spark.recursion.growing import Bests, Growing, Rows
from whence.engines.spark.recursion.inputs import Inputs
from whence.engines.spark.recursion.offering import Offering
from whence.engines.spark.recursion.recomputing import marked, recompute
from whence.engines.spark.recursion.rounds import Progress, Rounds
from whence.engines.spark.recursion.rules import RecursiveRule
from whence.engines.spark.tuple_ids import UNKNOWN
from whence.engines.spark.types import frame_schema
from whence.model.schema import Relation


def build(
    component: Component,
    relations: Mapping[str, Relation],
    functions: Functions,
    frames: Mapping[str, DataFrame],
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress | None = None,
    *,
    proved: bool = True,
) -> dict[str, DataFrame]:
    """The component's relations, as rows with `support`, over frames of the relations below.

    If they are not to be proved, no row knows what it rests on.
    """
    spark = next((frame.sparkSession for frame in frames.values()), None) or SparkSession.active()
    brake = Brake(component, limits)
    with planned_by_hand(spark):
        inputs = Inputs(reads(component), relations, frames)
        try:
            if inputs.owing or unfounded(component) is not None:
                return recompute(spark, component, relations, functions, frames, brake)
            rules = [
                RecursiveRule(rule, relations, functions, component.relations, proved=proved)
                for rule in component.rules
            ]
            built = _Building(spark, component, relations, rules, inputs, proved=proved)
            return built.run(Rounds(brake, progress))
        finally:
            inputs.release()


@dataclass(frozen=True)
class _Building:
    spark: SparkSession
    component: Component
    relations: Mapping[str, Relation]
    rules: Sequence[RecursiveRule]
    inputs: Inputs
    proved: bool

    def run(self, rounds: Rounds) -> dict[str, DataFrame]:
        growing = self._grown(rounds, self.component.relations, {})
        outdated = _outdated(self.component)
        results = {name: self._result(each) for name, each in growing.items() if name not in outdated}
        if outdated:
            known = {name: Counted(rows, growing[name].count) for name, rows in results.items()}
            again = self._grown(rounds, outdated, known)
            results |= {name: self._result(each) for name, each in again.items()}
            for name in outdated:
                growing[name].pieces.release()
        return results if self.proved else {name: marked(rows, UNKNOWN) for name, rows in results.items()}

    def _grown(self, rounds: Rounds, names: Iterable[str], known: Mapping[str, Counted]) -> dict[str, Growing]:
        growing = {name: new_growing(self.relations[name], self.component, proved=self.proved) for name in names}
        offering = Offering(self.spark, self.rules, self.inputs, growing, known)
        rounds.run(growing, offering, offering.from_outside())
        return growing

    def _result(self, grown: Growing) -> DataFrame:
        rows = grown.result()
        if rows is None:
            support = [StructField("support", ArrayType(LongType(), False), False)] if self.proved else []
            return self.spark.createDataFrame([], StructType([*frame_schema(grown.relation).fields, *support]))
        if isinstance(grown, Rows):
            return rows
        best = checkpoint(rows).frame
        grown.pieces.release()
        return best


def new_growing(relation: Relation, component: Component, *, proved: bool) -> Growing:
    """A relation of the component, with nothing in it."""
    if relation.name not in component.aggregated:
        return Rows(relation, proved=proved)
    rule = next(rule for rule in component.rules if rule.head.relation == relation.name)
    return Bests(relation, rule, proved=proved)


def _outdated(component: Component) -> list[str]:
    """Plain relations that keep values of min or max, so that they have rows of values that were not the best.

    Nothing else rests on such a row: what follows from a value follows from a better one, too.
    """
    moving = moving_columns(component)
    return [name for name in component.relations if moving[name] and name not in component.aggregated]
