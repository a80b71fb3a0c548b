"""A non-recursive component over pages: the delta rules of the local engine, with counts and groups on the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeAlias

from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.counting.extremes import Extreme
from whence.engines.local.counting.folds import ByValue, Fold, Linear
from whence.engines.local.counting.groups import Group, Groups
from whence.engines.local.counting.rules import RuleDeltas
from whence.engines.local.counting.sources import Change
from whence.engines.local.counting.tally import Tally
from whence.engines.local.counting.view import View
from whence.engines.local.store import Key, Readable
from whence.engines.spark.state import Counted, Known
from whence.incremental.body import Body
from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.model.types import Row, Type
from whence.model.updates import Delta

# Of a group: how many bindings it has, and for each of its linear folds how many values, and their total.
Totals: TypeAlias = tuple[int, tuple[tuple[int, Any], ...]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a change does to a view: the rows that readers see come and go, and what changes in its state.

    `counts` are those of its rows, `groups` and `members` those of its groups and of their values.
    """

    seen: Delta
    counts: Delta
    groups: Mapping[Row, Totals | None] = field(default_factory=dict)
    members: Mapping[int, Delta] = field(default_factory=dict)


class PagedView(View, Protocol):
    def outcome(self) -> Outcome: ...


class PagedCounting:
    """One relation and its rules. A try that misses rows changes nothing, and is made again when they are there."""

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        stores: Mapping[str, Readable],
        view: PagedView,
    ) -> None:
        self._stores = stores
        self._view = view
        self._rules = [
            RuleDeltas(body, functions, stores, partial(view.taker, number))
            for number, body in enumerate(bodies_of(component, relations, functions))
        ]

    def build(self) -> Outcome:
        """The view from nothing."""
        self._view.begin()
        for rule in self._rules:
            rule.build()
        return self._view.outcome()

    def apply(self, deltas: Mapping[str, Delta]) -> Outcome:
        """What becomes of the view."""
        self._view.begin()
        changes = {name: Change(self._stores[name], delta) for name, delta in deltas.items()}
        for rule in self._rules:
            rule.apply(changes)
        return self._view.outcome()


def bodies_of(component: Component, relations: Mapping[str, Relation], functions: Functions) -> list[Body]:
    signatures = {name: function.signature for name, function in functions.items()}
    return [Body(rule, relations, signatures) for rule in component.rules]


class PagedTally(Tally):
    """The rows of a view without aggregates, with the number of ways to derive each."""

    def __init__(self, state: Counted, rules: Sequence[Rule]) -> None:
        super().__init__(state.relation, rules)
        self._state = state

    def _settled(self) -> Mapping[Row, int]:
        return self._state.counts

    def outcome(self) -> Outcome:
        seen = self.change()
        return Outcome(seen, self._pending)


class PagedGroups(Groups):
    """The groups of a view with aggregates."""

    def stand_on(self, groups: Known[Totals], members: Mapping[int, Counted]) -> None:
        """Where the groups are, and the values of each as far as a fold keeps them."""
        self._stored = groups
        self._members = members

    @property
    def folding(self) -> list[tuple[Fold, Type | None]]:
        """The folds, each with the type of what it adds up."""
        return [(each.fold, each.input) for each in self._aggregates if each.fold is not None]

    def kept_values(self) -> Iterator[tuple[int, Type]]:
        """The numbers of the folds that keep values, and the types of these."""
        for number, (fold, kind) in enumerate(self.folding):
            if isinstance(fold, ByValue | Extreme):
                assert kind is not None, "only count<*> has no argument, and it is no fold"
                yield number, kind

    def outcome(self) -> Outcome:
        self._expect()
        seen = self.change()
        groups: dict[Row, Totals | None] = {}
        members: dict[int, dict[Row, int]] = {}
        for key, change in self._changes.items():
            state = self._settled(key) or self._empty()
            self._collect_members(key, change, members)
            groups[key] = self._totals(key, state, change)
        return Outcome(seen, seen, groups, {number: delta for number, delta in members.items() if delta})

    def _expect(self) -> None:
        """All groups that change are going to be looked up."""
        keys: list[Key] = [group[0] if len(group) == 1 else group for group in self._changes]
        positions = tuple(range(self._stored.relation.arity))
        self._stored.expect(positions, keys)
        for members in self._members.values():
            members.expect(positions, keys)

    def _settled(self, group: Row) -> Group | None:
        totals = self._stored.get(group)
        positions = tuple(range(len(group)))
        key = group[0] if len(group) == 1 else group
        # All of it is asked for before anything is missed.
        values = {number: members.matching(positions, key) for number, members in self._members.items()}
        if totals is None:
            return None
        found = self._empty()
        found.bindings = totals[0]
        linear = iter(totals[1])
        for number, fold in enumerate(self._folds):
            if isinstance(fold, Linear):
                found.folded[number][:] = next(linear)
            else:
                change = fold.empty()
                for row, copies in values[number].items():
                    fold.add(change, row[-1], copies)
                fold.settle(found.folded[number], change)
        found.row = self._row(group, found, self._empty())
        return found

    def _collect_members(self, key: Row, change: Group, members: dict[int, dict[Row, int]]) -> None:
        for number, fold in enumerate(self._folds):
            if isinstance(fold, ByValue | Extreme):
                for value, copies in change.folded[number].copies.items():
                    if copies:
                        members.setdefault(number, {})[(*key, value)] = copies

    def _totals(self, key: Row, state: Group, change: Group) -> Totals | None:
        bindings = state.bindings + change.bindings
        linear = []
        is_empty = not bindings
        for number, fold in enumerate(self._folds):
            if isinstance(fold, Linear):
                merged = [*state.folded[number]]
                fold.settle(merged, change.folded[number])
                linear.append((merged[0], merged[1]))
                is_empty = is_empty and not merged[0]
            else:
                is_empty = is_empty and not _remaining(state.folded[number].copies, change.folded[number].copies)
        return None if key and is_empty else (bindings, tuple(linear))


def _remaining(copies: Mapping[Any, int], change: Mapping[Any, int]) -> bool:
    return any(count + change.get(value, 0) for value, count in copies.items()) or any(
        count for value, count in change.items() if value not in copies
    )
