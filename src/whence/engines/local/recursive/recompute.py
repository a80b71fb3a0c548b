"""Recomputation: the component from nothing after every change, compared with what it was."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.store import Store
from whence.engines.reference.fixpoint import Limits, fixpoint
from whence.engines.reference.tables import Table
from whence.engines.reference.view import View, ViewRule
from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta


class Recompute:
    """Keeps the rows only. Right for every program, at the price of evaluating all of it."""

    reason: str | None = None

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        stores: Mapping[str, Store],
        limits: Limits,
    ) -> None:
        self._stores = stores
        self._limits = limits
        rules: dict[str, list[Rule]] = {}
        for rule in component.rules:
            rules.setdefault(rule.head.relation, []).append(rule)
        self._views = [
            View(relations[name], [ViewRule(rule, relations, functions) for rule in rules[name]])
            for name in component.relations
        ]
        self._rows: Mapping[str, Mapping[Row, int]] = {name: {} for name in component.relations}
        self._before: Mapping[str, Mapping[Row, int]] = self._rows

    def resume(self, rows: Mapping[str, Mapping[Row, int]]) -> None:
        """Go on from these rows, which another strategy has kept so far."""
        self._rows = self._before = rows

    def build(self) -> Mapping[str, Delta]:
        return self.apply({})

    def apply(self, deltas: Mapping[str, Delta]) -> Mapping[str, Delta]:
        self._before = self._rows
        below = {name: Table(_plus(store.counts, deltas.get(name, {}))) for name, store in self._stores.items()}
        self._rows = {name: table.counts for name, table in fixpoint(self._views, below, self._limits).items()}
        differences = {name: _difference(rows, self._before[name]) for name, rows in self._rows.items()}
        return {name: difference for name, difference in differences.items() if difference}

    def settle(self) -> None:
        self._before = self._rows

    def undo(self) -> None:
        self._rows = self._before

    def counts(self, relation: str) -> Mapping[Row, int]:
        return MappingProxyType(self._rows[relation])


def _plus(counts: Mapping[Row, int], delta: Delta) -> Mapping[Row, int]:
    if not delta:
        return counts
    total = dict(counts)
    for row, change in delta.items():
        count = total.get(row, 0) + change
        if count:
            total[row] = count
        else:
            del total[row]
    return total


def _difference(after: Mapping[Row, int], before: Mapping[Row, int]) -> dict[Row, int]:
    difference = {row: 1 for row in after if row not in before}
    difference.update((row, -1) for row in before if row not in after)
    return difference
