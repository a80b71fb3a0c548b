"""How a recursive component follows changes: in the driver, by delta rules on the cluster, or derived again there.

In the driver it is lazy absorption with flat supports, and DRed to compare with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from whence.analysis.components import Component
from whence.analysis.limits import RecursionLimits
from whence.engines.spark.attempt import AttemptedRelation, DriverAttempt, Place, Remembered
from whence.engines.spark.components import Cluster, DerivedFrames, Effects, SparkComponent, small_delta
from whence.engines.spark.frames import as_seen
from whence.engines.spark.pages import TooLargeError
from whence.engines.spark.payloads import Codec
from whence.engines.spark.recursion.build import build
from whence.engines.spark.recursion.changes import OWING, RecursionOutcome
from whence.engines.spark.recursion.checkpoints import CountedFrame
from whence.engines.spark.recursion.delta_rules import NotWorthItError, Parts, followed
from whence.engines.spark.registry import Registry, readable
from whence.engines.spark.state_changes import ChangedState, Replaced, StateChange
from whence.engines.spark.supported import DEAD_HERE, Support, Supported
from whence.engines.spark.tuple_ids import UNKNOWN, UNPROVED, TupleId, absence_ids, row_ids
from whence.errors import EvaluationError
from whence.incremental.recursive.bests import moving_columns, saturates, unfounded
from whence.incremental.recursive.convergence import ConvergenceLimit
from whence.incremental.recursive.fixpoint import over_delete
from whence.incremental.recursive.matcher import BodyMatch, Matcher
from whence.incremental.recursive.rules import Rules
from whence.incremental.recursive.steps import InputChange, RelationSource, change_of
from whence.incremental.store import ProbedRelation
from whence.model.program import Functions
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
# A component of more rows than this is built on the cluster.
BUILT_HERE = 20_000


class RecursivePlan(SparkComponent):
    """Its own states are rows with supports, or with marks in their place where the strategy keeps none."""

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        registry: Registry,
        limits: RecursionLimits,
        maintenance: str,
    ) -> None:
        super().__init__(component, relations, functions)
        self._limits = limits
        self._proved = maintenance not in ("dred", "recompute")
        self.kept_by = STRATEGIES[maintenance]
        own = {name: registry.add_supported(name, relations[name]) for name in component.relations}
        self.own = list(own)
        self.states = [*own, *component.reads]
        stores = {name: readable(registry[name], relations[name]) for name in component.reads}
        kind = FlatDRed if maintenance == "dred" else FlatAbsorption
        self._absorption = kind(component, relations, functions, stores, own, limits)
        self.refusal = ASKED_FOR if maintenance == "recompute" else self._absorption.refusal

    def try_build(self) -> Effects:
        return _effects(self._absorption.build())

    def try_change(self, inputs: Mapping[str, Delta]) -> Effects:
        return _effects(self._absorption.apply(inputs))

    def follow(self, inputs: Mapping[str, Delta], cluster: Cluster) -> Effects | None:
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

    def derive(self, frames: Mapping[str, DataFrame]) -> DerivedFrames:
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
        return DerivedFrames({name: frame.withColumn("n", one) for name, frame in built.items()}, rounds=len(rounds))

    def _parts(self, inputs: Mapping[str, Delta], cluster: Cluster) -> Parts:
        registry = cluster.registry
        return Parts(
            cluster.spark,
            self.component,
            self._relations,
            self._functions,
            self._limits,
            {name: as_seen(registry.frame(name), self._relations[name]) for name in self.component.reads},
            inputs,
            {name: CountedFrame(registry.frame(name), len(registry[name].counts)) for name in self.own},
        )


def _effects(attempt: DriverAttempt) -> Effects:
    return Effects(attempt.deltas(), {name: ChangedState(rows) for name, rows in attempt.changes().items()})


def _settled(outcomes: Mapping[str, RecursionOutcome], cluster: Cluster) -> Effects:
    """Few changes go to the driver; of many, a new base is made."""
    seen: dict[str, Delta] = {}
    states: dict[str, StateChange] = {}
    for name, outcome in outcomes.items():
        most = min(cluster.paging.rows, max(cluster.paging.delta, len(cluster.registry[name].counts) // 10))
        if outcome.changed <= most:
            seen[name], rows = _as_rows(outcome, cluster.registry.codec(name))
            states[name] = ChangedState(rows)
        else:
            kept = cluster.home.keep(name, outcome.after())
            states[name] = Replaced(kept, cluster.home.rows(kept))
            seen[name] = small_delta(cluster.home, cluster.paging, outcome.relation, outcome.difference())
    return Effects({name: delta for name, delta in seen.items() if delta}, states)


def _as_rows(outcome: RecursionOutcome, codec: Codec[Support]) -> tuple[Delta, dict[Row, Support | None]]:
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


class RebuildError(Exception):
    """The component cannot follow this change row by row, and is to be derived from scratch; the message says why."""


def refusal(component: Component, rules: Rules) -> str | None:
    """Why a component is rebuilt with every change; None if it follows changes."""
    reason = unfounded(component)
    if reason is not None:
        return reason
    if any(columns and name not in component.aggregated for name, columns in moving_columns(component).items()):
        return "rows without an aggregate hold a min or max that can still improve"
    if any(bests.always for bests in rules.bests.values()):
        return "a min or max over everything has a row even of nothing"
    return None


class FlatAbsorption:
    """One recursive component. An attempt that misses rows changes nothing, and is made again when they are there.

    Rows with one of the supports `untrusted` are no ground to go on from.
    """

    untrusted = frozenset((UNPROVED, UNKNOWN))

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        stores: Mapping[str, ProbedRelation],
        own: Mapping[str, Supported],
        limits: RecursionLimits,
    ) -> None:
        self._component = component
        self._relations = relations
        self._stores = stores
        self._own = own
        self._limit = ConvergenceLimit(component, limits)
        sizes = {name: partial(len, state.counts) for name, state in own.items()}
        self._rules = Rules(component, relations, functions, stores, sizes)
        self._rules.count_matches(self._limit)
        self.refusal = refusal(component, self._rules)
        self._ids = {name: row_ids(name, relations[name]) for name in stores}
        self._absence_ids = {
            pattern: absence_ids(pattern, relations[pattern.relation])
            for matcher in self._rules.all
            for pattern in matcher.absences
        }

    def build(self) -> DriverAttempt:
        """The component's rows from scratch."""
        attempt = DriverAttempt(self._rules, self._own, self._stores, self, self._limit)
        attempt.build(BUILT_HERE)
        return attempt

    def apply(self, deltas: Mapping[str, Delta]) -> DriverAttempt:
        """What becomes of the component's rows."""
        change = change_of(self._stores, deltas)
        if change.owing:
            raise RebuildError(OWING)
        if any(own.is_marked(self.untrusted) for own in self._own.values()):
            raise RebuildError("it has rows without a proof")
        self._rules.replan(deltas)
        attempt = DriverAttempt(self._rules, self._own, change.after, self, self._limit, change)
        attempt.follow(change)
        return attempt

    def supports_of(
        self, matcher: Matcher, matches: Sequence[BodyMatch], own: Mapping[str, AttemptedRelation]
    ) -> list[Support]:
        """What derivations rest on, given what the rows of the component in their bodies do."""
        found: list[set[TupleId]] = [set() for _ in matches]
        for at, name in enumerate(matcher.positive):
            if name in own:
                supports = own[name].supports
                for support, match in zip(found, matches, strict=True):
                    support.update(supports[match.body[at]])
            else:
                # Many rows rest on the same few.
                ids = {row: self._ids[name](row) for row in {match.body[at] for match in matches}}
                for support, match in zip(found, matches, strict=True):
                    support.add(ids[match.body[at]])
        for at, pattern in enumerate(matcher.absences):
            for support, match in zip(found, matches, strict=True):
                support.add(self._absence_ids[pattern](match.absent[at]))
        return [tuple(sorted(support)) for support in found]

    def dead(self, change: InputChange) -> Iterable[Place]:
        lost = self._lost(change)
        return [(name, row) for name, own in self._own.items() for row in own.resting_on(lost)] if lost else ()

    def _lost(self, change: InputChange) -> frozenset[int]:
        """The part of the input that is no longer so."""
        rows = (self._ids[name](row) for name, rows in change.vanished.items() for row in rows)
        absences = (self._absence_ids[pattern](key) for pattern, key in self._rules.refuted(change))
        return frozenset((*rows, *absences))


class FlatDRed(FlatAbsorption):
    """It differs from absorption in what dies: all that can be derived from what is gone."""

    untrusted = frozenset((UNPROVED,))

    @cached_property
    def _any_value_counts(self) -> bool:
        """Otherwise only a value as good as the best one is a reason for the best one."""
        return saturates(self._component, self._relations)

    def supports_of(
        self,
        matcher: Matcher,  # noqa: ARG002
        matches: Sequence[BodyMatch],
        own: Mapping[str, AttemptedRelation],  # noqa: ARG002
    ) -> list[Support]:
        return [(UNKNOWN,)] * len(matches)

    def dead(self, change: InputChange) -> Iterable[Place]:
        before: dict[str, RelationSource] = {
            **{name: Remembered(rows) for name, rows in self._stores.items()},
            **self._own,
        }
        dead: dict[Place, None] = {}

        def mark_dead(place: Place) -> bool:
            if place in dead:
                return False
            if len(dead) == DEAD_HERE:
                raise TooLargeError
            dead[place] = None
            return True

        def above(place: Place) -> list[Place]:
            return [
                other
                for matcher, position in self._rules.readers[place[0]]
                for found in matcher.through(position, place[1], before)
                if (other := self._resting_on(matcher, found)) is not None
            ]

        lost = [
            self._resting_on(matcher, found)
            for matcher, matches in self._rules.lost(change, before)
            for found in matches
        ]
        over_delete([place for place in lost if place is not None], above, mark_dead)
        return dead

    def _resting_on(self, matcher: Matcher, found: BodyMatch) -> Place | None:
        """The row, if there is one, that this match may be a reason for."""
        bests = self._rules.bests.get(matcher.relation)
        if bests is None:
            # What follows from rows that were there was there.
            return matcher.relation, found.head
        row, _ = self._own[matcher.relation].row_of(bests.group_positions, found.head)
        if row is not None:
            ranks = bests.ranks(tuple([row[position] for position in bests.positions]))
            if self._any_value_counts or any(
                rank == best for rank, best in zip(bests.ranks(found.values), ranks, strict=True)
            ):
                return matcher.relation, row
        return None
