"""Proofs of a min or max that rest on values of long ago.

Around a cycle a value can improve, by way of others, until it can improve no more: `least(v + 1, 8)` ends at 8, and the
8 then follows from itself. It came about from a 7, which is no row any more. Such proofs are found by letting the
values of the groups behind a row improve once more from nothing, and taking down what each one came from.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import chain

from whence.engines.evidence import Derivation, Readable
from whence.engines.local.recursive.bests import Bests, Rank
from whence.engines.local.recursive.matching import Found, Matcher
from whence.engines.local.store import Store
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.reasons import Fact, facts_of
from whence.model.types import Row, Value


class Replay:
    """One row of a recursive component and what it rests on, from nothing."""

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
                needs = chain.from_iterable(map(facts_of, self._backwards.ways((relation, row))))
                todo.extend(need for need in needs if need[0] in self._own)
        return found

    def _starting(self, behind: set[Fact] | None) -> Iterator[tuple[Matcher, Found]]:
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

    def _is_behind(self, matcher: Matcher, found: Found, behind: set[Fact] | None) -> bool:
        # Rows without aggregates may have held values that are no more.
        return behind is None or matcher.relation not in self._bests or (matcher.relation, found.head) in behind

    def _following(self, fact: Fact) -> Iterator[tuple[Matcher, Found]]:
        """Uses of rules that take the row somewhere, listed before they change anything."""
        uses: list[tuple[Matcher, Found]] = []
        for name in self._own:
            for matcher in self._backwards.matchers(name):
                for place, relation in enumerate(matcher.positive):
                    if relation == fact[0]:
                        uses += [(matcher, found) for found in matcher.through(place, fact[1], self._sources)]
        return iter(uses)

    def _take(self, matcher: Matcher, found: Found) -> Iterator[Fact]:
        """The row that a use of a rule gives, if it is new or better."""
        way = Derivation(matcher.rule, found.body)
        relation = matcher.relation
        bests = self._bests.get(relation)
        if bests is None:
            fact = (relation, found.head)
            if fact not in self.proved:
                self.proved[fact] = (way,)
                self._own[relation].apply({found.head: 1})
                yield fact
            return
        if self._improve((relation, found.head), bests, found, way):
            chosen = [best for best in self._groups[relation, found.head] if best is not None]
            row = bests.row(found.head, [value for _, value, _ in chosen])
            old = self._rows.get((relation, found.head))
            if old is not None:
                self._own[relation].apply({old: -1})
            self._own[relation].apply({row: 1})
            self._rows[relation, found.head] = row
            self.proved.setdefault((relation, row), tuple([use for _, _, use in chosen]))
            yield relation, row

    def _improve(self, group: Fact, bests: Bests, found: Found, way: Derivation) -> bool:
        known = self._groups.setdefault(group, [None] * len(bests.positions))
        improved = False
        for at, (rank, value) in enumerate(zip(bests.ranks(found.values), found.values, strict=True)):
            best = known[at]
            if best is None or rank < best[0]:
                known[at] = rank, value, way
                improved = True
        return improved
