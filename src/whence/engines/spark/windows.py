"""Window functions on Spark: a small change takes its partitions into the driver, a large one computes all of them.

The cluster groups rows by partition, and each group is put in order and numbered by the code of the local engine, so
that values and ties are the same everywhere. A partition has to fit into the memory of a worker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyspark.sql.types as spark
from pyspark.sql import DataFrame

from whence.algebra.deltas import add_to
from whence.analysis.components import Component
from whence.engines.spark.components import Cluster, DerivedFrames, Effects, SparkComponent
from whence.engines.spark.frames import as_seen, difference, matching, summed
from whence.engines.spark.registry import Registry, readable
from whence.engines.spark.rule_deltas import ChangedReads
from whence.engines.spark.state_changes import ChangedState
from whence.engines.spark.types import frame_schema, rows_from_arrow, rows_to_arrow, with_columns
from whence.engines.spark.view_states import rows_followed
from whence.incremental.windows.maintainer import WindowedRows, windowed_counts
from whence.incremental.windows.ordered_rows import Entry, OrderedRows
from whence.incremental.windows.partition_change import PartitionChange
from whence.model.program import Functions
from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.model.terms import Window
from whence.model.types import Row
from whence.model.updates import Delta


class WindowPlan(SparkComponent):
    """The rows of a view with window functions, as counts; the order of a partition is made when it is needed."""

    kept_by = "windows: a change computes the partitions that it touches"

    def __init__(
        self, component: Component, relations: Mapping[str, Relation], functions: Functions, registry: Registry
    ) -> None:
        super().__init__(component, relations, functions)
        (self._name,) = component.relations
        (self._below,) = component.reads
        (self._rule,) = component.rules
        registry.add_counted(self._name, relations[self._name])
        self.own = [self._name]
        self.states = [self._name, self._below]
        self._store = readable(registry[self._below], relations[self._below])
        self._windowed = WindowedRows(self._rule, relations[self._below])
        first = self._rule.head.terms[self._rule.windows[0]]
        assert isinstance(first, Window)
        self._partition = tuple(self._windowed.order.place(term) for term in first.partition)

    def try_build(self) -> Effects:
        rows: dict[Any, list[tuple[Row, int]]] = {}
        for row, count in self._store.matching((), ()).items():
            rows.setdefault(self._windowed.order.partition(row), []).append((row, count))
        found: dict[Row, int] = {}
        for of_partition in rows.values():
            found.update(windowed_counts(self._rule, self._relations[self._below], of_partition))
        return self._effects(found)

    def try_change(self, inputs: Mapping[str, Delta]) -> Effects:
        order = self._windowed.order
        changes: dict[Any, tuple[list[Entry], list[Entry]]] = {}
        for row, count in inputs[self._below].items():
            gone, came = changes.setdefault(order.partition(row), ([], []))
            (came if count > 0 else gone).extend([order.entry(row)] * abs(count))
        # All partitions are asked for before any of them is missed.
        stored = {key: self._store.matching(self._partition, key) for key in changes}
        delta: dict[Row, int] = {}
        for key, (gone, came) in changes.items():
            there = [row for row, count in stored[key].items() for _ in range(count)]
            known = set(there)
            if not all(row in known for _, _, row in gone):
                # Not all of the partition is in memory yet.
                continue
            before = OrderedRows.of(order.entries(there))
            add_to(delta, self._windowed.change(PartitionChange(before, sorted(gone), sorted(came))))
        return self._effects(delta)

    def follow(self, inputs: Mapping[str, Delta], cluster: Cluster) -> Effects | None:
        relation, below = self._relations[self._name], self._relations[self._below]
        reads = ChangedReads(inputs, cluster)
        if not reads.are_worth_following(self.component.typed):
            return None
        change, keys = reads.changes[self._below], [f"c{place}" for place in self._partition]
        if not keys:
            cluster.work.reason = "all rows are one partition"
            return None
        touched = matching(as_seen(cluster.registry.frame(self._below), below), change, keys)
        after, before = (
            self.derive({self._below: rows}).states[self._name] for rows in (summed(below, [touched, change]), touched)
        )
        cluster.work.by_rules = True
        return rows_followed(relation, difference(relation, before, after), cluster)

    def derive(self, frames: Mapping[str, DataFrame]) -> DerivedFrames:
        relation, below = self._relations[self._name], self._relations[self._below]
        schema = spark.StructType([*frame_schema(relation), spark.StructField("n", spark.LongType(), nullable=False)])
        keys = [f"c{place}" for place in self._partition]
        frame = frames[self._below].where("n > 0").groupBy(*keys)
        return DerivedFrames({self._name: frame.applyInArrow(_computed(self._rule, below, relation), schema)})

    def _effects(self, delta: dict[Row, int]) -> Effects:
        return Effects({self._name: delta}, {self._name: ChangedState(delta)} if delta else {})


def _computed(rule: Rule, below: Relation, relation: Relation) -> Callable[[pa.Table], pa.Table]:
    """What makes of the rows of a partition those of the view."""

    def compute(table: pa.Table) -> pa.Table:
        rows = zip(rows_from_arrow(table, below), table.column("n").to_pylist(), strict=True)
        found = windowed_counts(rule, below, list(rows))
        return with_columns(rows_to_arrow(list(found), relation), {"n": pa.array(found.values(), pa.int64())})

    return compute
