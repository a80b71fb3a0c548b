"""What a component makes of a change, and what it needs to make it on the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from whence.engines.spark.frames import FrameDelta
from whence.engines.spark.paging import Paging
from whence.engines.spark.registry import Home, Registry, StateChange
from whence.engines.spark.types import rows_from_arrow
from whence.engines.spark.work import Work
from whence.model.schema import Relation
from whence.model.updates import Delta


@dataclass(frozen=True, slots=True)
class Followed:
    """What a component makes of a change: what its readers see, and what changes in its states."""

    seen: Mapping[str, Delta] = field(default_factory=dict)
    states: Mapping[str, StateChange] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Derivation:
    """A frame for each state of a component. Several are computed from each one in `shared`.

    A recursion took so many `rounds`.
    """

    states: Mapping[str, DataFrame]
    shared: tuple[DataFrame, ...] = ()
    rounds: int = 0


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where states are and frames are kept, for a component that follows a change there; `work` is what it costs."""

    spark: SparkSession
    registry: Registry
    home: Home
    paging: Paging
    work: Work


def small_delta(home: Home, paging: Paging, relation: Relation, frame: DataFrame) -> Delta:
    """A change as rows if they are few, and else as a kept frame."""
    answer = frame.limit(paging.delta + 1).toArrow()
    if len(answer) > paging.delta:
        kept = home.keep(f"{relation.name}#change", frame)
        return FrameDelta(relation, kept, home.rows(kept), kept)
    return dict(zip(rows_from_arrow(answer, relation), answer.column("n").to_pylist(), strict=True))
