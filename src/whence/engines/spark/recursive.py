"""How a recursive component follows changes: in the driver, by delta rules on the cluster, or derived anew there."""

from __future__ import annotations

from collections.abc import Mapping

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.engine import reads
from whence.engines.reference.fixpoint import Limits
from whence.engines.spark.absorption import FlatAbsorption
from whence.engines.spark.dred import FlatDRed
from whence.engines.spark.followed import Cluster, Derivation, Followed, small_delta
from whence.engines.spark.frames import as_seen
from whence.engines.spark.payloads import Codec
from whence.engines.spark.recursion.building import build
from whence.engines.spark.recursion.checkpoints import Counted
from whence.engines.spark.recursion.following import NotWorthItError, Parts, followed
from whence.engines.spark.recursion.outcomes import Outcome
from whence.engines.spark.registry import Changed, Registry, Replaced, StateChange, readable
from whence.engines.spark.run import Run
from whence.engines.spark.supported import Support
from whence.errors import EvaluationError
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta

ASKED_FOR = "that was asked for"
STRATEGIES = {
    "auto": "lazy absorption: every row carries the input that it rests on",
    "absorption": "lazy absorption: every row carries the input that it rests on",
    "dred": "DRed: what might be gone is deleted, and derived again if it is not",
    "recompute": "recomputation",
}
FAILING = "its rules fail for values that only the search for derivations comes across"


class RecursivePlan:
    """Its own states are rows with supports, or with marks in their place where the strategy keeps none."""

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        registry: Registry,
        limits: Limits,
        maintenance: str,
    ) -> None:
        self.component = component
        self._relations = relations
        self._functions = functions
        self._limits = limits
        self._proved = maintenance not in ("dred", "recompute")
        self.kept_by = STRATEGIES[maintenance]
        own = {name: registry.add_supported(name, relations[name]) for name in component.relations}
        self.own = list(own)
        self.states = [*own, *reads(component)]
        stores = {name: readable(registry[name], relations[name]) for name in reads(component)}
        kind = FlatDRed if maintenance == "dred" else FlatAbsorption
        self._absorption = kind(component, relations, functions, stores, own, limits)
        self.refusal = ASKED_FOR if maintenance == "recompute" else self._absorption.refusal

    def try_build(self) -> Followed:
        return _followed(self._absorption.build())

    def try_change(self, inputs: Mapping[str, Delta]) -> Followed:
        return _followed(self._absorption.apply(inputs))

    def follow(self, inputs: Mapping[str, Delta], cluster: Cluster) -> Followed | None:
        work = cluster.work

        def count(*_: object) -> None:
            work.rounds += 1

        try:
            with followed(self._parts(inputs, cluster), count, proved=self._proved) as (outcomes, work.reason):
                settled = _settled(outcomes, cluster)
        except NotWorthItError as error:
            work.reason = str(error)
            return None
        except EvaluationError:
            work.reason = FAILING
            return None
        work.by_rules = True
        return settled

    def derive(self, frames: Mapping[str, DataFrame]) -> Derivation:
        rounds: list[int] = []
        built = build(
            self.component,
            self._relations,
            self._functions,
            frames,
            self._limits,
            lambda at, _: rounds.append(at),
            proved=self._proved,
        )
        # With their count they can be read as a change, too.
        one = F.lit(1).cast("bigint")
        return Derivation({name: frame.withColumn("n", one) for name, frame in built.items()}, rounds=len(rounds))

    def _parts(self, inputs: Mapping[str, Delta], cluster: Cluster) -> Parts:
        registry = cluster.registry
        return Parts(
            cluster.spark,
            self.component,
            self._relations,
            self._functions,
            self._limits,
            {name: as_seen(registry.frame(name), self._relations[name]) for name in reads(self.component)},
            inputs,
            {name: Counted(registry.frame(name), len(registry[name].counts)) for name in self.own},
        )


def _followed(run: Run) -> Followed:
    return Followed(run.deltas(), {name: Changed(rows) for name, rows in run.changes().items()})


def _settled(outcomes: Mapping[str, Outcome], cluster: Cluster) -> Followed:
    """Few changes go to the driver; of many, a new base is made."""
    seen: dict[str, Delta] = {}
    states: dict[str, StateChange] = {}
    for name, outcome in outcomes.items():
        most = min(cluster.paging.rows, max(cluster.paging.delta, len(cluster.registry[name].counts) // 10))
        if outcome.changed <= most:
            seen[name], rows = _as_rows(outcome, cluster.registry.codec(name))
            states[name] = Changed(rows)
        else:
            kept = cluster.home.keep(name, outcome.after())
            states[name] = Replaced(kept, cluster.home.rows(kept))
            seen[name] = small_delta(cluster.home, cluster.paging, outcome.relation, outcome.difference())
    return Followed({name: delta for name, delta in seen.items() if delta}, states)


def _as_rows(outcome: Outcome, codec: Codec[Support]) -> tuple[Delta, dict[Row, Support | None]]:
    """What readers see of a change, and what changes in the state."""
    leaving: dict[Row, None] = {}
    coming: dict[Row, Support] = {}
    for row, support in codec.decode_log(outcome.changes().toArrow()):
        if support is None:
            leaving[row] = None
        else:
            coming[row] = support
    gone = {row: -1 for row in leaving if row not in coming}
    return {**gone, **{row: 1 for row in coming if row not in leaving}}, {**dict.fromkeys(gone), **coming}
