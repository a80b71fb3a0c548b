"""The rows and groups of a view without recursion, over pages of what is stored of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from whence.engines.spark.group_values import MemberCopies, StoredCandidates, ValueOrder
from whence.engines.spark.payloads import Totals
from whence.engines.spark.state import AnnotatedRows, CountedRows
from whence.incremental.counting.counting import CountedView, Tally
from whence.incremental.counting.folds import ByValue, Collected, CopiesChange, Extreme, Fold, LinearFold, Values
from whence.incremental.counting.groups import BINDINGS, ROW, Change, Groups, State
from whence.model.rules import Rule
from whence.model.types import Row, Type
from whence.model.updates import Delta


@dataclass(frozen=True, slots=True)
class ViewOutcome:
    """What a change does to a view: the rows that readers see come and go, and what changes in its state.

    `counts` are those of its rows, `groups` and `members` those of its groups and of their values.
    """

    seen: Delta
    counts: Delta
    groups: Mapping[Row, Totals | None] = field(default_factory=dict)
    members: Mapping[int, Delta] = field(default_factory=dict)


class PagedView(CountedView, Protocol):
    def outcome(self) -> ViewOutcome: ...


class PagedTally(Tally):
    """The rows of a view without aggregates, with the number of derivations of each."""

    def __init__(self, state: CountedRows, rules: Sequence[Rule]) -> None:
        super().__init__(state.relation, rules)
        self._state = state

    def _settled(self) -> Mapping[Row, int]:
        return self._state.counts

    def outcome(self) -> ViewOutcome:
        seen = self.change()
        return ViewOutcome(seen, self._pending)


class PagedGroups(Groups):
    """The groups of a view with aggregates."""

    def stand_on(self, groups: AnnotatedRows[Totals], members: Mapping[int, CountedRows]) -> None:
        """Where the groups are, and the values of each as far as a fold keeps them."""
        self._stored = groups
        self._members = members
        self._orders = {
            number: ValueOrder(each.function, each.output)
            for number, each in enumerate(each for each in self._aggregates if each.fold is not None)
            if isinstance(each.fold, Extreme)
        }

    @property
    def folding(self) -> list[tuple[Fold, Type | None]]:
        """The folds, each with the type of what it adds up."""
        return [(each.fold, each.input) for each in self._aggregates if each.fold is not None]

    def kept_values(self) -> Iterator[tuple[int, Type]]:
        """The numbers of the folds that keep values, and the types of these."""
        for number, (fold, kind) in enumerate(self.folding):
            if isinstance(fold, ByValue | Collected | Extreme):
                assert kind is not None, "only count<*> has no argument, and it is no fold"
                yield number, kind

    def outcome(self) -> ViewOutcome:
        seen = self.change()
        groups: dict[Row, Totals | None] = {}
        members: dict[int, dict[Row, int]] = {}
        for key, change in self._changes.items():
            self._collect_members(key, change, members)
            groups[key] = self._totals(key, change)
        return ViewOutcome(seen, seen, groups, {number: delta for number, delta in members.items() if delta})

    def _expect(self, keys: Collection[Row]) -> None:
        self._stored.expect(keys)

    def _settled(self, key: Row) -> State | None:
        totals = self._stored.get(key)
        if totals is None:
            return None
        found = [*self._empty()]
        found[BINDINGS] = totals[0]
        for number, (at, fold) in enumerate(self._placed):
            parts = totals[1][number]
            match fold:
                case LinearFold():
                    found[at] = parts
                case ByValue():
                    _, kinds, count, total = parts
                    found[at] = Values(total, kinds, count, MemberCopies(self._members[number], key))
                case Collected():
                    found[at] = Values(None, copies=MemberCopies(self._members[number], key))
                case Extreme():
                    copies = MemberCopies(self._members[number], key)
                    found[at] = StoredCandidates(copies, self._orders[number], parts)
        found[ROW] = self._row(key, self._begin(tuple(found)))
        return tuple(found)

    def _collect_members(self, key: Row, change: Change, members: dict[int, dict[Row, int]]) -> None:
        for number, (at, fold) in enumerate(self._placed):
            if isinstance(fold, ByValue | Collected | Extreme):
                for value, copies in change[at].copies.items():
                    if copies:
                        members.setdefault(number, {})[(*key, value)] = copies

    def _totals(self, key: Row, change: Change) -> Totals | None:
        before = self._stored.get(key)
        found: list[tuple[Any, ...]] = []
        for number, (at, fold) in enumerate(self._placed):
            held = 0 if before is None else before[1][number][0]
            match fold:
                case LinearFold():
                    found.append(change[at])
                case ByValue():
                    found.append((held + _newly_held(change[at]), *fold.summary(change[at])))
                case Collected():
                    found.append((held + _newly_held(change[at]),))
                case Extreme():
                    found.append((held + _newly_held(change[at]), fold.result(change[at])))
        is_empty = not change[BINDINGS] and not any(parts[0] for parts in found)
        return None if key and is_empty else (change[BINDINGS], tuple(found))


def _newly_held(change: CopiesChange[Any]) -> int:
    """How many more values have copies than before."""
    copies = change.state.copies
    counts = [(copies.get(value, 0), difference) for value, difference in change.copies.items()]
    return sum(bool(before + difference) - bool(before) for before, difference in counts)
