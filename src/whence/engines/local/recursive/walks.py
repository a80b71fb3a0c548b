"""Maintenance in four walks: what loses its proof is dead; some of it is proved anew; what came back, and what is new,
carries on; and what is still dead is gone.

The walks are the same for all strategies that work on facts. They differ in what they keep on record, and in how far
death spreads.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Any

from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.recursive.bests import NO_VALUE
from whence.engines.local.recursive.facts import Derivation, Fact, Group, Head
from whence.engines.local.recursive.inputs import Change
from whence.engines.local.recursive.matching import Found, Matcher
from whence.engines.local.recursive.records import Records
from whence.engines.local.recursive.steps import Sources
from whence.engines.local.recursive.strategy import RestlessError, Strategy
from whence.engines.local.store import Store
from whence.engines.reference.fixpoint import Limits
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta

# A commit in which groups settle ever anew this often is not worth going on with.
MOST_WAVES = 30


class Walks(Strategy):
    """A group, which is what an aggregated relation has in place of facts, is dead when one of its best values is. It
    settles in the order of its value, through a priority queue, so that most groups settle once only. When it settles
    on another row than before, the former row dies, once everything else has come to rest: what was made from it has
    then been improved upon, and dies alone.
    """

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        stores: Mapping[str, Store],
        limits: Limits,
    ) -> None:
        super().__init__(component, relations, functions, stores, limits)
        self._records = Records(component.relations, stores, self._rules.bests, self._journal)
        kinds = sorted({bests.kind for bests in self._rules.bests.values()})
        self._lanes = {name: kinds.index(bests.kind) for name, bests in self._rules.bests.items()}
        # The rules whose every derivation is on record, by number.
        self._kept = [self.keeps(matcher) for matcher in self._rules.all]
        self._probed = {
            name: [matcher for matcher in matchers if not self._kept[matcher.number]]
            for name, matchers in self._rules.deriving.items()
        }
        self._start(stores, stores)

    @abstractmethod
    def keeps(self, matcher: Matcher) -> bool:
        """Whether every derivation by this rule is kept on record; otherwise they are searched for again."""

    @abstractmethod
    def broken(self, change: Change) -> Iterable[Head]:
        """The heads that a change of the input takes a derivation from."""

    @abstractmethod
    def above(self, fact: Fact) -> Iterable[Head]:
        """The heads that may rest on a fact which is dead."""

    @abstractmethod
    def body(self, matcher: Matcher, rows: Sequence[Row]) -> tuple[Fact, ...]:
        """The facts of a body, given its rows in the order of the text."""

    @abstractmethod
    def adopt(self, derivation: Derivation) -> None:
        """Its head rests on a derivation from now on."""

    @abstractmethod
    def release(self, derivation: Derivation) -> None:
        """Its head no longer rests on a derivation."""

    def _start(self, before: Sources, after: Sources) -> None:
        """A commit begins: nothing is dead, nothing is under way."""
        self._before: Sources = {**before, **self._own}
        self._after: Sources = {**after, **self._own}
        # What the last wave of deaths took, everything that may have to be buried, and the rows that are new.
        self._dead: list[Head] = []
        self._mortal: list[Head] = []
        self._fresh: list[Fact] = []
        self._deaths = 0
        self._superseded: list[Fact] = []
        self._queue: deque[Fact] = deque()
        self._heap: list[tuple[int, Any, int, Group]] = []
        self._ticket = count()

    def begin(self) -> Mapping[str, Delta]:
        self._start(self._inputs, self._inputs)
        for name, bests in self._rules.bests.items():
            if bests.always:
                self._wait(self._records.group(name, ()), 1)
        for matcher in self._rules.all:
            if not matcher.own:
                for found in matcher.all(self._after):
                    self._derive(matcher, found, 1)
        return self._finish()

    def follow(self, change: Change) -> Mapping[str, Delta]:
        self._start(change.before, change.after)
        self._kill(self.broken(change), [])
        # From now on a proof is looked for among what will be there.
        self._before = self._after
        for matcher, found in self._rules.gained(change, self._after):
            self._derive(matcher, found, 1)
        return self._finish()

    def _finish(self) -> Mapping[str, Delta]:
        waves = 0
        while True:
            self._reprove()
            self._spread()
            if not self._superseded:
                return self._bury()
            waves += 1
            if waves > MOST_WAVES:
                raise RestlessError
            superseded, self._superseded = self._superseded, []
            # A former row can have become the best again meanwhile.
            self._kill([], [fact for fact in superseded if not fact.alive])

    # Dead

    def _kill(self, heads: Iterable[Head], facts: Sequence[Fact]) -> None:
        """Let these heads die, and everything that may rest on them or on these facts, which are dead already."""
        self._dead = []
        todo = list(facts)
        for head in heads:
            self._die(head, todo)
        for fact in todo:
            for head in self.above(fact):
                self._die(head, todo)

    def _die(self, head: Head, todo: list[Fact]) -> None:
        if not head.alive:
            return
        self._deaths += 1
        self._dead.append(head)
        self._mortal.append(head)
        if isinstance(head, Fact):
            if head.live is not None:
                self.release(head.live)
            self._records.kill(head)
            todo.append(head)
            return
        for at, derivation in enumerate(head.chosen):
            if derivation is not None:
                self.release(derivation)
                self._records.choose(head, at, None)
        assert head.fact is not None
        self._records.kill(head.fact)
        self._mortal.append(head.fact)
        todo.append(head.fact)

    # Re-prove

    def _reprove(self) -> None:
        for head in self._dead:
            if isinstance(head, Fact):
                self._reprove_fact(head)
            else:
                for derivation in list(head.derivations.values()):
                    if derivation.holds:
                        self._offer(head, derivation, 1)
                for matcher in self._probed[head.relation]:
                    for found in matcher.backwards(head.key, self._after):
                        self._derive(matcher, found, 1)
                if self._rules.bests[head.relation].always:
                    self._wait(head, 1)

    def _reprove_fact(self, fact: Fact) -> None:
        if fact.alive:
            return
        for derivation in fact.derivations.values():
            if derivation.holds:
                self._offer(fact, derivation, 1)
                return
        for matcher in self._probed[fact.relation]:
            for found in matcher.backwards(fact.row, self._after):
                if self._derive(matcher, found, 1):
                    return

    # Spread

    def _spread(self) -> None:
        while self._queue or self._heap:
            if self._queue:
                fact = self._queue.popleft()
                if fact.alive:
                    self._carry_on(fact)
            else:
                self._settle(heappop(self._heap)[-1])

    def _carry_on(self, fact: Fact) -> None:
        """Derive what follows from a fact that is new, or has come back."""
        depth = fact.depth + 1
        places = self._rules.readers[fact.relation]
        if fact.row in self._own[fact.relation].counts:
            for derivation in list(fact.users):
                if derivation.holds:
                    self._offer(derivation.head, derivation, depth)
            places = [place for place in places if not self._kept[place[0].number]]
        else:
            self._add(fact.relation, fact.row)
            self._fresh.append(fact)
            if fact.live is not None:
                # Some of what has died may still be among the rows.
                self._brake.check_size(len(self._own[fact.relation].counts) - self._deaths, fact.live.rule.rule)
        for matcher, position in places:
            for found in matcher.through(position, fact.row, self._after):
                self._derive(matcher, found, depth)

    def _derive(self, matcher: Matcher, found: Found, depth: int) -> bool:
        """Take a way to satisfy a body into account; tell whether all of it is alive."""
        body = self.body(matcher, found.body)
        is_kept = self._kept[matcher.number]
        if not is_kept and not all(fact.alive for fact in body):
            # Whoever comes back will find it again.
            return False
        bests = self._rules.bests.get(matcher.relation)
        head: Head
        if bests is None:
            head = self._records.fact(matcher.relation, found.head)
            ranks: tuple[Any, ...] = ()
        else:
            head = self._records.group(matcher.relation, found.head)
            ranks = bests.ranks(found.values)
        if not head.alive:
            self._mortal.append(head)
        derivation = Derivation(matcher, head, body, found.values, ranks)
        if is_kept:
            known = head.derivations.get(derivation.key)
            if known is None:
                self._records.record(derivation)
            else:
                derivation = known
            if not derivation.holds:
                return False
        self._offer(head, derivation, depth)
        return True

    def _offer(self, head: Head, derivation: Derivation, depth: int) -> None:
        """A derivation that holds. A fact that is alive has no use for it, a group only if it is better."""
        if isinstance(head, Group):
            for at, rank in enumerate(derivation.ranks):
                best = head.chosen[at]
                if best is None or rank < best.ranks[at]:
                    if best is not None:
                        self.release(best)
                    self.adopt(derivation)
                    self._records.choose(head, at, derivation)
                    self._wait(head, depth)
        elif not head.alive:
            if depth > self._brake.depth:
                raise self._brake.too_deep(head.row, derivation.rule.rule)
            self.adopt(derivation)
            self._records.revive(head, derivation, depth)
            self._queue.append(head)

    def _wait(self, group: Group, depth: int) -> None:
        """The group's best values have changed: it settles when it is its turn."""
        best = group.chosen[0]
        group.depth = depth
        entry = (self._lanes[group.relation], NO_VALUE if best is None else best.ranks[0], next(self._ticket), group)
        heappush(self._heap, entry)

    def _settle(self, group: Group) -> None:
        bests = self._rules.bests[group.relation]
        chosen = [None if best is None else best.values[at] for at, best in enumerate(group.chosen)]
        row = bests.row(group.key, chosen)
        former = group.fact
        if former is not None and former.alive:
            if former.row == row:
                return
            self._records.kill(former)
            self._mortal.append(former)
            self._superseded.append(former)
        if group.depth > self._brake.depth:
            rule = next((best.rule for best in group.chosen if best), self._rules.deriving[group.relation][0])
            raise self._brake.too_deep(row, rule.rule)
        fact = self._records.fact(group.relation, row)
        self._records.revive(fact, None, group.depth)
        self._records.represent(group, fact)
        # It may be superseded yet.
        self._mortal.append(fact)
        self._queue.append(fact)

    # Gone

    def _bury(self) -> Mapping[str, Delta]:
        deltas: dict[str, dict[Row, int]] = {}
        fresh = set(self._fresh)
        for fact in self._fresh:
            if fact.alive:
                deltas.setdefault(fact.relation, {})[fact.row] = 1
        for head in self._mortal:
            if head.alive:
                continue
            if isinstance(head, Group):
                self._bury_group(head)
            elif self._records.facts[head.relation].get(head.row) is head:
                self._records.remove(head)
                if head.row in self._own[head.relation].counts:
                    self._remove(head.relation, head.row)
                    if head not in fresh:
                        deltas.setdefault(head.relation, {})[head.row] = -1
        for fact in self._fresh:
            if fact.live is not None:
                self._brake.check_size(len(self._own[fact.relation].counts), fact.live.rule.rule)
        return deltas

    def _bury_group(self, group: Group) -> None:
        if self._records.groups[group.relation].get(group.key) is group:
            self._records.remove(group)
