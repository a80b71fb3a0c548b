"""A non-recursive component over pages: the delta rules of the local engine, with counts and groups on the cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeAlias

from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.counting.extremes import Extreme
from whence.engines.local.counting.folds import ByValue, Fold, Linear
from whence.engines.local.counting.groups import BINDINGS, ROW, Change, Groups, State
from whence.engines.local.counting.rules import RuleDeltas
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
        for rule in self._rules:
            rule.apply(deltas)
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
        seen = self.change()
        groups: dict[Row, Totals | None] = {}
        members: dict[int, dict[Row, int]] = {}
        for key, change in self._changes.items():
            self._collect_members(key, change, members)
            groups[key] = self._totals(key, change)
        return Outcome(seen, seen, groups, {number: delta for number, delta in members.items() if delta})

    def _expect(self, keys: Collection[Row]) -> None:
        bare: list[Key] = [key[0] if len(key) == 1 else key for key in keys]
        positions = tuple(range(self._stored.relation.arity))
        self._stored.base.expect(positions, bare)
        for members in self._members.values():
            members.base.expect(positions, bare)

    def _settled(self, key: Row) -> State | None:
        totals = self._stored.get(key)
        positions = tuple(range(len(key)))
        bare = key[0] if len(key) == 1 else key
        # All of it is asked for before anything is missed.
        values = {number: members.matching(positions, bare) for number, members in self._members.items()}
        if totals is None:
            return None
        found = [*self._empty()]
        found[BINDINGS] = totals[0]
        linear = iter(totals[1])
        for number, (at, fold) in enumerate(self._placed):
            if isinstance(fold, Linear):
                found[at] = next(linear)
            else:
                kept = values[number]
                change = fold.begin(found[at])
                fold.add(change, [row[-1] for row in kept], list(kept.values()), range(len(kept)))
                found[at] = fold.settle(change)
        found[ROW] = self._row(key, self._begin(tuple(found)))
        return tuple(found)

    def _collect_members(self, key: Row, change: Change, members: dict[int, dict[Row, int]]) -> None:
        for number, (at, fold) in enumerate(self._placed):
            if isinstance(fold, ByValue | Extreme):
                for value, copies in change[at].copies.items():
                    if copies:
                        members.setdefault(number, {})[(*key, value)] = copies

    def _totals(self, key: Row, change: Change) -> Totals | None:
        linear = []
        is_empty = not change[BINDINGS]
        for at, fold in self._placed:
            if isinstance(fold, Linear):
                linear.append(change[at])
                is_empty = is_empty and fold.is_empty(change[at])
            else:
                is_empty = is_empty and not _remaining(change[at].state.copies, change[at].copies)
        return None if key and is_empty else (change[BINDINGS], tuple(linear))


def _remaining(copies: Mapping[Any, int], change: Mapping[Any, int]) -> bool:
    return any(count + change.get(value, 0) for value, count in copies.items()) or any(
        count for value, count in change.items() if value not in copies
    )
