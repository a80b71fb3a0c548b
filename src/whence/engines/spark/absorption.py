"""Lazy absorption with flat supports: every row of a recursive component carries the input that its proof rests on.

A walk from body to head, as the local engine does it, would be one job a step here. With the whole support beside the
row, one job finds everything that a change of the input breaks, whatever the depth; what could prove it again is paged
in, and the rest happens in the driver.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import heappop, heappush
from itertools import count
from typing import Any

from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.recursive.bests import NO_VALUE, Rank
from whence.engines.local.recursive.endless import Brake
from whence.engines.local.recursive.inputs import Change, change_of
from whence.engines.local.recursive.matching import Found, Matcher
from whence.engines.local.recursive.moving import moving_columns, unfounded
from whence.engines.local.recursive.rules import Rules
from whence.engines.local.store import Key, Readable, Store
from whence.engines.reference.fixpoint import Limits
from whence.engines.spark.paging import TooLargeError
from whence.engines.spark.supported import Support, Supported
from whence.engines.spark.tuple_ids import UNPROVED, absence_ids, row_ids
from whence.model.schema import Relation
from whence.model.types import Row, Value
from whence.model.updates import Delta

# Up to so many rows that may be there already are carried on before it is known: a wrong guess costs memory for a
# moment, a right one saves a job.
GUESSES = 5_000

# A component of more rows than this is built on the cluster.
BUILT_HERE = 20_000


class RebuildError(Exception):
    """The component cannot follow this change row by row, and is to be derived anew."""


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
    """One recursive component. A try that misses rows changes nothing, and is made again when they are there."""

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
        kinds = sorted({bests.kind for bests in self._rules.bests.values()})
        self._lanes = {name: kinds.index(bests.kind) for name, bests in self._rules.bests.items()}

    def build(self) -> Run:
        """The component's rows from nothing."""
        run = Run(self._rules, self._own, self._stores, self.support_of, self._lanes, self._brake)
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
            raise RebuildError
        run = Run(self._rules, self._own, change.after, self.support_of, self._lanes, self._brake)
        lost = self._lost(change)
        if lost:
            for name, own in self._own.items():
                dead = own.resting_on(lost | {UNPROVED})
                if any(UNPROVED in support for support in dead.values()):
                    raise RebuildError
                run.kill(name, dead)
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
                if UNPROVED in support:
                    raise RebuildError
            else:
                support.add(self._ids[name](row))
        for pattern, key in zip(matcher.absences, found.absent, strict=True):
            support.add(self._absence_ids[pattern](key))
        return tuple(sorted(support))

    def _lost(self, change: Change) -> frozenset[int]:
        """The part of the input that is no longer so."""
        rows = (self._ids[name](row) for name, rows in change.vanished.items() for row in rows)
        absences = (self._absence_ids[pattern](key) for pattern, key in self._rules.refuted(change))
        return frozenset((*rows, *absences))


class _Group:
    """Per aggregate the best value so far with its rank and support, and the row that they make."""

    __slots__ = ("depth", "ranks", "row", "supports", "values")

    def __init__(self, aggregates: int) -> None:
        self.values: list[Value] = [None] * aggregates
        self.ranks: list[Rank | None] = [None] * aggregates
        self.supports: list[Support] = [()] * aggregates
        self.row: Row | None = None
        self.depth = 0


class Run:
    """One try to follow a change."""

    def __init__(
        self,
        rules: Rules,
        own: Mapping[str, Supported],
        inputs: Mapping[str, Any],
        support_of: Callable[[Matcher, Found, Callable[[str, Row], Support]], Support],
        lanes: Mapping[str, int],
        brake: Brake,
    ) -> None:
        self._rules = rules
        self._own = own
        self._support_of = support_of
        self._lanes = lanes
        self._brake = brake
        self._relations = {name: _Relation(state) for name, state in own.items()}
        self.after: dict[str, Any] = {**inputs, **self._relations}
        self._groups: dict[tuple[str, Row], _Group] = {}
        self._queue: deque[tuple[str, Row, int]] = deque()
        self._heap: list[tuple[int, Rank, int, str, Row]] = []
        self._ticket = count()
        self._guesses = GUESSES

    def kill(self, relation: str, rows: Mapping[Row, Support]) -> None:
        self._relations[relation].dead.update(rows)

    def reprove(self) -> None:
        """Look for another derivation of what is dead, among what is not."""
        for name, relation in self._relations.items():
            bests = self._rules.bests.get(name)
            for row in relation.dead:
                head = row if bests is None else bests.group(row)
                self._reprove(name, head, first_will_do=bests is None)

    def _reprove(self, name: str, head: Row, *, first_will_do: bool) -> None:
        for matcher in self._rules.deriving[name]:
            for found in matcher.backwards(head, self.after):
                self.offer(matcher, found, 1)
                if first_will_do:
                    return

    def spread(self, most: int | None = None) -> None:
        """Carry on what is new or came back, groups in the order of their value; no more than so many, if given."""
        steps = 0
        while self._queue or self._heap:
            if self._queue:
                steps += 1
                if most is not None and steps > most:
                    raise TooLargeError
                name, row, depth = self._queue.popleft()
                if row in self._relations[name].new:
                    for matcher, position in self._rules.readers[name]:
                        for found in matcher.through(position, row, self.after):
                            self.offer(matcher, found, depth + 1)
            else:
                *_, name, key = heappop(self._heap)
                self._settle(name, key)

    def offer(self, matcher: Matcher, found: Found, depth: int) -> None:
        """A way to derive a head. A row that is there has no use for it, a group only if it is better."""
        name = matcher.relation
        if name in self._rules.bests:
            self._offer_to_group(matcher, found, depth)
        elif not self._is_there(name, found.head):
            if depth > self._brake.depth:
                raise self._brake.too_deep(found.head, matcher.rule)
            relation = self._relations[name]
            relation.add(found.head, self._support_of(matcher, found, self._support))
            self._brake.check_size(len(relation.state.counts) + len(relation.new), matcher.rule)
            self._queue.append((name, found.head, depth))

    def _offer_to_group(self, matcher: Matcher, found: Found, depth: int) -> None:
        name = matcher.relation
        group = self._group(name, found.head)
        if group is None:
            return
        support: Support | None = None
        for at, rank in enumerate(self._rules.bests[name].ranks(found.values)):
            best = group.ranks[at]
            if best is None or rank < best:
                if support is None:
                    support = self._support_of(matcher, found, self._support)
                group.values[at], group.ranks[at], group.supports[at] = found.values[at], rank, support
        if support is not None:
            if depth > self._brake.depth:
                raise self._brake.too_deep(self._rules.bests[name].row(found.head, group.values), matcher.rule)
            group.depth = depth
            heappush(
                self._heap,
                (self._lanes[name], group.ranks[0] or NO_VALUE, next(self._ticket), name, found.head),
            )

    def _settle(self, name: str, key: Row) -> None:
        group = self._groups[name, key]
        relation = self._relations[name]
        row = self._rules.bests[name].row(key, group.values)
        if row == group.row:
            return
        if group.row is not None:
            relation.replace(group.row)
        group.row = row
        relation.add(row, tuple(sorted(set().union(*group.supports))))
        self._queue.append((name, row, group.depth))

    def _group(self, name: str, key: Row) -> _Group | None:
        """The group with what is known of it; None if that is nothing, and it is not to be guessed."""
        group = self._groups.get((name, key))
        if group is None:
            bests = self._rules.bests[name]
            relation = self._relations[name]
            misses = relation.state.base.misses
            row, support = relation.row_of(bests.positions, key)
            if relation.state.base.misses != misses and not self._may_guess():
                return None
            group = self._groups[name, key] = _Group(len(bests.positions))
            if row is not None:
                group.row = row
                group.values = [row[position] for position in bests.positions]
                group.ranks = list(bests.ranks(tuple(group.values)))
                group.supports = [support] * len(group.values)
        return group

    def _is_there(self, name: str, row: Row) -> bool:
        relation = self._relations[name]
        if row in relation.new:
            return True
        if row in relation.dead:
            return False
        misses = relation.state.base.misses
        found = relation.state.get(row) is not None
        if relation.state.base.misses != misses:
            return not self._may_guess()
        return found

    def _may_guess(self) -> bool:
        self._guesses -= 1
        return self._guesses >= 0

    def _support(self, name: str, row: Row) -> Support:
        return self._relations[name].support(row)

    def deltas(self) -> dict[str, Delta]:
        """What changes for those who read the component."""
        found: dict[str, Delta] = {}
        for name, relation in self._relations.items():
            came = {row: 1 for row in relation.new if row not in relation.dead and row not in relation.replaced}
            went = dict.fromkeys(relation.gone(), -1)
            if came or went:
                found[name] = {**went, **came}
        return found

    def changes(self) -> dict[str, dict[Row, Support | None]]:
        """What changes in the component's state, supports included."""
        return {
            name: {**dict.fromkeys(relation.gone()), **relation.new}
            for name, relation in self._relations.items()
            if relation.new or relation.dead or relation.replaced
        }


class _Relation:
    """A relation of the component during a try: as it was, without what is dead or replaced, with what is new."""

    def __init__(self, state: Supported) -> None:
        self.state = state
        self.dead: dict[Row, Support] = {}
        self.replaced: set[Row] = set()
        self.new: dict[Row, Support] = {}
        self._found: dict[Row, Support] = {}
        self._index = Store()

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        rows = dict(self._index.matching(positions, key))
        for row, support in self.state.find(positions, key).items():
            if row not in self.dead and row not in self.replaced and row not in self.new:
                self._found[row] = support
                rows[row] = 1
        return rows

    def row_of(self, aggregates: Iterable[int], group: Row) -> tuple[Row | None, Support]:
        """The row of a group and its support, unless it is dead; `aggregates` are the other positions."""
        others = set(aggregates)
        positions = tuple(at for at in range(self.state.relation.arity) if at not in others)
        key: Key = group[0] if len(group) == 1 else group
        for row, support in self.state.find(positions, key).items():
            if row not in self.dead:
                return row, support
        return None, ()

    def add(self, row: Row, support: Support) -> None:
        if row not in self.new:
            self._index.apply({row: 1})
        self.new[row] = support

    def replace(self, row: Row) -> None:
        """A better row has come for its group."""
        if row in self.new:
            del self.new[row]
            self._index.apply({row: -1})
        else:
            self.replaced.add(row)

    def support(self, row: Row) -> Support:
        return self.new[row] if row in self.new else self._found[row]

    def gone(self) -> Iterator[Row]:
        return (row for row in (*self.dead, *self.replaced) if row not in self.new)
