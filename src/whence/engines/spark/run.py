"""One try to follow a change of a recursive component in the driver, over rows that are paged in."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from heapq import heappop, heappush
from itertools import count
from typing import TypeAlias

from whence.engines.local.recursive.bests import NO_VALUE, Rank
from whence.engines.local.recursive.endless import Brake
from whence.engines.local.recursive.inputs import Change
from whence.engines.local.recursive.matching import Found, Matcher
from whence.engines.local.recursive.rules import Rules
from whence.engines.local.recursive.steps import Source
from whence.engines.local.store import Key, Store
from whence.engines.spark.paging import TooLargeError
from whence.engines.spark.supported import Support, Supported
from whence.model.types import Row, Value
from whence.model.updates import Delta

# Rows that may be there already are carried on before it is known, as soon as others have turned out to be new: for
# each of these so many, and no more than that in all. A wrong guess costs time for nothing, a right one saves a job.
GUESSES = 5
MOST_GUESSES = 5_000

# What a derivation rests on, given what the rows of the component in its body do.
SupportOf: TypeAlias = Callable[[Matcher, Found, Callable[[str, Row], Support]], Support]


class Run:
    """Kills what has lost its proof, looks for other proofs, and carries on what is new or came back.

    What follows from rows that were all there before the change was there as well: it is dead, or nothing new. So only
    what a gain has a part in is looked up.
    """

    def __init__(
        self,
        rules: Rules,
        own: Mapping[str, Supported],
        inputs: Mapping[str, Source],
        support_of: SupportOf,
        brake: Brake,
        change: Change | None = None,
    ) -> None:
        self._rules = rules
        self._support_of = support_of
        self._brake = brake
        kinds = sorted({bests.kind for bests in rules.bests.values()})
        self._lanes = {name: kinds.index(bests.kind) for name, bests in rules.bests.items()}
        self._gains = None if change is None else _Gains(rules, change)
        self._relations = {name: _Relation(state) for name, state in own.items()}
        self.after: dict[str, Source] = {
            **{name: Remembered(source) for name, source in inputs.items()},
            **self._relations,
        }
        self._groups: dict[tuple[str, Row], _Group] = {}
        self._dead_groups: set[tuple[str, Row]] = set()
        self._queue: deque[tuple[str, Row, int]] = deque()
        self._heap: list[tuple[int, Rank, int, str, Row]] = []
        self._ticket = count()
        self._guesses = 0
        self._guessed = 0

    def kill(self, relation: str, rows: Mapping[Row, Support]) -> None:
        self._relations[relation].dead.update(rows)
        bests = self._rules.bests.get(relation)
        if bests is not None:
            self._dead_groups.update((relation, bests.group(row)) for row in rows)

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
        elif not self._is_there(matcher, found):
            if depth > self._brake.depth:
                raise self._brake.too_deep(found.head, matcher.rule)
            relation = self._relations[name]
            relation.add(found.head, self._support_of(matcher, found, self._support))
            self._brake.check_size(len(relation.state.counts) + len(relation.new), matcher.rule)
            self._queue.append((name, found.head, depth))

    def _offer_to_group(self, matcher: Matcher, found: Found, depth: int) -> None:
        name = matcher.relation
        group = self._group(matcher, found)
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

    def _group(self, matcher: Matcher, found: Found) -> _Group | None:
        """The group of the head with what is known of it; None if the derivation is nothing new to it."""
        name, key = matcher.relation, found.head
        group = self._groups.get((name, key))
        if group is None:
            is_dead = (name, key) in self._dead_groups
            if not is_dead and self._was_there(matcher, found):
                return None
            bests = self._rules.bests[name]
            relation = self._relations[name]
            misses = relation.state.base.misses
            row, support = (None, ()) if is_dead else relation.state.row_of(bests.positions, key)
            if relation.state.base.misses == misses:
                self._guesses += GUESSES
            elif not self._may_guess():
                return None
            group = self._groups[name, key] = _Group(len(bests.positions))
            if row is not None:
                group.row = row
                group.values = [row[position] for position in bests.positions]
                group.ranks = list(bests.ranks(tuple(group.values)))
                group.supports = [support] * len(group.values)
        return group

    def _is_there(self, matcher: Matcher, found: Found) -> bool:
        relation = self._relations[matcher.relation]
        if found.head in relation.new:
            return True
        if found.head in relation.dead:
            return False
        if self._was_there(matcher, found):
            return True
        misses = relation.state.base.misses
        is_known = relation.state.get(found.head) is not None
        if relation.state.base.misses != misses:
            return not self._may_guess()
        if not is_known:
            self._guesses += GUESSES
        return is_known

    def _was_there(self, matcher: Matcher, found: Found) -> bool:
        """Whether the head must have been there before the change, since nothing in the body is a gain."""
        if self._gains is None or self._gains.have_part_in(matcher, found):
            return False
        return not self._gains or not any(
            self._relations[matcher.positive[at]].is_gain(found.body[at]) for at in matcher.own
        )

    def _may_guess(self) -> bool:
        self._guessed += 1
        return self._guessed <= min(self._guesses, MOST_GUESSES)

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


class _Gains:
    """What a change adds to the input: rows that appear, and keys that no row has any more."""

    def __init__(self, rules: Rules, change: Change) -> None:
        self._rows = {name: frozenset(rows) for name, rows in change.appeared.items()}
        self._absences = {matcher.number for name in change.vanished for matcher, _ in rules.absences[name]}

    def __bool__(self) -> bool:
        return bool(self._rows or self._absences)

    def have_part_in(self, matcher: Matcher, found: Found) -> bool:
        """Whether the derivation may be one that was none before; not counting the component's own rows."""
        if matcher.number in self._absences:
            return True
        return bool(self._rows) and any(
            row in self._rows.get(name, ()) for name, row in zip(matcher.positive, found.body, strict=True)
        )


class Remembered:
    """A relation below, which does not change during a try, and is asked for the same keys again and again."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._found: dict[tuple[tuple[int, ...], Key], Mapping[Row, int]] = {}

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        place = (positions, key)
        found = self._found.get(place)
        if found is None:
            found = self._found[place] = self._source.matching(positions, key)
        return found


class _Group:
    """Per aggregate the best value so far with its rank and support, and the row that they make."""

    __slots__ = ("depth", "ranks", "row", "supports", "values")

    def __init__(self, aggregates: int) -> None:
        self.values: list[Value] = [None] * aggregates
        self.ranks: list[Rank | None] = [None] * aggregates
        self.supports: list[Support] = [()] * aggregates
        self.row: Row | None = None
        self.depth = 0


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

    def is_gain(self, row: Row) -> bool:
        return row in self.new and row not in self.dead

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
