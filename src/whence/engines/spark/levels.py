"""UNION ALL recursion on Spark: computed again with every change, in the driver while all that it reads fits there, and
else on the cluster, where each level is a job.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce

from pyspark.sql import DataFrame

from whence.algebra.deltas import added, delta_between
from whence.analysis.components import Component
from whence.analysis.limits import MAX_LEVELS, RecursionLimits, too_many_levels
from whence.analysis.typed_rules import TypedRule
from whence.engines.spark.components import DerivedFrames, Effects, SparkComponent
from whence.engines.spark.registry import Registry, readable
from whence.engines.spark.state_changes import ChangedState
from whence.engines.spark.views import derive
from whence.incremental.recursive.levels import Levels
from whence.incremental.store import Store
from whence.model.program import Functions
from whence.model.schema import Relation
from whence.model.updates import Delta


class LevelPlan(SparkComponent):
    """The rows of all levels, as counts."""

    kept_by = "levels: a change computes the recursion again, level by level"

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        registry: Registry,
        limits: RecursionLimits,
    ) -> None:
        super().__init__(component, relations, functions)
        (self._name,) = component.relations
        self._limits = limits
        self._rows = registry.add_counted(self._name, relations[self._name])
        self.own = [self._name]
        self.states = [self._name, *component.reads]
        self._stores = {name: readable(registry[name], relations[name]) for name in component.reads}

    def try_build(self) -> Effects:
        return self._computed({})

    def try_change(self, inputs: Mapping[str, Delta]) -> Effects:
        return self._computed(inputs)

    def derive(self, frames: Mapping[str, DataFrame]) -> DerivedFrames:
        steps = [typed for typed in self.component.typed if self._name in typed.rule.reads]
        level = self._derived([typed for typed in self.component.typed if typed not in steps], frames)
        levels: list[DataFrame] = []
        while not level.isEmpty():
            if len(levels) >= MAX_LEVELS:
                raise too_many_levels(self.component.rules[-1])
            levels.append(level)
            level = self._derived(steps, {**frames, self._name: level})
        return DerivedFrames({self._name: reduce(DataFrame.unionAll, [*levels, level])}, rounds=len(levels))

    def _derived(self, rules: list[TypedRule], frames: Mapping[str, DataFrame]) -> DataFrame:
        part = replace(self.component, rules=tuple(each.rule for each in rules), typed=tuple(rules))
        # A plan of all levels before would be computed again for each of them.
        return derive(part, self._relations, self._functions, frames).frame.localCheckpoint()

    def _computed(self, inputs: Mapping[str, Delta]) -> Effects:
        # All is asked for before any of it is missed.
        before = dict(self._rows.matching((), ()))
        below = {name: Store(added(dict(s.matching((), ())), inputs.get(name, {}))) for name, s in self._stores.items()}
        levels = Levels(self.component, self._relations, self._functions, below, self._limits)
        delta = delta_between(before, levels.build()[self._name])
        return Effects({self._name: delta}, {self._name: ChangedState(delta)} if delta else {})
