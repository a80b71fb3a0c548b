"""How a recursive component follows a change: delete, re-prove, spread, and what is still dead is gone.

The order of work is the same wherever the support of a row is kept: as derivations on record, as whole formulas, or as
flat sets beside rows that are paged in. Rows that are equally many steps away are carried on together. A group, which
is what a relation with a min or max has in place of rows, waits in a priority queue for the turn of its best value, so
that most groups settle once only: as in Dijkstra's algorithm, and as Ramalingam and Reps do it for graphs that change.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Any, Generic, Protocol, TypeVar

from whence.deadline import check
from whence.incremental.recursive.bests import NO_VALUE, Rank
from whence.incremental.recursive.convergence import ConvergenceLimit
from whence.incremental.recursive.matcher import BodyMatch, Matcher
from whence.incremental.recursive.rules import Place, RuleMatches, Rules
from whence.incremental.recursive.steps import InputChange, Sources
from whence.model.types import Row


class WaitingGroup:
    """The rows of an aggregated relation that share their group terms. `depth` and `rule` are of the last change."""

    __slots__ = ("depth", "key", "relation", "rule")

    def __init__(self, relation: str, key: Row) -> None:
        self.relation = relation
        self.key = key
        self.depth = 0
        self.rule: Matcher | None = None


# A row, as the strategy names it, and a group.
R = TypeVar("R")
G = TypeVar("G", bound=WaitingGroup)


class Fixpoint(ABC, Generic[R, G]):
    """The agenda of one component. What a strategy keeps of rows and groups, it says in the abstract methods."""

    def __init__(self, rules: Rules, limit: ConvergenceLimit) -> None:
        self._rules = rules
        self._limit = limit
        # The rules by which derivations are searched for backwards.
        self._probed: Mapping[str, Sequence[Matcher]] = rules.deriving
        # Groups whose values do not compare with each other take turns.
        kinds = sorted({bests.kind for bests in rules.bests.values()})
        self._lanes = {name: kinds.index(bests.kind) for name, bests in rules.bests.items()}
        self._restart({})

    @abstractmethod
    def derive(self, matcher: Matcher, matches: Sequence[BodyMatch], depth: int) -> Iterable[Row]:
        """Take matches of a rule into account, so many steps away; the heads of those whose whole body is there."""

    @abstractmethod
    def delete(self, change: InputChange) -> None:
        """Dead: what has lost its proof."""

    @abstractmethod
    def reprove(self) -> None:
        """Look for another derivation of what is dead, among what is not."""

    @abstractmethod
    def carry_on(self, rows: Sequence[R], depth: int) -> None:
        """Derive what follows from rows that are new, or have come back, so many steps away."""

    @abstractmethod
    def settle_group(self, group: G) -> None:
        """It is the group's turn: its best values make its row."""

    @abstractmethod
    def group(self, relation: str, key: Row) -> G:
        """The group with this key."""

    def gained(self, change: InputChange) -> Iterable[RuleMatches]:
        """The matches that a change brings."""
        return self._rules.gained(change, self._after)

    def _restart(self, after: Sources) -> None:
        """Nothing is under way; `after` are all relations as they are after the change."""
        self._after = after
        # The rows to be carried on next, which are all so many steps away.
        self._queue: list[R] = []
        self._depth = 1
        self._heap: list[tuple[int, Rank, int, G]] = []
        self._ticket = count()

    def _derive_all(self) -> None:
        """The component from scratch."""
        for name, bests in self._rules.bests.items():
            if bests.always:
                self._wait(self.group(name, ()), NO_VALUE, 1)
        for matcher in self._rules.all:
            if not matcher.own:
                for matches in matcher.in_batches(self._after):
                    self.derive(matcher, matches, 1)
        self._spread()

    def _follow(self, change: InputChange) -> None:
        """The component after a change."""
        self.delete(change)
        for matcher, matches in self.gained(change):
            self.derive(matcher, matches, 1)
        self.reprove()
        self._spread()

    def _probe(self, relation: str, keys: Iterable[Row], *, first_will_do: bool) -> None:
        """Search backwards for derivations: one of each row, all of each group."""
        wanted = dict.fromkeys(keys)
        for matcher in self._probed[relation]:
            for matches in matcher.backwards_all(wanted, self._after):
                proved = self.derive(matcher, matches, 1)
                if first_will_do:
                    for key in proved:
                        wanted.pop(key, None)

    def _spread(self) -> None:
        """Carry on what is new or came back, until nothing is left to do."""
        heap = self._heap
        while self._queue or heap:
            check()
            if self._queue:
                rows, self._queue = self._queue, []
                self.carry_on(rows, self._depth + 1)
            else:
                self.settle_group(heappop(heap)[-1])

    def _derive_from(self, places: Iterable[Place], rows: Sequence[Row], depth: int) -> None:
        """Derive what follows from rows of a relation at these places."""
        for matcher, position in places:
            for matches in matcher.through_all(position, rows, self._after):
                self.derive(matcher, matches, depth)

    def _wait(self, group: G, rank: Rank, depth: int, rule: Matcher | None = None) -> None:
        """The group's best values have changed: it settles when it is its turn."""
        group.depth, group.rule = depth, rule
        heappush(self._heap, (self._lanes[group.relation], rank, next(self._ticket), group))

    def _check_depth(self, group: G, row: Row) -> None:
        if group.depth > self._limit.depth:
            rule = group.rule or self._rules.deriving[group.relation][0]
            raise self._limit.too_deep(row, rule.rule)


class Candidate(Protocol):
    """A derivation that is offered: the rule, the arguments of its aggregates, and how these rank."""

    @property
    def rule(self) -> Matcher: ...

    @property
    def values(self) -> Row: ...

    @property
    def ranks(self) -> tuple[Rank, ...]: ...


D = TypeVar("D", bound=Candidate)


class BestGroup(WaitingGroup, Generic[D]):
    """`chosen` has per aggregate the derivation with the best value."""

    __slots__ = ("chosen",)

    def __init__(self, relation: str, key: Row, aggregates: int) -> None:
        super().__init__(relation, key)
        self.chosen: list[D | None] = [None] * aggregates

    @property
    def row(self) -> Row | None:
        """The row that stands for it."""
        raise NotImplementedError

    @property
    def rank(self) -> Rank:
        """When it is its turn."""
        best = self.chosen[0]
        return NO_VALUE if best is None else best.ranks[0]


B = TypeVar("B", bound=BestGroup[Any])


class LiveDerivations(Fixpoint[R, B], Generic[R, B, D]):
    """Lazy absorption: a row has one live derivation, a group one per aggregate, and no other is propagated."""

    @abstractmethod
    def enter(self, offers: Mapping[R, D], matcher: Matcher) -> None:
        """The rows are there, each by its derivation with this rule."""

    @abstractmethod
    def choose(self, group: B, at: int, derivation: D) -> None:
        """The derivation is the best one of a group for this aggregate."""

    @abstractmethod
    def replace(self, group: B, row: Row) -> R:
        """Another row stands for the group from now on, by the derivations that are chosen."""

    def settle_group(self, group: B) -> None:
        values = [None if best is None else best.values[at] for at, best in enumerate(group.chosen)]
        row = self._rules.bests[group.relation].row(group.key, values)
        if row != group.row:
            self._check_depth(group, row)
            self._queue.append(self.replace(group, row))
            self._depth = group.depth

    def _offer_rows(self, offers: Mapping[R, D], matcher: Matcher, example: Row, depth: int) -> None:
        """Derivations with a rule of rows that are not there, of which one has the values of `example`."""
        if depth > self._limit.depth:
            raise self._limit.too_deep(example, matcher.rule)
        self.enter(offers, matcher)
        self._queue += offers
        self._depth = depth

    def _offer_group(self, group: B, derivation: D, depth: int) -> None:
        """A derivation of a row of the group, which has use for it only if it is better."""
        chosen, is_better = group.chosen, False
        for at, rank in enumerate(derivation.ranks):
            best = chosen[at]
            if best is None or rank < best.ranks[at]:
                self.choose(group, at, derivation)
                is_better = True
        if is_better:
            self._wait(group, group.rank, depth, derivation.rule)


def over_delete(broken: Iterable[R], above: Callable[[R], Iterable[R]], mark_dead: Callable[[R], bool]) -> None:
    """Rows, and step by step all that may rest on them; `mark_dead` tells whether one was alive until then."""
    dead = [row for row in broken if mark_dead(row)]
    # It grows while it is read.
    for row in dead:
        dead += [other for other in above(row) if mark_dead(other)]
