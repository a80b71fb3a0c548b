"""Proofs of rows of a recursive view whose maintenance keeps none.

`ProofSearch` searches backwards, nearest rows first. A row of a recursion may follow from itself, which proves nothing.
So rows are opened breadth first, and one counts as proved once some use of a rule rests on rows from below and on
proved rows only. What is opened is what lies behind the row, up to the depth of its lowest proof; the view is not
derived again.

`Replay` proves a min or max that rests on former values. Around a cycle a value can improve, through others, until it
can improve no more: `least(v + 1, 8)` ends at 8, and the 8 then follows from itself. It came about from a 7, which is
no row any more. Such proofs are found by letting the values of the groups behind a row improve again from scratch, and
recording what each one came from.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from whence.engines.engine import Derivation, Readable
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.reasons import Fact, facts_of
from whence.incremental.recursive.bests import Bests, Rank
from whence.incremental.recursive.matcher import BodyMatch, Matcher
from whence.incremental.store import Store
from whence.model.graphs import reached
from whence.model.types import Row, Value

# So many rows are opened together.
_TOGETHER = 500


class ProofSearch:
    """Proofs of rows of one recursive component. What is proved for one question stays proved for the next."""

    def __init__(self, backwards: Backwards, most: Callable[[], bool]) -> None:
        """`most` tells whether a limit has been reached, every time a row is opened."""
        self._backwards = backwards
        self._most = most
        self.proved: dict[Fact, tuple[Derivation, ...]] = {}
        self._opened: set[Fact] = set()
        # Uses of rules that still rest on rows which are not proved, by such a row.
        self._waiting: dict[Fact, list[_Open]] = {}
        # Of each component, rows that were next when a proof was found: one that was opened may still need them.
        self._left: dict[tuple[str, ...], list[Fact]] = {}

    def prove(self, fact: Fact, inside: tuple[str, ...]) -> bool:
        """Whether there is a proof, which is then in `proved` with everything that it rests on."""
        layer = [fact, *self._left.pop(inside, ())]
        while layer and fact not in self.proved:
            fresh = [each for each in dict.fromkeys(layer) if each not in self._opened and each not in self.proved]
            self._opened.update(fresh)
            layer = []
            for part in _pieces(fresh):
                for opened, goals in zip(part, self._gathered(part), strict=True):
                    layer += self._open(opened, goals, inside)
                    if self._most():
                        return fact in self.proved
        self._left[inside] = layer
        return fact in self.proved

    def _open(self, fact: Fact, goals: list[list[Derivation]], inside: Collection[str]) -> list[Fact]:
        """Note all uses of rules that the row follows from, and return the rows that these rest on."""
        met = _Goal(fact, [None] * len(goals))
        needed: dict[Fact, None] = {}
        for place, derivations in enumerate(goals):
            for derivation in derivations:
                missing = {each for each in facts_of(derivation) if each[0] in inside and each not in self.proved}
                use = _Open(derivation, met, place, missing)
                if not missing:
                    self._done(use)
                    break
                for each in missing:
                    self._waiting.setdefault(each, []).append(use)
                needed.update(dict.fromkeys(missing))
        return list(needed)

    def _gathered(self, facts: Sequence[Fact]) -> list[list[list[Derivation]]]:
        return self._backwards.evidence.gather(lambda: [*map(self._goals, facts)])

    def _goals(self, fact: Fact) -> list[list[Derivation]]:
        """What is to be found: one use of a rule, or one member with the value for each min and max."""
        if self._backwards.is_aggregated(fact[0]):
            return [list(derivations) for derivations in self._backwards.witnesses(fact)]
        return [list(self._backwards.derivations(fact))]

    def _done(self, use: _Open) -> None:
        # In the order in which they became ready, so that the lowest proof is found first.
        ready = deque([use])
        while ready:
            here = ready.popleft()
            goal = here.goal
            if goal.fact in self.proved or goal.found[here.place] is not None:
                continue
            goal.found[here.place] = here.derivation
            if None in goal.found:
                continue
            self.proved[goal.fact] = tuple([derivation for derivation in goal.found if derivation is not None])
            for waiting in self._waiting.pop(goal.fact, ()):
                waiting.missing.discard(goal.fact)
                if not waiting.missing:
                    ready.append(waiting)


@dataclass(slots=True)
class _Goal:
    """A row that is to be proved, and what was found for each of its values."""

    fact: Fact
    found: list[Derivation | None]


@dataclass(slots=True)
class _Open:
    """A use of a rule whose rows are not all proved yet."""

    derivation: Derivation
    goal: _Goal
    place: int
    missing: set[Fact]


def _pieces(facts: Sequence[Fact]) -> Iterator[Sequence[Fact]]:
    """So few at a time that a limit is noticed."""
    return (facts[at : at + _TOGETHER] for at in range(0, len(facts), _TOGETHER))


def under(proved: Mapping[Fact, tuple[Derivation, ...]], root: Fact) -> dict[Fact, tuple[Derivation, ...]]:
    """The part of what is proved that a row rests on."""
    below = reached([root], lambda fact: chain.from_iterable(map(facts_of, proved.get(fact, ()))))
    return {fact: proved[fact] for fact in below if fact in proved}


class Replay:
    """One row of a recursive component and what it rests on, derived from scratch."""

    def __init__(self, backwards: Backwards, root: Fact, basis: Mapping[str, Readable] | None = None) -> None:
        """With a `basis`, these rows are all that is joined, and everything that follows from them is looked at."""
        self._backwards = backwards
        self._root = root
        own = backwards.component[root[0]].relations
        self._own = {name: Store() for name in own}
        self._bests = {name: backwards.bests(name) for name in own if backwards.is_aggregated(name)}
        self._basis = basis
        self._sources: dict[str, Readable] = {**backwards.sources, **(basis or {}), **self._own}
        # Of each group and aggregate, the best value so far and what it came from.
        self._groups: dict[Fact, list[tuple[Rank, Value, Derivation] | None]] = {}
        self._rows: dict[Fact, Row] = {}
        self.proved: dict[Fact, tuple[Derivation, ...]] = {}

    def prove(self, is_over: Callable[[], bool]) -> None:
        """Go on until the row has come about, or until it is over. What has is in `proved`."""
        behind = None if self._basis is not None else self._behind(is_over)
        todo: deque[Fact] = deque()
        for matcher, found in self._starting(behind):
            todo.extend(self._take(matcher, found))
        while todo and self._root not in self.proved and not is_over():
            fact = todo.popleft()
            if self._own[fact[0]].counts.get(fact[1]):
                for matcher, found in self._following(fact):
                    if self._is_behind(matcher, found, behind):
                        todo.extend(self._take(matcher, found))

    def _behind(self, is_over: Callable[[], bool]) -> set[Fact]:
        """The groups that the row rests on as things are now; what they were made of before is in the same groups."""
        found: set[Fact] = set()
        todo = [self._root]
        while todo and not is_over():
            relation, row = todo.pop()
            group = (relation, self._bests[relation].group(row) if relation in self._bests else row)
            if group not in found:
                found.add(group)
                needs = chain.from_iterable(map(facts_of, self._backwards.derivations((relation, row))))
                todo.extend(need for need in needs if need[0] in self._own)
        return found

    def _starting(self, behind: set[Fact] | None) -> Iterator[tuple[Matcher, BodyMatch]]:
        """Uses of rules that rest on rows from below alone."""
        for name in self._own:
            for matcher in self._backwards.matchers(name):
                if any(each in self._own for each in matcher.positive):
                    continue
                if behind is None:
                    yield from ((matcher, found) for found in matcher.all(self._sources))
                    continue
                for relation, group in behind:
                    if relation == name:
                        yield from ((matcher, found) for found in matcher.backwards(group, self._sources))

    def _is_behind(self, matcher: Matcher, found: BodyMatch, behind: set[Fact] | None) -> bool:
        # Rows without aggregates may have held values that are no more.
        return behind is None or matcher.relation not in self._bests or (matcher.relation, found.head) in behind

    def _following(self, fact: Fact) -> Iterator[tuple[Matcher, BodyMatch]]:
        """Uses of rules that take the row somewhere, listed before they change anything."""
        uses: list[tuple[Matcher, BodyMatch]] = []
        for name in self._own:
            for matcher in self._backwards.matchers(name):
                for place, relation in enumerate(matcher.positive):
                    if relation == fact[0]:
                        uses += [(matcher, found) for found in matcher.through(place, fact[1], self._sources)]
        return iter(uses)

    def _take(self, matcher: Matcher, found: BodyMatch) -> Iterator[Fact]:
        """The row that a use of a rule gives, if it is new or better."""
        derivation = Derivation(matcher.rule, found.body)
        relation = matcher.relation
        bests = self._bests.get(relation)
        if bests is None:
            fact = (relation, found.head)
            if fact not in self.proved:
                self.proved[fact] = (derivation,)
                self._own[relation].apply({found.head: 1})
                yield fact
            return
        if self._improve((relation, found.head), bests, found, derivation):
            chosen = [best for best in self._groups[relation, found.head] if best is not None]
            row = bests.row(found.head, [value for _, value, _ in chosen])
            old = self._rows.get((relation, found.head))
            if old is not None:
                self._own[relation].apply({old: -1})
            self._own[relation].apply({row: 1})
            self._rows[relation, found.head] = row
            self.proved.setdefault((relation, row), tuple([use for _, _, use in chosen]))
            yield relation, row

    def _improve(self, group: Fact, bests: Bests, found: BodyMatch, derivation: Derivation) -> bool:
        known = self._groups.setdefault(group, [None] * len(bests.positions))
        improved = False
        for at, (rank, value) in enumerate(zip(bests.ranks(found.values), found.values, strict=True)):
            best = known[at]
            if best is None or rank < best[0]:
                known[at] = rank, value, derivation
                improved = True
        return improved
