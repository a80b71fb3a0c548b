"""Proofs of rows of a recursive view whose maintenance keeps none: a search backwards, nearest rows first.

A row of a recursion may follow from itself, which proves nothing. So rows are opened breadth first, and one counts as
proved once some use of a rule rests on rows from below and on proved rows only. What is opened is what lies behind the
row, up to the depth of its lowest proof; the view is not derived again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain

from whence.engines.evidence import Derivation
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.reasons import Fact, facts_of

# So many rows are opened together.
_TOGETHER = 500


class Search:
    """Proofs of rows of one recursive component. What is proved for one question stays proved for the next."""

    def __init__(self, backwards: Backwards, most: Callable[[], bool]) -> None:
        """`most` tells whether a limit has been reached, every time a row is opened."""
        self._backwards = backwards
        self._most = most
        self.proved: dict[Fact, tuple[Derivation, ...]] = {}
        self._opened: set[Fact] = set()
        # Uses of rules that still rest on rows which are not proved, by such a row.
        self._waiting: dict[Fact, list[_Open]] = {}

    def prove(self, fact: Fact, inside: Collection[str]) -> bool:
        """Whether there is a proof, which is then in `proved` with everything that it rests on."""
        layer = [fact]
        while layer and fact not in self.proved:
            fresh = [each for each in dict.fromkeys(layer) if each not in self._opened and each not in self.proved]
            self._opened.update(fresh)
            layer = []
            for part in _pieces(fresh):
                for opened, goals in zip(part, self._gathered(part), strict=True):
                    layer += self._open(opened, goals, inside)
                    if self._most():
                        return fact in self.proved
        return fact in self.proved

    def _open(self, fact: Fact, goals: list[list[Derivation]], inside: Collection[str]) -> list[Fact]:
        """Note all uses of rules that the row follows from, and return the rows that these rest on."""
        met = _Goal(fact, len(goals))
        needed: dict[Fact, None] = {}
        for place, ways in enumerate(goals):
            for way in ways:
                own = dict.fromkeys(each for each in facts_of(way) if each[0] in inside)
                missing = {each for each in own if each not in self.proved}
                use = _Open(way, met, place, missing)
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
            return [list(ways) for ways in self._backwards.witnesses(fact)]
        return [list(self._backwards.ways(fact))]

    def _done(self, use: _Open) -> None:
        # In the order in which they became ready, so that the lowest proof is found first.
        ready = deque([use])
        while ready:
            here = ready.popleft()
            goal = here.goal
            if goal.fact in self.proved or goal.found[here.place] is not None:
                continue
            goal.found[here.place] = here.way
            if None in goal.found:
                continue
            self.proved[goal.fact] = tuple([way for way in goal.found if way is not None])
            for waiting in self._waiting.pop(goal.fact, ()):
                waiting.missing.discard(goal.fact)
                if not waiting.missing:
                    ready.append(waiting)


class _Goal:
    """A row that is to be proved, and what was found for each of its values."""

    __slots__ = ("fact", "found")

    def __init__(self, fact: Fact, number: int) -> None:
        self.fact = fact
        self.found: list[Derivation | None] = [None] * number


class _Open:
    """A use of a rule whose rows are not all proved yet."""

    __slots__ = ("goal", "missing", "place", "way")

    def __init__(self, way: Derivation, goal: _Goal, place: int, missing: set[Fact]) -> None:
        self.way = way
        self.goal = goal
        self.place = place
        self.missing = missing


def _pieces(facts: Sequence[Fact]) -> Iterator[Sequence[Fact]]:
    """So few at a time that a limit is noticed."""
    return (facts[at : at + _TOGETHER] for at in range(0, len(facts), _TOGETHER))


def under(proved: Mapping[Fact, tuple[Derivation, ...]], root: Fact) -> dict[Fact, tuple[Derivation, ...]]:
    """The part of what is proved that a row rests on."""
    found: dict[Fact, tuple[Derivation, ...]] = {}
    todo = [root]
    while todo:
        fact = todo.pop()
        if fact in proved and fact not in found:
            found[fact] = proved[fact]
            todo.extend(chain.from_iterable(map(facts_of, proved[fact])))
    return found
