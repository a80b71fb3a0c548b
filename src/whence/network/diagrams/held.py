"""A table of diagrams, by the numbers of the rows that hold them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from whence.engines.local.recursive.journal import Journal
from whence.network.diagrams.holding import BEFORE, DIAGRAM, WIDTH, add, link_again, put, replace
from whence.network.diagrams.layout import FALSE, NONE, Array
from whence.network.diagrams.shared import SharedDiagrams
from whence.network.diagrams.walks import over

FEW_ROWS = 1 << 6


class HeldDiagrams:
    """A row without a diagram holds false."""

    def __init__(self, shared: SharedDiagrams, journal: Journal) -> None:
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
        held: list[int] = np.flatnonzero(self._held[:, DIAGRAM]).tolist()
        return held

    def of(self, rows: Sequence[int]) -> list[int]:
        held: list[int] = self._held[np.array(rows, np.int64), DIAGRAM].tolist()
        return held

    def add(self, rows: Sequence[int], diagrams: Sequence[int], *, keeps_first: bool = False) -> list[int]:
        to, given = np.array(rows, np.int32), np.array(diagrams, np.int32)
        effects = np.empty(len(to), np.int32)
        self._prepare(to)

        def work(start: int) -> int:
            self._follow_branches()
            state = (self._held, self._first, self._changed, self._counts)
            return add(self._shared.branches, *state, to, given, keeps_first, effects, start)

        self._shared.fill(work, len(to))
        told: list[int] = effects.tolist()
        return told

    def drop(self, rows: Sequence[int]) -> None:
        to = np.array(rows, np.int32)
        self._prepare(to)
        self._follow_branches()
        put(self._held, self._first, self._changed, self._counts, to, np.full(len(to), FALSE, np.int32))

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
        left: list[int] = gone[:count].tolist()
        return left

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
