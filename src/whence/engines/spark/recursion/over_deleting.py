"""Delete and re-derive, the first half: everything that has some derivation from what is gone is deleted.

Nothing is kept but the rows, so nobody knows which derivation a row was found by.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import reduce
from operator import or_

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame

from whence.analysis.components import Component
from whence.engines.local.recursive.endless import Brake
from whence.engines.local.recursive.moving import saturates
from whence.engines.reference.fixpoint import Limits
from whence.engines.spark.recursion.changes import Flipped
from whence.engines.spark.recursion.checkpoints import Checkpoint, Counted, checkpoint
from whence.engines.spark.recursion.growing import Bests, Growing, Rows
from whence.engines.spark.recursion.offering import Offering
from whence.engines.spark.recursion.pieces import Pieces
from whence.engines.spark.recursion.rounds import Progress, Rounds
from whence.model.rules import Rule
from whence.model.schema import Relation

# What there is to delete is finite.
_UNLIMITED = Limits(rounds=sys.maxsize, rows=sys.maxsize)


def new_dying(
    component: Component, relations: Mapping[str, Relation], states: Mapping[str, Counted]
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


def over_delete(
    component: Component,
    dying: Mapping[str, Growing],
    offering: Offering,
    change: Flipped,
    progress: Progress | None,
) -> None:
    """Let everything die that may be gone. What is offered is about inputs as they were before the change."""
    gone = {name: rows.frame for name, rows in change.vanished.items()}
    refuting = {name: rows.frame for name, rows in change.appeared.items()}
    rounds = Rounds(Brake(component, _UNLIMITED), progress)
    rounds.run(dying, offering, offering.from_changes(gone, refuting))


class _DyingRows(Rows):
    """What follows from rows that were there was there as well. So every candidate dies that is not dead yet."""

    def __init__(self, relation: Relation, rows: Counted) -> None:
        super().__init__(relation, proved=False)
        self._rows = rows.frame.select(*self.names)
        self._count = rows.rows

    @property
    def count(self) -> int:
        return self._count

    def everything(self) -> DataFrame:
        return self._rows


class _DyingBests(Bests):
    """A group dies if the value that it may have been given is its best, or `any_value` counts."""

    def __init__(self, relation: Relation, rule: Rule, rows: Counted, *, any_value: bool) -> None:
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

    def no_pieces(self) -> Pieces:
        return Pieces()

    def is_covered(self) -> Column:
        return F.lit(True)

    def chosen(self, fresh: DataFrame) -> DataFrame:
        if self._state is None:
            self._state = checkpoint(self.numbered(self._rows).repartition("id"))
        best = [F.col(name).eqNullSafe(F.col(f"r_{name}")) for name in self.functions]
        counts = F.lit(True) if self._any_value else reduce(or_, best)
        return self._state.frame.join(self.compared(fresh), self.matches() & counts, "left_semi")
