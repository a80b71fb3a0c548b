"""Maintenance in four walks: what loses its proof is dead; some of it is proved anew; what came back, and what is new,
carries on; and what is still dead is gone.

The walks are the same for all strategies that work on facts. They differ in what they keep on record, and in how far
death spreads.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Mapping
from heapq import heappop, heappush
from itertools import count
from typing import Any

from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.recursive.bests import NO_VALUE
from whence.engines.local.recursive.facts import Derivation, Fact, Group, Head
from whence.engines.local.recursive.inputs import Change
from whence.engines.local.recursive.matching import Found, Matcher
from whence.engines.local.recursive.moving import moving_columns
from whence.engines.local.recursive.records import Records
from whence.engines.local.recursive.steps import Sources
from whence.engines.local.recursive.strategy import Strategy
from whence.engines.local.store import Store
from whence.engines.reference.fixpoint import Limits
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta
from whence.patience import check


class Walks(Strategy):
    """A group, which is what an aggregated relation has in place of facts, settles in the order of its value, through
    a priority queue, so that most groups settle once only. When it settles on a better row, the former one retires.

    Plain relations that hold a min or max lose the rows that came from a retired one, unless those have another reason
    to be there. Such rows are in doubt until everything else has come to rest.
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
        below = [*stores, *(pattern for matcher in self._rules.all for pattern in matcher.absences)]
        self._records = Records(component.relations, below, self._rules.bests, self._journal)
        self._following = {
            name for name, columns in moving_columns(component).items() if columns and name not in component.aggregated
        }
        kinds = sorted({bests.kind for bests in self._rules.bests.values()})
        self._lanes = {name: kinds.index(bests.kind) for name, bests in self._rules.bests.items()}
        # The rules whose every derivation is on record, by number; the others are probed backwards.
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
    def broken(self, change: Change) -> Iterable[Fact]:
        """The facts that may rest on what a change of the input takes away."""

    @abstractmethod
    def above(self, fact: Fact) -> Iterable[Fact]:
        """The facts that may rest on one which is dead."""

    @abstractmethod
    def followers(self, fact: Fact) -> Iterable[Head]:
        """The heads of derivations that need a fact to be visible."""

    @abstractmethod
    def body(self, matcher: Matcher, found: Found) -> tuple[Fact, ...]:
        """The facts that a way to satisfy a body consists of, as far as the strategy keeps them."""

    @abstractmethod
    def adopt(self, fact: Fact, proof: Iterable[Derivation]) -> None:
        """The fact is alive by these derivations."""

    @abstractmethod
    def release(self, fact: Fact) -> None:
        """The fact is dead."""

    @abstractmethod
    def retire(self, fact: Fact) -> None:
        """The fact is no longer visible, though it has its proof."""

    @abstractmethod
    def bury(self, fact: Fact) -> None:
        """The commit ends, and the fact is not visible."""

    def _start(self, before: Sources, after: Sources) -> None:
        """A commit begins: nothing is dead, nothing is under way."""
        self._before: Sources = {**before, **self._own}
        self._after: Sources = {**after, **self._own}
        self._dead: list[Head] = []
        # Everything that may have to be buried, and the facts that are new to their relation.
        self._mortal: list[Head] = []
        self._fresh: dict[Fact, None] = {}
        self._doubtful: list[Fact] = []
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
        self._kill(self.broken(change))
        for matcher, found in self._rules.gained(change, self._after):
            self._derive(matcher, found, 1)
        self._reprove()
        return self._finish()

    def _finish(self) -> Mapping[str, Delta]:
        self._spread()
        self._dispel()
        return self._bury()

    # Dead

    def _kill(self, facts: Iterable[Fact]) -> None:
        """Let these facts die, and everything that may rest on them."""
        todo: list[Fact] = []
        for fact in facts:
            self._die(fact, todo)
        for fact in todo:
            for other in self.above(fact):
                self._die(other, todo)

    def _die(self, fact: Fact, todo: list[Fact]) -> None:
        if not fact.alive:
            return
        group = fact.group
        if group is None:
            self._dead.append(fact)
        elif group.fact is fact:
            for at in range(len(group.chosen)):
                self._records.choose(group, at, None)
            self._dead.append(group)
            self._mortal.append(group)
        self.release(fact)
        self._records.kill(fact)
        self._mortal.append(fact)
        todo.append(fact)

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
        if fact.visible:
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
            check()
            if self._queue:
                fact = self._queue.popleft()
                if fact.visible:
                    self._carry_on(fact)
            else:
                self._settle(heappop(self._heap)[-1])

    def _carry_on(self, fact: Fact) -> None:
        """Derive what follows from a fact that is new, or has come back."""
        depth = fact.depth + 1
        places = self._rules.readers[fact.relation]
        rows = self._own[fact.relation].counts
        if fact.row in rows:
            for derivation in list(fact.users):
                if derivation.holds:
                    self._offer(derivation.head, derivation, depth)
            places = [place for place in places if not self._kept[place[0].number]]
        else:
            self._add(fact.relation, fact.row)
            self._fresh[fact] = None
            if fact.group is None:
                # Some of what has died may still be among the rows.
                self._brake.check_size(len(rows) - len(self._mortal), fact.proof[0].rule.rule)
        for matcher, position in places:
            for found in matcher.through(position, fact.row, self._after):
                self._derive(matcher, found, depth)

    def _derive(self, matcher: Matcher, found: Found, depth: int) -> bool:
        """Take a way to satisfy a body into account; tell whether all of it is visible."""
        body = self.body(matcher, found)
        is_kept = self._kept[matcher.number]
        if not is_kept and not all(fact.visible for fact in body):
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
        derivation = Derivation(matcher, head, body, found.values, ranks)
        if is_kept:
            known = head.derivations.get(derivation.key)
            if known is None:
                self._records.record(derivation)
            else:
                derivation = known
            if not derivation.holds:
                if not head.visible:
                    self._mortal.append(head)
                return False
        self._offer(head, derivation, depth)
        return True

    def _offer(self, head: Head, derivation: Derivation, depth: int) -> None:
        """A derivation that holds. A visible fact has no use for it, a group only if it is better."""
        if isinstance(head, Group):
            for at, rank in enumerate(derivation.ranks):
                best = head.chosen[at]
                if best is None or rank < best.ranks[at]:
                    self._records.choose(head, at, derivation)
                    self._wait(head, depth)
        elif not head.visible:
            if depth > self._brake.depth:
                raise self._brake.too_deep(head.row, derivation.rule.rule)
            self._appear(head, (derivation,), depth)

    def _appear(self, fact: Fact, proof: Iterable[Derivation], depth: int) -> None:
        if not fact.alive:
            # One that has retired keeps its proof: the new one may rest on it.
            self.adopt(fact, proof)
        self._records.show(fact, visible=True)
        fact.depth = depth
        self._queue.append(fact)

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
        if former is not None and former.visible:
            if former.row == row:
                return
            self._retire(former)
        proof = dict.fromkeys(best for best in group.chosen if best is not None)
        if group.depth > self._brake.depth:
            rule = next(iter(proof)).rule if proof else self._rules.deriving[group.relation][0]
            raise self._brake.too_deep(row, rule.rule)
        fact = self._records.fact(group.relation, row, group)
        self._records.represent(group, fact)
        self._appear(fact, proof, group.depth)

    # Doubt

    def _retire(self, fact: Fact) -> None:
        self._doubtful += self._in_doubt(self.followers(fact))
        self.retire(fact)
        self._mortal.append(fact)

    def _in_doubt(self, heads: Iterable[Head]) -> list[Fact]:
        """Of heads that lose a derivation, those that must have one whose body is visible."""
        if not self._following:
            return []
        return [head for head in heads if isinstance(head, Fact) and head.relation in self._following]

    def _dispel(self) -> None:
        # It grows on the way.
        for fact in self._doubtful:
            if fact.visible and not self._is_derived(fact):
                self._retire(fact)

    def _is_derived(self, fact: Fact) -> bool:
        return any(derivation.holds for derivation in fact.derivations.values()) or any(
            all(other.visible for other in self.body(matcher, found))
            for matcher in self._probed[fact.relation]
            for found in matcher.backwards(fact.row, self._after)
        )

    # Gone

    def _bury(self) -> Mapping[str, Delta]:
        deltas: dict[str, dict[Row, int]] = {}
        for fact in self._fresh:
            if fact.visible:
                deltas.setdefault(fact.relation, {})[fact.row] = 1
        # It grows on the way.
        for head in self._mortal:
            if head.visible:
                continue
            if isinstance(head, Fact):
                if head.row in self._own[head.relation].counts:
                    self._remove(head.relation, head.row)
                    if head not in self._fresh:
                        deltas.setdefault(head.relation, {})[head.row] = -1
                if self._records.facts[head.relation].get(head.row) is head:
                    self.bury(head)
                    if head.group is not None:
                        self._mortal.append(head.group)
            elif not head.versions and self._records.groups[head.relation].get(head.key) is head:
                self._records.remove(head)
        for fact in self._fresh:
            if fact.visible and fact.group is None:
                self._brake.check_size(len(self._own[fact.relation].counts), fact.proof[0].rule.rule)
        return deltas
