"""A component derived again on the cluster, from whole relations, and what that changes for its readers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

import pyarrow.compute as compute
from pyspark.sql import DataFrame

from whence.engines.spark.components import Cluster, DerivedFrames, Effects, SparkComponent, small_delta
from whence.engines.spark.errors import evaluation_errors, retried_when_lost
from whence.engines.spark.frames import DriverDelta, FrameDelta, as_seen, delta_frame, difference, summed
from whence.engines.spark.metrics import CommitLedger
from whence.engines.spark.state_changes import Replaced
from whence.model.updates import Delta


def derived(plan: SparkComponent, inputs: Mapping[str, Delta], cluster: Cluster, ledger: CommitLedger) -> Effects:
    """The component over the relations below as they are after a change to them."""
    view = plan.component.relations[0]
    frames = {
        name: relation_after(name, inputs.get(name), cluster, takes_summands=plan.takes_summands)
        for name in plan.component.reads
    }
    with ledger.phase(view, "derive"), evaluation_errors(plan.component.rules[0].span):
        states = retried_when_lost(lambda: _kept(plan.derive(frames), cluster), view)
    with ledger.phase(view, "compare with what was there"):
        seen = {name: _change_of(name, states[name], cluster) for name in plan.component.relations}
    return Effects({name: delta for name, delta in seen.items() if delta}, {**states})


def relation_after(name: str, change: Delta | None, cluster: Cluster, *, takes_summands: bool) -> DataFrame:
    """A relation as it is after a change. To add up its rows would take longer than most views do: where that is right,
    a row may be there several times.
    """
    registry = cluster.registry
    relation = registry[name].relation
    parts = [] if change is None else [delta_frame(cluster.spark, relation, change)]
    if takes_summands and (change is None or _least_count(change, cluster) > 0):
        summands = registry.summands(name)
        if summands:
            return reduce(DataFrame.unionByName, [*summands, *parts])
    return summed(relation, [as_seen(registry.frame(name), relation), *parts])


def _least_count(change: Delta, cluster: Cluster) -> int:
    """The least count in a change, or 0 if that is not known."""
    if isinstance(change, DriverDelta):
        return int(compute.min(change.table.column("n")).as_py() or 0)
    if isinstance(change, FrameDelta):
        return 0 if change.kept is None else cluster.home.least_count(change.kept) or 0
    return min(change.values(), default=1)


def _kept(derivation: DerivedFrames, cluster: Cluster) -> dict[str, Replaced]:
    cluster.work.rounds += derivation.rounds
    for frame in derivation.shared:
        frame.persist()
    try:
        kept = {name: cluster.home.keep(name, frame) for name, frame in derivation.states.items()}
    finally:
        for frame in derivation.shared:
            frame.unpersist()
    return {name: Replaced(frame, cluster.home.rows(frame)) for name, frame in kept.items()}


def _change_of(name: str, after: Replaced, cluster: Cluster) -> Delta:
    """What readers see of a relation that was derived again."""
    state, home, paging = cluster.registry[name], cluster.home, cluster.paging
    seen = as_seen(after.frame, state.relation)
    if len(state.counts):
        before = as_seen(cluster.registry.frame(name), state.relation)
        return small_delta(home, paging, state.relation, difference(state.relation, before, seen))
    if after.rows > paging.delta:
        return FrameDelta(state.relation, seen, after.rows, after.frame)
    return small_delta(home, paging, state.relation, seen)
