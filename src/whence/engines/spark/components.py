"""What the engine asks of a component, and what a component makes of a change before anything of it has happened."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from whence.analysis.components import Component
from whence.columns import NotInColumnsError
from whence.columns.delta import arrow_change
from whence.engines.spark.columnar.lookup import ColumnLookup
from whence.engines.spark.frames import DriverDelta, FrameDelta
from whence.engines.spark.metrics import SparkWork
from whence.engines.spark.pages import Paging
from whence.engines.spark.registry import Registry
from whence.engines.spark.state_changes import Appended, ChangedState, FrameHome, StateChange
from whence.engines.spark.types import column_names, rows_from_arrow, rows_to_arrow, with_columns
from whence.model.program import Functions
from whence.model.schema import Relation
from whence.model.updates import Delta, Update


@dataclass
class Effects:
    """What follows from a change: what readers see, and what changes in the states."""

    seen: dict[str, Delta] = field(default_factory=dict)
    states: dict[str, StateChange] = field(default_factory=dict)

    def add(self, other: Effects) -> None:
        self.seen.update((name, delta) for name, delta in other.seen.items() if delta)
        self.states.update(other.states)


def of_tables(update: Update, relations: Mapping[str, Relation], home: FrameHome, paging: Paging) -> Effects:
    """What an update does to the tables themselves. Many rows are columns from here on."""
    effects = Effects()
    for name, given in update.deltas.items():
        if not given:
            continue
        delta = in_columns(given, relations[name], home, paging)
        effects.seen[name] = delta
        if isinstance(delta, FrameDelta):
            table = delta.table if isinstance(delta, DriverDelta) else None
            effects.states[name] = Appended(delta.frame, delta.rows, table)
        else:
            effects.states[name] = ChangedState(delta)
    return effects


def in_columns(delta: Delta, relation: Relation, home: FrameHome, paging: Paging) -> Delta:
    """A change of many rows as columns, which are kept; any other as it is."""
    if isinstance(delta, FrameDelta) or len(delta) < paging.columns or not relation.arity:
        return delta
    table = delta_table(relation, delta)
    return DriverDelta(relation, table, home.keep_table(relation.name, table))


def delta_table(relation: Relation, delta: Delta) -> pa.Table:
    """A change as columns `c0`, `c1`, ... and `n`."""
    change = arrow_change(delta)
    if change is None:
        return with_columns(rows_to_arrow(list(delta), relation), {"n": pa.array(delta.values(), pa.int64())})
    names = column_names(relation.arity)
    return pa.Table.from_arrays([*change.arrays, pa.array(change.weights)], [*names, "n"])


@dataclass(frozen=True, slots=True)
class DerivedFrames:
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
    home: FrameHome
    paging: Paging
    work: SparkWork


class SparkComponent(ABC):
    """`own` are the states that the component keeps, `states` those and the ones that it reads.

    Rows that are missing in memory make a try worthless; the states know which ones.
    """

    own: list[str]
    states: list[str]
    # Why every change goes to the cluster; None if it need not.
    refusal: str | None = None
    # The strategy, in words.
    kept_by: str
    # Whether a row of a bag may be several times in a frame that it is derived from.
    takes_summands = False

    def __init__(self, component: Component, relations: Mapping[str, Relation], functions: Functions) -> None:
        self.component = component
        self._relations = relations
        self._functions = functions

    @abstractmethod
    def try_build(self) -> Effects:
        """The component from scratch, in the driver."""

    @abstractmethod
    def try_change(self, inputs: Mapping[str, Delta]) -> Effects:
        """What follows when the relations it reads change like this, in the driver."""

    def try_columns(self, inputs: Mapping[str, Delta], lookup: ColumnLookup, home: FrameHome) -> Effects:  # noqa: ARG002
        """The same for a change of many rows, over columns. Raises NotInColumnsError if it has to be another way."""
        raise NotInColumnsError("recursion, windows and elements of arrays")

    def follow(self, inputs: Mapping[str, Delta], cluster: Cluster) -> Effects | None:  # noqa: ARG002
        """The same on the cluster; None if the component is better derived from scratch."""
        return None

    @abstractmethod
    def derive(self, frames: Mapping[str, DataFrame]) -> DerivedFrames:
        """The component from scratch, on the cluster."""


def small_delta(home: FrameHome, paging: Paging, relation: Relation, frame: DataFrame) -> Delta:
    """A change as rows if they are few, and else as a kept frame."""
    answer = frame.limit(paging.delta + 1).toArrow()
    if len(answer) > paging.delta:
        kept = home.keep(f"{relation.name}#change", frame)
        return FrameDelta(relation, kept, home.rows(kept), kept)
    return dict(zip(rows_from_arrow(answer, relation), answer.column("n").to_pylist(), strict=True))
