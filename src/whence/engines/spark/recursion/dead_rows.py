"""Rows that a delete takes their proof from, or under DRed everything that might follow from what is gone."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import or_

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame, Observation, SparkSession

from whence.analysis.components import Component
from whence.analysis.limits import RecursionLimits
from whence.engines.spark.recursion.build import Rounds
from whence.engines.spark.recursion.changes import Flipped
from whence.engines.spark.recursion.checkpoints import Checkpoint, CountedFrame, RowPieces, checkpoint, union
from whence.engines.spark.recursion.relation import BestRows, Growing, PlainRows
from whence.engines.spark.recursion.rules import Offering, RecursiveRule
from whence.engines.spark.supported import resting
from whence.engines.spark.tuple_ids import absence_id
from whence.incremental.recursive.bests import saturates
from whence.incremental.recursive.convergence import ConvergenceLimit
from whence.model.rules import Rule
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


def unlimited(component: Component) -> ConvergenceLimit:
    """What there is to delete is finite."""
    return ConvergenceLimit(component, RecursionLimits(rounds=sys.maxsize, rows=sys.maxsize, matches=sys.maxsize))


def new_dying(
    component: Component, relations: Mapping[str, Relation], states: Mapping[str, CountedFrame]
) -> dict[str, Growing]:
    """For every relation of the component one of the rows that die in it, with nothing in it."""
    any_value = bool(component.aggregated) and saturates(component, relations)
    dying: dict[str, Growing] = {}
    for name, rows in states.items():
        if name in component.aggregated:
            rule = next(rule for rule in component.rules if rule.head.relation == name)
            dying[name] = _DyingBests(relations[name], rule, rows, any_value=any_value)
        else:
            dying[name] = _DyingRows(relations[name], rows)
    return dying


def over_delete(rounds: Rounds, dying: Mapping[str, Growing], offering: Offering, change: Flipped) -> None:
    """Let everything die that may be gone. What is offered is about inputs as they were before the change."""
    gone = {name: rows.frame for name, rows in change.vanished.items()}
    refuting = {name: rows.frame for name, rows in change.appeared.items()}
    rounds.run(dying, offering, offering.from_changes(gone, refuting))


class _DyingRows(PlainRows):
    """What follows from rows that were there was there as well. So every candidate dies that is not dead yet."""

    def __init__(self, relation: Relation, rows: CountedFrame) -> None:
        super().__init__(relation, proved=False)
        self._rows = rows.frame.select(*self.names)
        self._count = rows.rows

    @property
    def count(self) -> int:
        return self._count

    def everything(self) -> DataFrame:
        return self._rows


class _DyingBests(BestRows):
    """A group dies if the value that it may have been given is its best, or `any_value` counts."""

    def __init__(self, relation: Relation, rule: Rule, rows: CountedFrame, *, any_value: bool) -> None:
        super().__init__(relation, rule, proved=False)
        self._rows = rows.frame.select(*self.names)
        self._count = rows.rows
        self._any_value = any_value
        self._state: Checkpoint | None = None

    @property
    def count(self) -> int:
        return self._count

    def everything(self) -> DataFrame:
        return self._rows

    def no_pieces(self) -> RowPieces:
        return RowPieces()

    def is_covered(self) -> Column:
        return F.lit(True)

    def chosen(self, fresh: DataFrame) -> DataFrame:
        if self._state is None:
            self._state = checkpoint(self.numbered(self._rows).repartition("id"))
        best = [F.col(name).eqNullSafe(F.col(f"r_{name}")) for name in self.functions]
        counts = F.lit(True) if self._any_value else reduce(or_, best)
        return self._state.frame.join(self.compared(fresh), self.matches() & counts, "left_semi")
