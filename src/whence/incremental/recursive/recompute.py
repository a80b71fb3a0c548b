"""Recomputation: the component from scratch after every change, compared with what it was."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from whence.algebra.deltas import added, delta_between
from whence.analysis.components import Component
from whence.analysis.limits import RecursionLimits, too_deep
from whence.analysis.typed_rules import TypedRule
from whence.errors import ConvergenceError, shown
from whence.incremental.counting.counting import Counting
from whence.incremental.recursive.convergence import ConvergenceLimit
from whence.incremental.store import Store
from whence.model.program import Functions
from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta, totals


class Recompute:
    """Keeps the rows only. Right for every program, at the price of evaluating all of it.

    All rules are applied to nothing, then to what came of it, until nothing changes. Of each round but the first only
    the difference is computed, exactly, so that values of min and max which were replaced take along what rested on
    them, and rows with negative counts take others away.
    """

    reason: str | None = None
    # It never does anything else, which is no choice.
    has_recomputed = False

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        stores: Mapping[str, Store],
        limits: RecursionLimits,
    ) -> None:
        self._component = component
        self._relations = relations
        self._functions = functions
        self._stores = stores
        self._limits = limits
        self._limit = ConvergenceLimit(component, limits)
        self._rows: Mapping[str, Mapping[Row, int]] = {name: {} for name in component.relations}
        self._before: Mapping[str, Mapping[Row, int]] = self._rows

    def resume(self, rows: Mapping[str, Mapping[Row, int]]) -> None:
        """Go on from these rows, which another strategy has kept so far."""
        self._rows = self._before = rows

    def build(self) -> Mapping[str, Delta]:
        return self.apply({})

    def apply(self, deltas: Mapping[str, Delta]) -> Mapping[str, Delta]:
        self._before = self._rows
        below = {
            name: Store(added(store.counts, deltas[name])) if deltas.get(name) else store
            for name, store in self._stores.items()
        }
        self._rows = {name: store.counts for name, store in self._fixpoint(below).items()}
        changes = {name: delta_between(self._before[name], rows) for name, rows in self._rows.items()}
        return {name: change for name, change in changes.items() if change}

    def settle(self) -> None:
        self._before = self._rows

    def undo(self) -> None:
        self._rows = self._before

    def counts(self, relation: str) -> Mapping[Row, int]:
        return MappingProxyType(self._rows[relation])

    def _fixpoint(self, below: Mapping[str, Store]) -> dict[str, Store]:
        own = {name: Store() for name in self._component.relations}
        stores = {**below, **own}
        rules = {
            name: tuple(typed for typed in self._component.typed if typed.rule.head.relation == name) for name in own
        }
        views = [self._view(found, stores, limited=True) for found in rules.values()]
        self._limit.begin(0)
        changes = _together(view.build() for view in views)
        rounds = 0
        while changes:
            if rounds >= self._limit.depth:
                raise self._endless(changes, rules, stores)
            for view in views:
                view.settle()
            following = _together(view.apply(changes) for view in views)
            for name, change in changes.items():
                own[name].apply(change)
                came, went = totals(change)
                self._limit.grew(came - went)
                self._limit.check_size(own[name].size, rules[name][-1].rule)
            changes = following
            rounds += 1
        return own

    def _view(self, typed: tuple[TypedRule, ...], stores: Mapping[str, Store], *, limited: bool) -> Counting:
        """Some rules of one relation, over the others as over any."""
        name = typed[0].rule.head.relation
        part = replace(
            self._component,
            relations=(name,),
            rules=tuple(each.rule for each in typed),
            typed=typed,
            aggregated=self._component.aggregated.intersection([name]),
        )
        parts = (part, self._relations, self._functions, stores, self._limits)
        return Counting(*parts, self._limit.counter) if limited else Counting(*parts)

    def _endless(
        self, changes: Mapping[str, Delta], rules: Mapping[str, tuple[TypedRule, ...]], stores: Mapping[str, Store]
    ) -> ConvergenceError:
        """The error that names the rules whose rows were still new in the last round."""
        guilty: list[tuple[Rule, list[str]]] = []
        for name, change in changes.items():
            fresh = {row for row, count in change.items() if count > 0}
            producing = [
                typed
                for typed in rules[name]
                if not fresh.isdisjoint(self._view((typed,), stores, limited=False).build()[name])
            ]
            # Where rules aggregate several values together, none of them may produce a row alone.
            guilty += [(typed.rule, _example(fresh)) for typed in producing or rules[name]]
        (rule, example), *others = guilty
        return too_deep(
            rule,
            example,
            self._limits.rounds,
            improves=not self._component.aggregated.isdisjoint(changes),
            related=[("this rule keeps producing new rows too", other.span) for other, _ in others],
        )


def _example(rows: Collection[Row]) -> list[str]:
    """The same one of these rows every time, as text: the shortest to write, and of those the first."""
    return min(([shown(value) for value in row] for row in rows), key=lambda row: [*map(len, row), *row], default=[])


def _together(changes: Iterable[Mapping[str, Delta]]) -> dict[str, Delta]:
    return {name: delta for change in changes for name, delta in change.items() if delta}
