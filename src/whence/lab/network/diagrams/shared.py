"""The diagrams of a node, which share their branches.

Branches that nothing uses any more are left behind when the others move to new ones: when there have become too many,
or when leaves get another order. Numbers of diagrams change then, so that this happens only when nothing knows any but
those that hold them for rows (see `held`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from whence.lab.network.diagrams.layout import (
    FIRST_BRANCH,
    LEVEL,
    NONE,
    TRUE,
    Array,
    Branches,
    Long,
    grown,
    new_branches,
    with_levels,
)
from whence.lab.network.diagrams.operations import build, clear, combine, find_again, flatten, leave_out, move, under

FEW_BRANCHES = 1 << 8
FEW_LEVELS = 1 << 6
# Moving is put off until there are as many branches again as were needed last time, and at least these.
BRANCHES_TO_SPARE = 1 << 14


class Holding(Protocol):
    """What knows diagrams by number for longer than a moment."""

    def diagrams(self) -> Array: ...

    def renumber(self, numbers: Array) -> None:
        """Diagrams have new numbers, by their old ones."""


class SharedDiagrams:
    def __init__(self) -> None:
        self.branches = new_branches(FEW_BRANCHES, FEW_LEVELS)
        self._ids: list[int] = []
        self._levels: dict[int, int] = {}
        self._leaves: dict[int, int] = {}
        # Leaves that will not come again, and have a level for as long as a diagram asks for them.
        self._gone: set[int] = set()
        self._holding: list[Holding] = []
        self._enough = BRANCHES_TO_SPARE

    def join(self, holding: Holding) -> None:
        self._holding.append(holding)

    def leaf(self, tuple_id: int) -> int:
        leaf = self._leaves.get(tuple_id)
        if leaf is None:
            leaf = self._leaves[tuple_id] = int(self.built([tuple_id], np.array([[0, TRUE, 0]]))[FIRST_BRANCH])
        return leaf

    def combine(self, operation: int, left: Array, right: Array) -> Array:
        """Pair by pair."""
        results = np.empty(len(left), np.int32)
        self.fill(lambda start: combine(self.branches, operation, left, right, results, start), len(left))
        return results

    def without(self, diagrams: Array, ids: Iterable[int]) -> Array:
        """What is left of each when these leaves are gone."""
        levels = self.levels_gone(ids)
        if not len(levels):
            return diagrams
        with self.listed(under, diagrams) as listed:
            left = self.leave_out(levels, listed)[diagrams]
        return np.where(left == NONE, diagrams, left)

    def leave_out(self, levels: Array, listed: Array) -> Array:
        """The memo, with what is left of the branches of a list."""
        gone = np.zeros(len(self._ids), np.bool_)
        gone[levels] = True
        self.fill(lambda start: leave_out(self.branches, gone, listed, start), len(listed))
        return self.branches.memo

    def levels_gone(self, ids: Iterable[int]) -> Array:
        """The levels of leaves that are gone, those of them that are known."""
        known = self._levels.keys() & ids
        self._gone |= known
        return np.array([self._levels[each] for each in known], np.int32)

    def flat(self, diagrams: Array) -> tuple[list[int], Long, Array]:
        """The ids of all leaves from the top, triples from the bottom, and the reference of each diagram to them."""
        with self.listed(under, diagrams) as listed:
            levels = np.unique(self.branches.rows[listed, LEVEL])
            by_level = np.empty(len(self._ids), np.int32)
            by_level[levels] = np.arange(len(levels))
            numbers = np.empty((len(listed), 3), np.int64)
            flatten(self.branches, by_level, listed, numbers)
            references = np.where(diagrams < FIRST_BRANCH, diagrams, self.branches.memo[diagrams])
        return [self._ids[level] for level in levels.tolist()], numbers, references

    def built(self, ids: Sequence[int], numbers: Long) -> Array:
        """The diagrams of triples, the constants before them."""
        levels = np.array([self._level(each) for each in ids], np.int32)
        results = np.empty(FIRST_BRANCH + len(numbers), np.int32)
        results[:FIRST_BRANCH] = range(FIRST_BRANCH)
        self.fill(lambda start: build(self.branches, levels, numbers, results, start), len(numbers))
        return results

    def tidy(self) -> None:
        """Only those who hold diagrams know any by number: leave behind what nothing uses, if it is much."""
        if self.branches.used[0] > self._enough:
            self.arrange(())

    @contextmanager
    def listed(self, walk: Callable[[Branches, Array, Array], int], start: Array) -> Iterator[Array]:
        """The branches that a walk lists, in ascending order, for as long as the memo is about them."""
        listed = np.empty(self.branches.used[0], np.int32)
        listed = listed[: walk(self.branches, start, listed)].copy()
        try:
            listed.sort()
            yield listed
        finally:
            clear(self.branches.memo, listed)

    def fill(self, work: Callable[[int], int], end: int) -> None:
        """Work up to an end, with more room whenever it stops before."""
        at = work(0)
        while at < end:
            self.branches = _larger(self.branches)
            at = work(at)

    def _level(self, tuple_id: int) -> int:
        level = self._levels.get(tuple_id)
        if level is None:
            level = self._levels[tuple_id] = len(self._ids)
            self._ids.append(tuple_id)
            if level == len(self.branches.tops):
                self.branches = with_levels(self.branches, 2 * level)
        return level

    def arrange(self, order: Collection[int]) -> None:
        """Leaves come in this order from the top, others below in the order that they had. Unused branches go."""
        diagrams = np.concatenate([np.empty(0, np.int32), *(each.diagrams() for each in self._holding)])
        with self.listed(under, diagrams) as listed:
            used = set(np.unique(self.branches.rows[listed, LEVEL]).tolist())
            kept = (each for level, each in enumerate(self._ids) if each not in self._gone or level in used)
            ids = list(dict.fromkeys((*order, *kept)))
            levels = {each: level for level, each in enumerate(ids)}
            new_levels = np.array([levels.get(each, NONE) for each in self._ids], np.int32)
            target = new_branches(_room_for(len(listed)), max(FEW_LEVELS, 2 * len(ids)))
            at = 0
            while (at := move(self.branches, target, new_levels, listed, at)) < len(listed):
                target = _larger(target)
            numbers = self.branches.memo.copy()
        numbers[:FIRST_BRANCH] = range(FIRST_BRANCH)
        self.branches, self._ids, self._levels = target, ids, levels
        for each in self._holding:
            each.renumber(numbers)
        self._leaves.clear()
        self._gone.clear()
        self._enough = 2 * int(target.used[0]) + BRANCHES_TO_SPARE


def _room_for(branches: int) -> int:
    """A power of two, with room for some more."""
    return max(FEW_BRANCHES, 1 << (branches + branches // 2).bit_length())


def _larger(branches: Branches) -> Branches:
    larger = grown(branches)
    find_again(larger)
    return larger
