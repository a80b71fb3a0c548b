"""Whether a change of many rows is followed over columns in the driver, and the attempt to do so."""

from __future__ import annotations

from collections.abc import Mapping

from whence.columns import NotInColumnsError
from whence.engines.spark.columnar.lookup import ColumnLookup
from whence.engines.spark.components import Cluster, Effects, SparkComponent
from whence.engines.spark.frames import DriverDelta, FrameDelta
from whence.engines.spark.pages import Paging, TooLargeError
from whence.model.updates import Delta


def followed_in_columns(
    plan: SparkComponent, inputs: Mapping[str, Delta], cluster: Cluster, lookup: ColumnLookup
) -> Effects | None:
    """What follows from a change; None if this is no way to follow it, and the work tells why."""
    work, registry = cluster.work, cluster.registry
    frames = [delta for delta in inputs.values() if isinstance(delta, FrameDelta)]
    if not all(isinstance(delta, DriverDelta) for delta in frames):
        work.on_cluster = "the change was large"
        return None
    changed = sum(delta.rows for delta in frames)
    if changed > cluster.paging.delta and changed > sum(len(registry[name].counts) for name in plan.component.reads):
        work.on_cluster = "most of what it reads has changed"
        return None
    try:
        followed = plan.try_columns(inputs, lookup, cluster.home)
    except NotInColumnsError as error:
        work.on_cluster = f"the change was large, and not for columns: {error}"
    except TooLargeError:
        work.on_cluster = "the change touched too many rows"
    else:
        work.in_columns, work.touched = True, lookup.touched
        work.tries += 1
        return followed
    return None


def can_be_rows(inputs: Mapping[str, Delta], paging: Paging) -> bool:
    """Whether a change that came as columns is small enough to be followed row by row."""
    frames = [delta for delta in inputs.values() if isinstance(delta, FrameDelta)]
    are_here = all(isinstance(delta, DriverDelta) for delta in frames)
    return are_here and sum(delta.rows for delta in frames) <= paging.delta
