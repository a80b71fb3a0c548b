"""What becomes of the states of a view when many rows change: as columns in the driver, or as frames on the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from whence.engines.spark.columnar.view_change import ColumnOutcome
from whence.engines.spark.components import Cluster, Effects
from whence.engines.spark.frames import DriverDelta, FrameDelta, without
from whence.engines.spark.recursion.checkpoints import CountedFrame
from whence.engines.spark.registry import Registry
from whence.engines.spark.state_changes import Appended, ChangedColumns, ChangedState, FrameHome, Replaced, StateChange
from whence.engines.spark.types import column_names, rows_from_arrow
from whence.engines.spark.view_deltas import ChangedView, Checkpoints, changed_rows
from whence.model.schema import Relation


@dataclass(frozen=True, slots=True)
class ViewStates:
    """The rows of a view, and with aggregates the states of its groups and of the values that folds keep."""

    relation: Relation
    groups: str | None = None
    members: Mapping[int, str] = field(default_factory=dict)

    def of_columns(self, outcome: ColumnOutcome, registry: Registry, home: FrameHome) -> Effects:
        """Many rows go to storage as they are, few become rows."""
        effects = Effects()
        many, name = registry.paging.columns, self.relation.name
        if outcome.seen.num_rows >= many:
            seen = DriverDelta(self.relation, outcome.seen, home.keep_table(name, outcome.seen))
            effects.seen[name] = seen
            if outcome.counts is outcome.seen:
                effects.states[name] = Appended(seen.frame, seen.rows, outcome.seen)
        elif outcome.seen.num_rows:
            rows = rows_from_arrow(outcome.seen, self.relation)
            effects.seen[name] = dict(zip(rows, outcome.seen.column("n").to_pylist(), strict=True))
        tables = {name: outcome.counts}
        tables |= {self.members[number]: table for number, table in outcome.members.items()}
        for state, table in tables.items():
            if table.num_rows and state not in effects.states:
                effects.states[state] = _counted_change(state, table, registry, home)
        if outcome.groups is not None and outcome.groups.num_rows:
            assert self.groups is not None
            effects.states[self.groups] = (
                ChangedColumns(outcome.groups)
                if outcome.groups.num_rows >= many
                else ChangedState(dict(registry.codec(self.groups).decode_log(outcome.groups)))
            )
        return effects

    def of_frames(self, changed: ChangedView, cluster: Cluster) -> Effects:
        """What is few enough for the driver goes on there as columns. The rest is kept."""
        registry, home, name = cluster.registry, cluster.home, self.relation.name
        seen = _table(name, changed.seen, registry)
        counts = seen if changed.counts is changed.seen else _table(name, changed.counts, registry)
        members = {self.members[number]: each for number, each in changed.members.items()}
        few = {number: _table(self.members[number], each, registry) for number, each in changed.members.items()}
        groups = None if self.groups is None else _table(self.groups, changed.groups, registry)
        effects = self.of_columns(ColumnOutcome(seen, counts, groups, few), registry, home)
        for state, rows in {name: changed.counts, **members}.items():
            if _is_large(rows, registry):
                effects.states[state] = Appended(home.keep(state, rows.frame), rows.rows)
        if _is_large(changed.seen, registry):
            own = effects.states.get(name) if changed.counts is changed.seen else None
            kept = own.frame if isinstance(own, Appended) else home.keep(name, changed.seen.frame)
            effects.seen[name] = FrameDelta(self.relation, kept, changed.seen.rows, kept)
        if self.groups is not None and changed.groups is not None and _is_large(changed.groups, registry):
            codec = registry.codec(self.groups)
            others = without(registry.frame(self.groups), changed.groups.frame, column_names(codec.relation.arity))
            there = changed.groups.frame.where(F.col(codec.known).isNotNull())
            kept = home.keep(self.groups, others.unionByName(there))
            effects.states[self.groups] = Replaced(kept, home.rows(kept))
        return effects


def rows_followed(relation: Relation, change: DataFrame, cluster: Cluster) -> Effects:
    """What becomes of a view without aggregates when the counts of its rows change like this."""
    keep = Checkpoints()
    try:
        changed = changed_rows(relation, change, cluster.registry.added(relation.name), keep)
        return ViewStates(relation).of_frames(changed, cluster)
    finally:
        keep.release()


def _is_large(rows: CountedFrame, registry: Registry) -> bool:
    return rows.rows > registry.paging.rows


def _table(name: str, rows: CountedFrame | None, registry: Registry) -> pa.Table:
    """Rows for a state, or none if they are too many for the driver."""
    schema = registry.codec(name).schema
    if rows is None or not rows.rows or _is_large(rows, registry):
        return schema.empty_table()
    return rows.frame.toArrow().select(schema.names).cast(schema)


def _counted_change(name: str, table: pa.Table, registry: Registry, home: FrameHome) -> StateChange:
    if table.num_rows >= registry.paging.columns:
        return Appended(home.keep_table(name, table), table.num_rows, table)
    rows = rows_from_arrow(table, registry[name].relation)
    return ChangedState(dict(zip(rows, table.column("n").to_pylist(), strict=True)))
