"""Lazy absorption with flat supports: every row of a recursive component carries the input that its proof rests on.

A walk from body to head, as the local engine does it, would be one job a step here. With the whole support beside the
row, one job finds everything that a change of the input breaks, whatever the depth; what could prove it again is paged
in, and the rest happens in the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.recursive.endless import Brake
from whence.engines.local.recursive.inputs import Change, change_of
from whence.engines.local.recursive.matching import Found, Matcher
from whence.engines.local.recursive.moving import moving_columns, unfounded
from whence.engines.local.recursive.rules import Rules
from whence.engines.local.store import Readable
from whence.engines.reference.fixpoint import Limits
from whence.engines.spark.run import Run
from whence.engines.spark.supported import Support, Supported
from whence.engines.spark.tuple_ids import UNKNOWN, UNPROVED, absence_ids, row_ids
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta

# A component of more rows than this is built on the cluster.
BUILT_HERE = 20_000

OWING = "a relation that it reads has rows with a count below zero"


class RebuildError(Exception):
    """The component cannot follow this change row by row, and is to be derived anew; the message says why."""


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
    """One recursive component. A try that misses rows changes nothing, and is made again when they are there.

    Rows with one of the supports `untrusted` are no ground to go on from.
    """

    untrusted = frozenset((UNPROVED, UNKNOWN))

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        stores: Mapping[str, Readable],
        own: Mapping[str, Supported],
        limits: Limits,
    ) -> None:
        self._stores = stores
        self._own = own
        self._brake = Brake(component, limits)
        self._rules = Rules(component, relations, functions, stores)
        self.refusal = refusal(component, self._rules)
        self._ids = {name: row_ids(name, relations[name]) for name in stores}
        self._absence_ids = {
            pattern: absence_ids(pattern, relations[pattern.relation])
            for matcher in self._rules.all
            for pattern in matcher.absences
        }

    def build(self) -> Run:
        """The component's rows from nothing."""
        run = Run(self._rules, self._own, self._stores, self.support_of, self._brake)
        for matcher in self._rules.all:
            if not matcher.own:
                for found in matcher.all(run.after):
                    run.offer(matcher, found, 1)
        run.spread(BUILT_HERE)
        return run

    def apply(self, deltas: Mapping[str, Delta]) -> Run:
        """What becomes of the component's rows."""
        change = change_of(self._stores, deltas)
        if change.owing:
            raise RebuildError(OWING)
        if any(own.is_marked(self.untrusted) for own in self._own.values()):
            raise RebuildError("it has rows without a proof")
        run = Run(self._rules, self._own, change.after, self.support_of, self._brake, change)
        self.kill(change, run)
        for matcher, found in self._rules.gained(change, run.after):
            run.offer(matcher, found, 1)
        run.reprove()
        run.spread()
        return run

    def support_of(self, matcher: Matcher, found: Found, own: Callable[[str, Row], Support]) -> Support:
        """What a derivation rests on, given what the rows of the component in its body do."""
        support: set[int] = set()
        for name, row in zip(matcher.positive, found.body, strict=True):
            if name in self._own:
                support.update(own(name, row))
            else:
                support.add(self._ids[name](row))
        for pattern, key in zip(matcher.absences, found.absent, strict=True):
            support.add(self._absence_ids[pattern](key))
        return tuple(sorted(support))

    def kill(self, change: Change, run: Run) -> None:
        """Find what has lost its proof."""
        lost = self._lost(change)
        if lost:
            for name, own in self._own.items():
                run.kill(name, own.resting_on(lost))

    def _lost(self, change: Change) -> frozenset[int]:
        """The part of the input that is no longer so."""
        rows = (self._ids[name](row) for name, rows in change.vanished.items() for row in rows)
        absences = (self._absence_ids[pattern](key) for pattern, key in self._rules.refuted(change))
        return frozenset((*rows, *absences))
