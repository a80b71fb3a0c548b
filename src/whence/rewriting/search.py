"""The cheapest plan for a query over materialized views that can be found in time.

Algorithm 1 of the paper: from the query as it is written, and from the query unfolded, one fold at a time, the cheapest
plan so far first. The query itself stays a candidate, so that what is found is never estimated to cost more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import heappop, heappush, nsmallest
from itertools import count
from typing import NamedTuple, TypeAlias

from whence.errors import TypeMismatchError
from whence.rewriting.fold import ViewFolds
from whence.rewriting.signed_union import SignedUnion


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """How far a search goes: so many plans are added per step, so many of them per view, so many wait at most, and it
    ends after so many steps in a row that found nothing cheaper.

    `budget` is the share of the time that the query from scratch would take, by the estimate; but `least_seconds` are
    always allowed. Both are processor time.
    """

    per_step: int = 8
    per_view: int = 4
    queue: int = 128
    stale_steps: int = 4
    budget: float = 0.1
    least_seconds: float = 0.002

    def __post_init__(self) -> None:
        for name in ("per_step", "per_view", "queue", "stale_steps"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise TypeMismatchError(f"{name} is a number, at least 1, not {getattr(self, name)!r}")
        if not self.budget >= 0 or not self.least_seconds >= 0:
            raise TypeMismatchError("budget and least_seconds are not negative")

    def seconds(self, from_scratch: float) -> float:
        """How long to look for something better than what takes so long."""
        return max(self.least_seconds, self.budget * from_scratch)


DEFAULT_SEARCH = SearchLimits()


# What a plan costs, a number that no other candidate has, and the plan.
_Candidate: TypeAlias = tuple[float, int, SignedUnion]


class FoundPlan(NamedTuple):
    """A plan, what it costs, what the query as it is written would cost, and how far the search went."""

    plan: SignedUnion
    cost: float
    from_scratch: float
    steps: int
    is_out_of_time: bool


def cheapest_plan(
    query: SignedUnion,
    others: Iterable[SignedUnion],
    views: ViewFolds,
    cost: Callable[[SignedUnion], float],
    seconds_per_row: float = 0.0,
    limits: SearchLimits = DEFAULT_SEARCH,
    started: float | None = None,
) -> FoundPlan:
    """A plan that gives what the query gives. `others` are known to give the same, the unfolded query among them.

    The time that is allowed began when `started`, by the clock of this thread, so that the search does not end early
    where others are busy.
    """
    if started is None:
        started = time.thread_time()
    numbers = count()
    pending: list[_Candidate] = []
    seen: set[SignedUnion] = set()

    def insert(price: float, plan: SignedUnion) -> bool:
        if plan in seen:
            return False
        seen.add(plan)
        heappush(pending, (price, next(numbers), plan))
        return True

    from_scratch = cost(query)
    insert(from_scratch, query)
    for other in others:
        insert(cost(other), other)
    best = pending[0]
    most = limits.seconds(from_scratch * seconds_per_row)
    steps = 0
    is_late = False
    improved = 0
    while pending and best[0] > 0 and steps - improved < limits.stale_steps:
        # Nor does it look longer for something better than the best plan takes.
        allowed = min(most, max(limits.least_seconds, best[0] * seconds_per_row))
        is_late = time.thread_time() - started >= allowed
        if is_late:
            break
        _, _, plan = heappop(pending)
        steps += 1
        by_view: dict[str, dict[SignedUnion, _Candidate]] = {}
        for each, coefficient in plan:
            # A union of many rules has very many folds.
            if time.thread_time() - started >= allowed:
                break
            for view, zero in views.of(each):
                made = plan + (zero if coefficient == 1 else zero.times(coefficient))
                if made not in seen:
                    by_view.setdefault(view, {})[made] = cost(made), next(numbers), made
        found = [each for made in by_view.values() for each in nsmallest(limits.per_view, made.values())]
        added = 0
        for price, _, each_plan in sorted(found):
            if added >= limits.per_step or len(pending) >= limits.queue:
                break
            added += insert(price, each_plan)
        if pending and pending[0][0] < best[0]:
            best, improved = pending[0], steps
    return FoundPlan(best[2], best[0], from_scratch, steps, is_late)
