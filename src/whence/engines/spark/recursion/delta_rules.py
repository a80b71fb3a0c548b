"""A recursive component that follows a change on the cluster, by delta rules.

Rows that have lost their proof are dead. Rounds look for other derivations of them, among what is not dead, and go on
from what came back and from what the change adds. What stays dead is gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from whence.analysis.components import Component
from whence.analysis.limits import RecursionLimits
from whence.engines.spark.frames import delta_frame, summed
from whence.engines.spark.recursion.build import Progress, Rounds, marked, new_growing
from whence.engines.spark.recursion.changes import OWING, Flipped, Inputs, RecursionOutcome, flipped
from whence.engines.spark.recursion.checkpoints import Checkpoint, CountedFrame, checkpoint, planned_by_hand, union
from whence.engines.spark.recursion.dead_rows import lost_input, new_dying, over_delete, resting_rows, unlimited
from whence.engines.spark.recursion.relation import BestRows, Growing, Survivors
from whence.engines.spark.recursion.rules import Offering, RecursiveRule, WorkLimit
from whence.engines.spark.tuple_ids import UNKNOWN, UNPROVED
from whence.incremental.recursive.convergence import ConvergenceLimit
from whence.model.program import Functions
from whence.model.schema import Relation
from whence.model.updates import Delta

# A component is derived from scratch if more than this part of its rows is dead, or of a relation that it reads new.
WORTH_FOLLOWING = 0.5


@dataclass(frozen=True, slots=True)
class Parts:
    """A component and what it stands on: relations that it reads, as rows and counts, how these change, and its own
    rows with `support`. Frames are from before the change.
    """

    spark: SparkSession
    component: Component
    relations: Mapping[str, Relation]
    functions: Functions
    limits: RecursionLimits
    inputs: Mapping[str, DataFrame]
    deltas: Mapping[str, Delta]
    own: Mapping[str, CountedFrame]


class NotWorthItError(Exception):
    """Deriving the component from scratch is better; the message says why."""


@contextmanager
def followed(
    parts: Parts, progress: Progress | None = None, *, proved: bool
) -> Iterator[tuple[dict[str, RecursionOutcome], str]]:
    """What becomes of the component's relations, and what was found out on the way, in words.

    If rows are `proved`, the dead are those whose support is broken; if not, all that might be gone. The frames can be
    read in the context.
    """
    following = _Following(parts, progress, proved=proved)
    with planned_by_hand(parts.spark):
        try:
            yield following.run()
        finally:
            following.release()


class _Following:
    def __init__(self, parts: Parts, progress: Progress | None, *, proved: bool) -> None:
        self._parts = parts
        self._progress = progress
        self._proved = proved
        self._kept: list[Checkpoint | Flipped | Inputs] = []
        self._growing: list[Growing] = []
        component = parts.component
        self._rules = [
            RecursiveRule(rule, parts.functions, component.relations, proved=proved) for rule in component.typed
        ]

    def run(self) -> tuple[dict[str, RecursionOutcome], str]:
        parts = self._parts
        change = flipped(parts.spark, parts.relations, parts.inputs, parts.deltas)
        self._kept.append(change)
        inputs = self._inputs({**parts.inputs, **dict(self._changed_inputs())})
        if inputs.owing:
            raise NotWorthItError(OWING)
        for name, rows in change.appeared.items():
            _check_worth(rows.rows, inputs.rows(name), f"rows of {name} are new")
        dead = self._without_proof(change) if self._proved else self._over_deleted(change)
        gains = self._gains(change)
        growing = {
            name: self._survivor(name, dead.get(name), gains=gains is not None)
            for name in parts.own
            if gains is not None or name in dead
        }
        known = {name: rows for name, rows in parts.own.items() if name not in growing}
        limit = ConvergenceLimit(parts.component, parts.limits)
        offering = Offering(parts.spark, self._rules, inputs, growing, known, WorkLimit(limit), send=True)
        offers = [*offering.for_heads(dead), *(offering.from_changes(*gains) if gains else ())]
        Rounds(limit, self._progress).run(growing, offering, offers)
        return {name: self._outcome(each, dead.get(name)) for name, each in growing.items()}, self._told(dead)

    def release(self) -> None:
        for kept in self._kept:
            kept.release()
        for growing in self._growing:
            growing.pieces.release()

    def _changed_inputs(self) -> Iterator[tuple[str, DataFrame]]:
        parts = self._parts
        for name, delta in parts.deltas.items():
            relation = parts.relations[name]
            yield name, summed(relation, [parts.inputs[name], delta_frame(parts.spark, relation, delta)])

    def _inputs(self, frames: Mapping[str, DataFrame]) -> Inputs:
        inputs = Inputs(self._parts.component.reads, self._parts.relations, frames)
        self._kept.append(inputs)
        return inputs

    def _checkpoint(self, frame: DataFrame) -> Checkpoint:
        kept = checkpoint(frame)
        self._kept.append(kept)
        return kept

    def _gains(self, change: Flipped) -> tuple[dict[str, DataFrame], dict[str, DataFrame]] | None:
        """The rows that appear where they are read, and that vanish where they are negated; None if there are none."""
        read = {name for rule in self._rules for name in rule.inputs.values()}
        negated = {name for rule in self._rules for name in rule.negated.values()}
        rows = {name: rows.frame for name, rows in change.appeared.items() if name in read}
        absences = {name: rows.frame for name, rows in change.vanished.items() if name in negated}
        return (rows, absences) if rows or absences else None

    def _without_proof(self, change: Flipped) -> dict[str, CountedFrame]:
        lost = lost_input(self._rules, self._parts.relations, change)
        if lost is None:
            raise NotWorthItError("too much of what it reads is gone")
        dead = self._resting(lost, frozenset((UNPROVED, UNKNOWN)))
        for name, rows in dead.items():
            _check_worth(rows.rows, self._parts.own[name].rows, f"rows of {name} had lost their proof")
        return dead

    def _resting(self, lost: frozenset[int], marks: frozenset[int]) -> dict[str, CountedFrame]:
        """The rows that rest on something lost. There must be none with these marks."""
        found: dict[str, CountedFrame] = {}
        for name, own in self._parts.own.items():
            rows, is_marked = resting_rows(self._parts.spark, own.frame, self._new_growing(name), lost, marks)
            self._kept.append(rows)
            if is_marked:
                raise NotWorthItError(f"rows of {name} have no proof")
            if rows.rows:
                found[name] = rows
        return found

    def _over_deleted(self, change: Flipped) -> dict[str, CountedFrame]:
        parts = self._parts
        self._resting(frozenset(), frozenset((UNPROVED,)))
        before = self._inputs(parts.inputs)
        dying = new_dying(parts.component, parts.relations, parts.own)
        self._growing += dying.values()
        limit = unlimited(parts.component)
        offering = Offering(parts.spark, self._rules, before, dying, {}, WorkLimit(limit), send=True)
        over_delete(Rounds(limit, self._progress), dying, offering, change)
        return {
            name: CountedFrame(rows, each.pieces.rows)
            for name, each in dying.items()
            if (rows := each.pieces.frame) is not None
        }

    def _new_growing(self, name: str) -> Growing:
        return new_growing(self._parts.relations[name], self._parts.component, proved=self._proved)

    def _survivor(self, name: str, dead: CountedFrame | None, *, gains: bool) -> Growing:
        """A relation with what is not dead. Without gains, only what is dead can come."""
        growing = self._new_growing(name)
        own = self._parts.own[name]
        rows, count = growing.read(own.frame), own.rows
        if dead is not None:
            rows, count = growing.without(rows, dead), count - dead.rows
        if gains:
            piece = self._checkpoint(growing.as_piece(rows).repartition("id"))
            growing.survivors = Survivors(growing.readable(piece.frame), piece.rows, piece=piece.frame)
        else:
            assert dead is not None, "nothing comes to what has lost nothing"
            growing.survivors = Survivors(rows, count, dead=dead.frame)
        self._growing.append(growing)
        return growing

    def _outcome(self, growing: Growing, dead: CountedFrame | None) -> RecursionOutcome:
        survivors = growing.survivors
        assert survivors is not None
        staying = survivors.rows
        nothing = staying.limit(0)
        leaving = [nothing if dead is None else dead.frame]
        coming = growing.result()
        changed = growing.pieces.rows + (0 if dead is None else dead.rows)
        if coming is not None and isinstance(growing, BestRows) and survivors.piece is not None:
            best = CountedFrame(growing.numbered(coming), growing.pieces.rows)
            leaving.append(survivors.piece.join(growing.compared(best.frame), growing.matches(), "left_semi"))
            staying = growing.without(staying, best)
            changed += best.rows
        gone = union([rows.select(*growing.names) for rows in leaving])
        come = nothing if coming is None else coming
        if not self._proved:
            staying, come = marked(staying, UNKNOWN), marked(come, UNKNOWN)
        return RecursionOutcome(growing.relation, staying, gone, come, changed)

    def _told(self, dead: Mapping[str, CountedFrame]) -> str:
        count = sum(rows.rows for rows in dead.values())
        total = sum(rows.rows for rows in self._parts.own.values())
        what = "had lost their proof" if self._proved else "were deleted, to be derived again"
        return f"{count:,} of about {total:,} rows {what}"


def _check_worth(changed: int, all_of_them: int, what: str) -> None:
    if changed > WORTH_FOLLOWING * all_of_them:
        raise NotWorthItError(f"{changed:,} of {all_of_them:,} {what}")
