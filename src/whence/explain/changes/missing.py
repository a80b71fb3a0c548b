"""The smallest sets of base rows that would produce a row: a search backwards over rules.

A state of the search is what is still to be derived, and what was assumed for it. It goes on by taking a row that is to
be derived and a rule that could give it: what the rule lacks is to be derived, or is assumed if it belongs to a table.
States with nothing left to derive are candidates, and count once it was seen that they really produce the row.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count, islice
from typing import NamedTuple, TypeAlias

from whence.errors import UnsupportedError
from whence.explain.changes.contents import LimitReachedError
from whence.explain.changes.openings import Openings
from whence.explain.changes.world import World
from whence.explain.proofs.reasons import Fact
from whence.explain.proofs.words import Pattern

# Once a set was found, so many steps are left for others of its size; none if to see that it is one took so long.
_STEPS_FOR_OTHERS = 5_000
_SECONDS_FOR_OTHERS = 0.2
# So many successors of a state come before other states have their turn.
_AT_ONCE = 32

# Whether rows, once inserted, produce what was asked for.
Produces: TypeAlias = Callable[[frozenset[Fact]], bool]


class State(NamedTuple):
    open: frozenset[tuple[str, Pattern]]
    assumed: frozenset[Fact]


@dataclass
class Found:
    """`sets` are all of the same size, and no smaller one produces the row. `searched` is the size up to which all
    sets were looked at; `is_complete` is False where a limit ended the search before there was any.
    """

    sets: list[frozenset[Fact]] = field(default_factory=list)
    searched: int = 0
    is_complete: bool = True


class Search:
    def __init__(self, world: World, produces: Produces, largest: int, wanted: int) -> None:
        self._world = world
        self._produces = produces
        self._largest = largest
        self._wanted = wanted
        self._openings = Openings(world)

    def run(self, goal: tuple[str, Pattern]) -> Found:
        found = Found()
        try:
            for size in range(1, self._largest + 1):
                shapes: set[frozenset[tuple[str, Pattern]]] = set()
                for candidate in self._candidates(goal, size):
                    shape = self._world.shape(candidate)
                    started = time.perf_counter()
                    if shape not in shapes and self._produces(candidate):
                        shapes.add(shape)
                        found.sets.append(candidate)
                        self._world.hurry(_STEPS_FOR_OTHERS)
                        is_slow = time.perf_counter() - started > _SECONDS_FOR_OTHERS
                        if is_slow or len(found.sets) == self._wanted:
                            break
                found.searched = size
                if found.sets:
                    break
        except (LimitReachedError, UnsupportedError):
            found.is_complete = bool(found.sets)
        return found

    def _candidates(self, goal: tuple[str, Pattern], size: int) -> Iterator[frozenset[Fact]]:
        """The sets of that size that come up, those with few steps first."""
        start = State(frozenset([goal]), frozenset())
        seen = {start}
        told: set[frozenset[Fact]] = set()
        ticket = count()
        queue: list[tuple[int, int, int, State, Iterator[State]]] = []

        def push(state: State, successors: Iterator[State], turn: int = 0) -> None:
            heappush(queue, (len(state.open) + turn, len(state.assumed), next(ticket), state, successors))

        push(start, self._successors(start, size))
        while queue:
            rank, _, _, state, successors = heappop(queue)
            self._world.assume(state.assumed)
            some = list(islice(successors, _AT_ONCE))
            if len(some) == _AT_ONCE:
                push(state, successors, rank - len(state.open) + 1)
            for each in some:
                if not each.open:
                    if len(each.assumed) == size and each.assumed not in told:
                        told.add(each.assumed)
                        yield each.assumed
                elif each not in seen:
                    seen.add(each)
                    push(each, self._successors(each, size))

    def _successors(self, state: State, size: int) -> Iterator[State]:
        """What a state leads to when one of its rows is derived by some rule."""
        relation, row = goal = min(state.open, key=lambda each: (each[0], repr(each[1])))
        rest = state.open - {goal}
        for way in self._openings.ways(relation, row, size - len(state.assumed)):
            # Of an aggregate, what is there already has made another value.
            if way.tables or way.views or state.assumed:
                yield State(rest | way.views, state.assumed | way.tables)
