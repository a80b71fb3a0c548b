"""Elements of arrays on Spark: a small change in the driver, a large one with Spark's own posexplode."""

from __future__ import annotations

from collections.abc import Mapping

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from whence.analysis.components import Component
from whence.engines.spark.components import Cluster, DerivedFrames, Effects, SparkComponent
from whence.engines.spark.registry import Registry, readable
from whence.engines.spark.rule_deltas import ChangedReads
from whence.engines.spark.state_changes import ChangedState
from whence.engines.spark.types import column_names
from whence.engines.spark.view_states import rows_followed
from whence.incremental.array_elements import unnested_delta, unnested_rows
from whence.model.program import Functions
from whence.model.rules import Atom
from whence.model.schema import Relation
from whence.model.terms import Unnest
from whence.model.updates import Delta


class UnnestingPlan(SparkComponent):
    kept_by = "counting: a row for each element of an array"

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
        self._made = unnested_rows(self._rule)

    def try_build(self) -> Effects:
        return self._effects(self._store.matching((), ()))

    def try_change(self, inputs: Mapping[str, Delta]) -> Effects:
        return self._effects(inputs[self._below])

    def follow(self, inputs: Mapping[str, Delta], cluster: Cluster) -> Effects | None:
        reads = ChangedReads(inputs, cluster)
        if not reads.are_worth_following(self.component.typed):
            return None
        rows = self.derive(reads.changes).states[self._name]
        cluster.work.by_rules = True
        return rows_followed(self._relations[self._name], rows, cluster)

    def derive(self, frames: Mapping[str, DataFrame]) -> DerivedFrames:
        (atom,) = self._rule.body
        assert isinstance(atom, Atom)
        parts = [term for term in self._rule.head.terms if isinstance(term, Unnest)]
        names = column_names(len(atom.terms))
        array = names[atom.terms.index(parts[0].argument)]
        exploded = (F.posexplode_outer if parts[0].outer else F.posexplode)(array).alias("position", "element")
        frame = frames[self._below].select(*names, "n", exploded)
        more = [F.col(part.part).alias(f"c{len(names) + at}") for at, part in enumerate(parts)]
        keys = [*names, *(f"c{len(names) + at}" for at in range(len(parts)))]
        rows = frame.select(*names, *more, "n").groupBy(*keys).agg(F.sum("n").alias("n")).where("n <> 0")
        return DerivedFrames({self._name: rows})

    def _effects(self, delta: Delta) -> Effects:
        found = unnested_delta(self._made, delta)
        return Effects({self._name: found}, {self._name: ChangedState(found)} if found else {})
