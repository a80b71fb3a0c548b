"""What bindings that come and go on the cluster mean for a view: its rows, its groups, and the values of these.

Only what the change touches is looked up in the state: the rows whose counts change, or the groups of the bindings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from whence.engines.spark.bodies import CountedBindings
from whence.engines.spark.frames import difference, matching
from whence.engines.spark.group_frames import GroupFrames
from whence.engines.spark.recursion.checkpoints import Checkpoint, CountedFrame, checkpoint
from whence.engines.spark.recursion.relation import SENT
from whence.engines.spark.types import column_names
from whence.model.schema import Relation


@dataclass(frozen=True, slots=True)
class ChangedView:
    """What a change does to a view, as frames: `seen` by readers, and in its states.

    `counts` is what changes in the state of its rows, the same frame where that is what is seen. `groups` has what is
    known of those that were touched, NULL where one is gone, and `members` how the values that folds keep change.
    """

    seen: CountedFrame
    counts: CountedFrame
    groups: CountedFrame | None = None
    members: Mapping[int, CountedFrame] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupedState:
    """What is stored of a view with aggregates, with the group terms as k0, k1, ... in each frame."""

    rows: DataFrame
    groups: DataFrame
    members: Mapping[int, DataFrame]


class Checkpoints:
    """Frames that are computed once, and read while a change is followed."""

    def __init__(self) -> None:
        self._kept: list[Checkpoint] = []

    def __call__(self, frame: DataFrame) -> Checkpoint:
        kept = checkpoint(frame)
        self._kept.append(kept)
        return kept

    def release(self) -> None:
        for kept in self._kept:
            kept.release()


def changed_rows(relation: Relation, change: DataFrame, state: DataFrame, keep: Checkpoints) -> ChangedView:
    """A view without aggregates, by how the counts of its rows change. Those of its `state` add up."""
    counts = keep(change)
    if not relation.distinct or not counts.rows:
        return ChangedView(counts, counts)
    names = column_names(relation.arity)
    zero = F.lit(0).cast("bigint")
    was = matching(state, _sent(counts), names).select(*names, F.col("n").alias("was"), zero.alias("change"))
    both = was.unionAll(counts.frame.select(*names, zero.alias("was"), F.col("n").alias("change")))
    sums = both.groupBy(*names).agg(F.sum("was").alias("was"), F.sum("change").alias("change"))
    there = [F.when(F.expr(count) > 0, F.lit(1)).otherwise(0).cast("bigint") for count in ("was + change", "was")]
    seen = sums.select(*names, (there[0] - there[1]).alias("n")).where("n <> 0")
    return ChangedView(keep(seen), counts)


def changed_groups(
    relation: Relation,
    groups: GroupFrames,
    found: Sequence[CountedBindings],
    state: GroupedState,
    keep: Checkpoints,
) -> ChangedView:
    """A view with aggregates, by the bindings that come and go."""
    bindings = groups.bindings(found)
    if groups.looks_twice:
        bindings = keep(bindings).frame
    members = {number: keep(values) for number, values in groups.members(bindings).items()}
    touched = keep(groups.difference(bindings))
    if not touched.rows:
        return ChangedView(touched, touched)
    keys = _sent(touched)
    values = {
        number: groups.copies(matching(state.members[number], keys, groups.keys).unionByName(change.frame))
        for number, change in members.items()
    }
    after = keep(groups.changed(touched.frame, matching(state.groups, keys, groups.keys), values))
    before = matching(state.rows, keys, groups.keys).drop(*groups.keys)
    seen = keep(difference(relation, before, groups.rows(after.frame)))
    known = groups.known(after.frame).withColumnsRenamed({key: f"c{at}" for at, key in enumerate(groups.keys)})
    return ChangedView(
        seen,
        seen,
        CountedFrame(known, after.rows),
        {number: CountedFrame(_as_rows(change.frame, groups.keys), change.rows) for number, change in members.items()},
    )


def _as_rows(values: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Values of groups under the names that columns have in a state."""
    names = {**{key: f"c{at}" for at, key in enumerate(keys)}, "value": f"c{len(keys)}", "copies": "n"}
    return values.withColumnsRenamed(names)


def _sent(keys: CountedFrame) -> DataFrame:
    """Few keys go to where the rows are; with many, both sides move."""
    return F.broadcast(keys.frame) if keys.rows <= SENT else keys.frame
