"""A recursive component built on the cluster, in rounds: what follows from the rows that the round before brought.

Where rows cannot be proved, all relations are derived from those of the round before, until nothing changes. This is
the meaning of a recursion, taken literally: right for every program, at the price of evaluating all of it every round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import count
from operator import and_
from typing import TypeAlias

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, LongType, StructField, StructType

from whence.analysis.components import Component
from whence.analysis.limits import DEFAULT_LIMITS, RecursionLimits
from whence.engines.spark.bodies import JoinStart
from whence.engines.spark.frames import present
from whence.engines.spark.recursion.changes import Inputs
from whence.engines.spark.recursion.checkpoints import Checkpoint, CountedFrame, checkpoint, planned_by_hand, union
from whence.engines.spark.recursion.relation import BestRows, Growing, PlainRows
from whence.engines.spark.recursion.rules import Offer, Offering, RecursiveRule, WorkLimit
from whence.engines.spark.tuple_ids import UNKNOWN, UNPROVED
from whence.engines.spark.types import column_names, frame_schema, rows_from_arrow
from whence.engines.spark.views import derive
from whence.errors import ConvergenceError
from whence.incremental.recursive.bests import moving_columns, unfounded
from whence.incremental.recursive.convergence import ConvergenceLimit
from whence.model.program import Functions
from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.planning.statistics import Sizes, Statistics

# Told after every round: its number, and how many rows it brought to each relation.
Progress: TypeAlias = Callable[[int, Mapping[str, int]], None]


class Rounds:
    """Lets relations grow to their end. A round is one job for each relation that gets candidates."""

    def __init__(self, limit: ConvergenceLimit, progress: Progress | None = None) -> None:
        self._limit = limit
        self._progress = progress

    def run(self, growing: Mapping[str, Growing], offering: Offering, first: Iterable[Offer]) -> None:
        """Beginning with the first offers, until no new ones follow."""
        with offering.work.errors():
            self._run(growing, offering, first)

    def _run(self, growing: Mapping[str, Growing], offering: Offering, first: Iterable[Offer]) -> None:
        offers = _by_relation(first)
        for number in count(1):
            news = {name: _news(growing[name], offered) for name, offered in offers.items()}
            if self._progress is not None:
                self._progress(number, {name: piece.rows for name, piece in news.items()})
            deltas = {name: piece for name, piece in news.items() if piece.rows}
            if deltas and number > self._limit.depth:
                name, delta = next(iter(deltas.items()))
                raise _endless(self._limit, growing[name], offers[name], delta)
            offering.release()
            if not deltas:
                return
            for name, piece in deltas.items():
                growing[name].pieces.add(piece)
                self._limit.check_size(growing[name].count, offers[name][-1][0])
            offers = _by_relation(offering.from_rows(deltas))


def _news(growing: Growing, offered: Sequence[Offer]) -> Checkpoint:
    rules = {id(rule) for rule, _ in offered}
    # An error that may come from several rules has no place.
    span = offered[0][0].span if len(rules) == 1 else None
    return checkpoint(growing.news(growing.numbered(union([frame for _, frame in offered]))), span)


def _endless(
    limit: ConvergenceLimit, growing: Growing, offered: Sequence[Offer], delta: Checkpoint
) -> ConvergenceError:
    some = delta.frame.limit(1).toArrow()
    (row,) = rows_from_arrow(some, growing.relation)
    (number,) = some.column("id").to_pylist()
    guilty = (rule for rule, frame in offered if not growing.numbered(frame).where(F.col("id") == number).isEmpty())
    return limit.too_deep(row, next(guilty))


def _by_relation(offers: Iterable[Offer]) -> dict[str, list[Offer]]:
    found: dict[str, list[Offer]] = {}
    for rule, frame in offers:
        found.setdefault(rule.head.relation, []).append((rule, frame))
    return found


def build(
    component: Component,
    relations: Mapping[str, Relation],
    functions: Functions,
    frames: Mapping[str, DataFrame],
    limits: RecursionLimits = DEFAULT_LIMITS,
    progress: Progress | None = None,
    *,
    proved: bool = True,
) -> dict[str, DataFrame]:
    """The component's relations, as rows with `support`, over frames of the relations below.

    If they are not to be proved, no row knows what it rests on.
    """
    spark = next((frame.sparkSession for frame in frames.values()), None) or SparkSession.active()
    limit = ConvergenceLimit(component, limits)
    with planned_by_hand(spark):
        inputs = Inputs(component.reads, relations, frames)
        try:
            if inputs.owing or unfounded(component) is not None:
                return recompute(spark, component, relations, functions, frames, inputs.rows, limit)
            rules = [RecursiveRule(rule, functions, component.relations, proved=proved) for rule in component.typed]
            built = _Building(spark, component, relations, rules, inputs, WorkLimit(limit), proved=proved)
            return built.run(Rounds(limit, progress))
        finally:
            inputs.release()


@dataclass(frozen=True)
class _Building:
    spark: SparkSession
    component: Component
    relations: Mapping[str, Relation]
    rules: Sequence[RecursiveRule]
    inputs: Inputs
    work: WorkLimit
    proved: bool

    def run(self, rounds: Rounds) -> dict[str, DataFrame]:
        growing = self._grown(rounds, self.component.relations, {})
        outdated = _outdated(self.component)
        results = {name: self._result(each) for name, each in growing.items() if name not in outdated}
        if outdated:
            known = {name: CountedFrame(rows, growing[name].count) for name, rows in results.items()}
            again = self._grown(rounds, outdated, known)
            results |= {name: self._result(each) for name, each in again.items()}
            for name in outdated:
                growing[name].pieces.release()
        return results if self.proved else {name: marked(rows, UNKNOWN) for name, rows in results.items()}

    def _grown(self, rounds: Rounds, names: Iterable[str], known: Mapping[str, CountedFrame]) -> dict[str, Growing]:
        growing = {name: new_growing(self.relations[name], self.component, proved=self.proved) for name in names}
        offering = Offering(self.spark, self.rules, self.inputs, growing, known, self.work)
        rounds.run(growing, offering, offering.from_outside())
        return growing

    def _result(self, grown: Growing) -> DataFrame:
        rows = grown.result()
        if rows is None:
            support = [StructField("support", ArrayType(LongType(), False), False)] if self.proved else []
            return self.spark.createDataFrame([], StructType([*frame_schema(grown.relation).fields, *support]))
        if isinstance(grown, PlainRows):
            return rows
        best = checkpoint(rows).frame
        grown.pieces.release()
        return best


def new_growing(relation: Relation, component: Component, *, proved: bool) -> Growing:
    """A relation of the component, with nothing in it."""
    if relation.name not in component.aggregated:
        return PlainRows(relation, proved=proved)
    rule = next(rule for rule in component.rules if rule.head.relation == relation.name)
    return BestRows(relation, rule, proved=proved)


def _outdated(component: Component) -> list[str]:
    """Plain relations that keep values of min or max, so that they have rows of values that were not the best.

    Nothing else rests on such a row: what follows from a value follows from a better one, too.
    """
    moving = moving_columns(component)
    return [name for name in component.relations if moving[name] and name not in component.aggregated]


def recompute(
    spark: SparkSession,
    component: Component,
    relations: Mapping[str, Relation],
    functions: Functions,
    frames: Mapping[str, DataFrame],
    size: Callable[[str], int],
    limit: ConvergenceLimit,
) -> dict[str, DataFrame]:
    """The component's relations, without a proof of any row, over frames of relations below, of this size."""
    parts = {
        name: replace(
            component,
            relations=(name,),
            rules=tuple(rule for rule in component.rules if rule.head.relation == name),
            typed=tuple(typed for typed in component.typed if typed.rule.head.relation == name),
            aggregated=component.aggregated & {name},
        )
        for name in component.relations
    }
    work = WorkLimit(limit)
    schemas = {name: frame_schema(relations[name]).add("n", LongType(), nullable=False) for name in parts}
    before = {name: checkpoint(spark.createDataFrame([], schema)) for name, schema in schemas.items()}
    with work.errors():
        for number in count(1):
            below = {**frames, **{name: rows.frame for name, rows in before.items()}}
            sizes = {name: rows.rows for name, rows in before.items()} | {name: size(name) for name in frames}
            start = partial(_start, work, sum(rows.rows for rows in before.values()), Sizes(sizes.__getitem__))
            after = {
                name: checkpoint(present(derive(part, relations, functions, below, start).frame))
                for name, part in parts.items()
            }
            changed = [name for name in parts if not _are_same(relations[name], before[name], after[name])]
            if not changed:
                break
            for name in changed:
                limit.check_size(after[name].rows, parts[name].rules[0])
            if number > limit.depth:
                name = changed[0]
                some = _missing(relations[name], after[name], before[name]).limit(1).toArrow()
                raise limit.too_deep(next(iter(rows_from_arrow(some, relations[name])), ()), parts[name].rules[0])
            for rows in before.values():
                rows.release()
            before = after
    return {name: marked(rows.frame.drop("n"), UNPROVED) for name, rows in before.items()}


def _start(work: WorkLimit, rows: int, statistics: Statistics, rule: Rule) -> JoinStart:
    return JoinStart(statistics=statistics, counted=work.counted(rule, rows))


def marked(rows: DataFrame, mark: int) -> DataFrame:
    """Rows that have no support, but a mark in its place."""
    return rows.withColumn("support", F.array(F.lit(mark).cast("bigint")))


def _are_same(relation: Relation, left: Checkpoint, right: Checkpoint) -> bool:
    return left.rows == right.rows and _missing(relation, left, right).isEmpty()


def _missing(relation: Relation, rows: Checkpoint, others: Checkpoint) -> DataFrame:
    """The rows that are not among the others."""
    names = column_names(relation.arity)
    renamed = others.frame.select(*(F.col(name).alias(f"r_{name}") for name in names))
    same = [F.col(name).eqNullSafe(F.col(f"r_{name}")) for name in names]
    return rows.frame.join(renamed, reduce(and_, same, F.lit(True)), "left_anti")
