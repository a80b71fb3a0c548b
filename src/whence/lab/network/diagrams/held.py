"""Diagrams held for rows, by the numbers of the rows: kernels.

Rows that hold the same diagram are a list, so that a branch tells which rows it matters to. What a row held before the
change under way is kept until that is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from whence.columns.compiled import inlined, kernel
from whence.incremental.recursive.journal import UndoLog
from whence.lab.network.diagrams.layout import FALSE, FIRST_BRANCH, NONE, OR, Array, Branches, Long, as_list
from whence.lab.network.diagrams.operations import combined, over
from whence.lab.network.diagrams.shared import SharedDiagrams
from whence.lab.network.provenance.annotations import MORE, NEW, SAME

# The columns of a row.
DIAGRAM, BEFORE, NEXT, PREVIOUS, WIDTH = range(5)


@inlined
def hold(held: Array, first: Array, changed: Array, counts: Long, row: int, diagram: int) -> None:
    """A row holds another diagram from now on."""
    before = held[row, DIAGRAM]
    if held[row, BEFORE] == NONE:
        held[row, BEFORE] = before
        changed[counts[0]] = row
        counts[0] += 1
    if before >= FIRST_BRANCH:
        following, previous = held[row, NEXT], held[row, PREVIOUS]
        if previous == NONE:
            first[before] = following
        else:
            held[previous, NEXT] = following
        if following != NONE:
            held[following, PREVIOUS] = previous
    held[row, DIAGRAM] = diagram
    link(held, first, row)


@inlined
def link(held: Array, first: Array, row: int) -> None:
    diagram = held[row, DIAGRAM]
    if diagram >= FIRST_BRANCH:
        following = first[diagram]
        held[row, NEXT] = following
        held[row, PREVIOUS] = NONE
        first[diagram] = row
        if following != NONE:
            held[following, PREVIOUS] = row


@kernel
def add(
    branches: Branches,
    held: Array,
    first: Array,
    changed: Array,
    counts: Long,
    rows: Array,
    diagrams: Array,
    keeps_first: bool,
    effects: Array,
    start: int,
) -> int:
    """Add diagrams to what rows hold, or only to those that hold none; and what that changes, or would have changed.

    How far there was room for, from `start`.
    """
    for at in range(start, len(rows)):
        row = rows[at]
        before = held[row, DIAGRAM]
        total = combined(branches, OR, before, diagrams[at])
        if total == NONE:
            return at
        effects[at] = SAME if total == before else NEW if before == FALSE else MORE
        if total != before and (before == FALSE or not keeps_first):
            hold(held, first, changed, counts, row, total)
    return len(rows)


@kernel
def drop(held: Array, first: Array, changed: Array, counts: Long, rows: Array) -> None:
    for at in range(len(rows)):
        hold(held, first, changed, counts, rows[at], FALSE)


@kernel
def replace(held: Array, first: Array, changed: Array, counts: Long, listed: Array, memo: Array, gone: Array) -> int:
    """Rows that hold a listed diagram get what the memo has in its place. How many hold nothing then, and are gone."""
    end = 0
    for at in range(len(listed)):
        row = first[listed[at]]
        while row != NONE:
            following = held[row, NEXT]
            hold(held, first, changed, counts, row, memo[listed[at]])
            if memo[listed[at]] == FALSE:
                gone[end] = row
                end += 1
            row = following
    return end


@kernel
def link_again(held: Array, first: Array) -> None:
    """Make all lists again."""
    for at in range(len(first)):
        first[at] = NONE
    for row in range(len(held)):
        link(held, first, row)


FEW_ROWS = 1 << 6


class HeldDiagrams:
    """A row without a diagram holds false."""

    def __init__(self, shared: SharedDiagrams, journal: UndoLog) -> None:
        self._shared = shared
        self._journal = journal
        self._held = _no_rows(FEW_ROWS)
        self._first = np.full(len(shared.branches.rows), NONE, np.int32)
        self._changed = np.empty(FEW_ROWS, np.int32)
        self._counts = np.zeros(1, np.int64)
        shared.join(self)

    def __contains__(self, row: int) -> bool:
        return row < len(self._held) and bool(self._held[row, DIAGRAM] != FALSE)

    def rows(self) -> list[int]:
        return as_list(np.flatnonzero(self._held[:, DIAGRAM]))

    def of(self, rows: Sequence[int]) -> list[int]:
        return as_list(self._held[np.array(rows, np.int64), DIAGRAM])

    def add(self, rows: Sequence[int], diagrams: Sequence[int], *, keeps_first: bool = False) -> list[int]:
        to, given = np.array(rows, np.int32), np.array(diagrams, np.int32)
        effects = np.empty(len(to), np.int32)
        self._prepare(to)

        def work(start: int) -> int:
            self._follow_branches()
            state = (self._held, self._first, self._changed, self._counts)
            return add(self._shared.branches, *state, to, given, keeps_first, effects, start)

        self._shared.fill(work, len(to))
        return as_list(effects)

    def drop(self, rows: Sequence[int]) -> None:
        to = np.array(rows, np.int32)
        self._prepare(to)
        self._follow_branches()
        drop(self._held, self._first, self._changed, self._counts, to)

    def strike(self, ids: Iterable[int]) -> list[int]:
        levels = self._shared.levels_gone(ids)
        if not len(levels):
            return []
        self._prepare(np.empty(0, np.int32))
        gone = np.empty(len(self._held), np.int32)
        with self._shared.listed(over, levels) as listed:
            memo = self._shared.leave_out(levels, listed)
            self._follow_branches()
            count = replace(self._held, self._first, self._changed, self._counts, listed, memo, gone)
        return as_list(gone[:count])

    def settle(self) -> None:
        """The change is over."""
        self._held[self._changed[: self._counts[0]], BEFORE] = NONE
        self._counts[0] = 0

    def diagrams(self) -> Array:
        changed = self._changed[: self._counts[0]]
        return np.concatenate((self._held[:, DIAGRAM], self._held[changed, BEFORE]))

    def renumber(self, numbers: Array) -> None:
        changed = self._changed[: self._counts[0]]
        self._held[changed, BEFORE] = numbers[self._held[changed, BEFORE]]
        self._held[:, DIAGRAM] = numbers[self._held[:, DIAGRAM]]
        self._link_again()

    def _undo(self) -> None:
        changed = self._changed[: self._counts[0]]
        self._held[changed, DIAGRAM] = self._held[changed, BEFORE]
        self.settle()
        self._link_again()

    def _prepare(self, rows: Array) -> None:
        """There is room for these rows, and for what it takes to undo the change."""
        if not self._counts[0]:
            self._journal.note(self._undo)
        most = int(rows.max(initial=NONE)) + 1
        if most > len(self._held):
            more = 1 << most.bit_length()
            self._held = np.concatenate((self._held, _no_rows(more - len(self._held))))
            self._changed = np.concatenate((self._changed, np.empty(more - len(self._changed), np.int32)))

    def _follow_branches(self) -> None:
        missing = len(self._shared.branches.rows) - len(self._first)
        if missing > 0:
            self._first = np.concatenate((self._first, np.full(missing, NONE, np.int32)))

    def _link_again(self) -> None:
        self._follow_branches()
        link_again(self._held, self._first)


def _no_rows(count: int) -> Array:
    rows = np.full((count, WIDTH), NONE, np.int32)
    rows[:, DIAGRAM] = FALSE
    return rows
