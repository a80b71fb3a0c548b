"""The smallest sets of base rows that would produce a row: a search backwards over rules.

A state of the search is what is still to be derived, and what was assumed for it. It goes on by taking a row that is to
be derived and a rule that could give it: what the rule lacks is to be derived, or is assumed if it belongs to a table.
States with nothing left to derive are candidates, and count once it was seen that they really produce the row.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush, nsmallest
from itertools import count, islice
from typing import NamedTuple, TypeAlias

from whence.engines.engine import Evidence
from whence.errors import ConvergenceError, DataError, EvaluationError
from whence.explain.hypothetical.contents import DatabaseContents, LimitReachedError
from whence.explain.hypothetical.openings import Openings
from whence.explain.hypothetical.what_if import what_if
from whence.explain.hypothetical.world import Hypothesis
from whence.explain.proofs.reasons import Fact
from whence.explain.proofs.text import Pattern
from whence.incremental.keyed import key_positions
from whence.model.types import Row
from whence.session.changes import Delete, Insert
from whence.session.session import Session

# Once a set was found, so many steps are left for others of its size; none if to see that it is one took so long.
_STEPS_FOR_OTHERS = 5_000
_SECONDS_FOR_OTHERS = 0.2
# So many successors of a state come before other states have their turn.
_AT_ONCE = 32
# While rows are fetched anyway, so many states that wait are looked at for what they are going to miss, and so many
# more successors of the state whose turn it is.
_LOOKED_AHEAD = 100
_LOOKED_ON = 1_000


class SearchState(NamedTuple):
    open: frozenset[tuple[str, Pattern]]
    assumed: frozenset[Fact]


@dataclass
class MissingSets:
    """`sets` are all of the same size, and no smaller one produces the row. `searched` is the size up to which all
    sets were looked at; `is_complete` is False where a limit ended the search before there was any.

    `instead` has rows that would produce it in the place of others that have their keys.
    """

    sets: list[frozenset[Fact]] = field(default_factory=list)
    instead: Mapping[Fact, Row | None] | None = None
    searched: int = 0
    is_complete: bool = True


class MissingSearch:
    def __init__(self, world: Hypothesis, evidence: Evidence, trial: Trial, largest: int, wanted: int) -> None:
        self._world = world
        self._evidence = evidence
        self._trial = trial
        self._largest = largest
        self._wanted = wanted
        self._openings = Openings(world)

    def run(self, goal: tuple[str, Pattern]) -> MissingSets:
        found = MissingSets()
        try:
            for size in range(1, self._largest + 1):
                shapes: set[frozenset[tuple[str, Pattern]]] = set()
                for candidate in self._candidates(goal, size):
                    shape = self._world.shape(candidate)
                    started = time.perf_counter()
                    if shape in shapes:
                        continue
                    if self._trial.succeeds(candidate):
                        shapes.add(shape)
                        found.sets.append(candidate)
                        self._world.hurry(_STEPS_FOR_OTHERS)
                        is_slow = time.perf_counter() - started > _SECONDS_FOR_OTHERS
                        if is_slow or len(found.sets) == self._wanted:
                            break
                    elif found.instead is None and not found.sets:
                        found.instead = self._trial.instead(candidate)
                found.is_complete = bool(found.sets) or not self._is_partial
                if found.is_complete:
                    found.searched = size
                if found.sets or not found.is_complete:
                    break
        except LimitReachedError:
            found.is_complete = bool(found.sets)
        return found

    def _candidates(self, goal: tuple[str, Pattern], size: int) -> Iterator[frozenset[Fact]]:
        """The sets of that size that come up, those with few steps first."""
        start = SearchState(frozenset([goal]), frozenset())
        seen = {start}
        told: set[frozenset[Fact]] = set()
        ticket = count()
        queue: list[_Waiting] = []

        def push(successors: _Successors, turn: int = 0) -> None:
            state = successors.state
            heappush(queue, (len(state.open) + turn, len(state.assumed), next(ticket), successors))

        push(_Successors(start, size, self._successors))
        while queue:
            rank, _, _, successors = heappop(queue)
            some = self._some(successors, queue)
            if len(some) == _AT_ONCE:
                push(successors, rank - len(successors.state.open) + 1)
            for each in some:
                if not each.open:
                    if len(each.assumed) == size and each.assumed not in told:
                        told.add(each.assumed)
                        yield each.assumed
                elif each not in seen:
                    seen.add(each)
                    push(_Successors(each, size, self._successors))

    @property
    def _is_partial(self) -> bool:
        return self._world.known.is_partial or self._openings.is_partial

    def _some(self, successors: _Successors, waiting: list[_Waiting]) -> list[SearchState]:
        """The next successors of a state. If rows have to be fetched for them, then for states that wait as well."""

        def look() -> list[SearchState]:
            self._openings.left = 0
            self._world.assume(successors.state.assumed)
            some = successors.look()
            if self._openings.left:
                successors.look_on()
                for *_, other in nsmallest(_LOOKED_AHEAD, waiting):
                    self._world.assume(other.state.assumed)
                    other.look()
            return some

        some = self._evidence.gather(look)
        successors.take(some)
        return some

    def _successors(self, state: SearchState, size: int) -> Iterator[SearchState]:
        """What a state leads to when one of its rows is derived by some rule."""
        relation, row = goal = min(state.open, key=lambda each: (each[0], repr(each[1])))
        rest = state.open - {goal}
        for use in self._openings.uses(relation, row, size - len(state.assumed)):
            # Of an aggregate, what is there already has made another value.
            if use.tables or use.views or state.assumed:
                yield SearchState(rest | use.views, state.assumed | use.tables)


class _Successors:
    """The successors of a state, some at a time. They may be looked for several times, until no row is missing."""

    def __init__(
        self, state: SearchState, size: int, successors: Callable[[SearchState, int], Iterator[SearchState]]
    ) -> None:
        self.state = state
        self._all: Callable[[], Iterator[SearchState]] = lambda: successors(state, size)
        self._next = self._all()
        self._taken = 0
        self._is_fresh = True

    def look(self) -> list[SearchState]:
        if not self._is_fresh:
            self._next = islice(self._all(), self._taken, None)
        self._is_fresh = False
        return list(islice(self._next, _AT_ONCE))

    def look_on(self) -> None:
        """Look at more of them, to see what rows they miss."""
        deque(islice(self._next, _LOOKED_ON), maxlen=0)

    def take(self, some: list[SearchState]) -> None:
        """These are the next ones indeed."""
        self._taken += len(some)
        self._is_fresh = True


# By rank; the number keeps the order of those of the same.
_Waiting: TypeAlias = tuple[int, int, int, _Successors]
# So many times rows are tried in the place of others: to know one is enough.
_MOST_REPLACEMENTS = 200


@dataclass
class Trial:
    """What was asked for: a row of a view, or any that is like a pattern."""

    _session: Session
    _contents: DatabaseContents
    _evidence: Evidence
    _view: str
    _pattern: Pattern
    _replacements: int = 0

    def succeeds(self, facts: frozenset[Fact]) -> bool:
        """Whether the rows produce it when they are inserted."""
        relations = self._session.definitions.relations
        return self._follows([Insert(relations[name], rows) for name, rows in _by_table(facts).items()])

    def instead(self, facts: frozenset[Fact]) -> Mapping[Fact, Row | None] | None:
        """The rows, and which one each takes the place of, where they produce it so; None where they do not, or where
        no key is taken.
        """
        places = self._evidence.gather(lambda: {fact: self._with_its_key(fact) for fact in facts})
        taken = {(fact[0], row) for fact, row in places.items() if row is not None}
        if not taken or self._replacements == _MOST_REPLACEMENTS:
            return None
        self._replacements += 1
        relations = self._session.definitions.relations
        changes: list[Insert | Delete] = [
            Delete(relations[name], rows, ignore_missing=False) for name, rows in _by_table(frozenset(taken)).items()
        ]
        changes += [Insert(relations[name], rows) for name, rows in _by_table(facts).items()]
        return places if self._follows(changes) else None

    def _follows(self, changes: list[Insert | Delete]) -> bool:
        try:
            seen = what_if(self._session, changes).changes
        except (DataError, EvaluationError, ConvergenceError):
            # A key that is taken, or a change that could not be made.
            return False
        return any(count > 0 and _fits(row, self._pattern) for row, count in seen.get(self._view, {}).items())

    def _with_its_key(self, fact: Fact) -> Row | None:
        name, row = fact
        positions = key_positions(self._session.definitions.relations[name])
        if not positions:
            return None
        key = tuple([row[position] for position in positions])
        return next(iter(self._contents.matching(name, positions, key)), None)


def _by_table(facts: frozenset[Fact]) -> dict[str, list[Row]]:
    tables: dict[str, list[Row]] = {}
    for name, row in facts:
        tables.setdefault(name, []).append(row)
    return tables


def _fits(row: Row, pattern: Pattern) -> bool:
    return all(wanted is ... or wanted == value for wanted, value in zip(pattern, row, strict=True))
