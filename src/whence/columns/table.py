"""A relation in columns: distinct rows of numbers with a count each, and hash indexes on what joins probe.

A change is staged first. From then on the table can be read as it was and as it will be, until the change is settled or
dropped. Staging adds rows with a count of 0; nothing that is there is touched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np

from whence.columns.delta import ColumnDelta
from whence.columns.encoding import INTEGER, Array, Encoding
from whence.columns.hash_index import NOTHING, add_up, are_there, holds, probe, replace, settle, show
from whence.columns.numbered_rows import LEAST_ROOM, NumberedRows, as_words
from whence.columns.row_range import RowRange
from whence.columns.two_threads import in_two_threads

# Rows that are gone are removed when they outnumber the others, but not for so few.
FEW_GONE = 1_024
# After so many rows have changed, the memory for what is pending is given back.
MANY_CHANGED = 1 << 16

_NOTHING: Array = np.empty(0, INTEGER)


class Matches(NamedTuple):
    """For each match the number of its key, the row, and how often the row is there."""

    keys: Array
    rows: Array
    weights: Array


class ColumnTable(NumberedRows):
    """The rows of one relation. In a set every row with a positive count is there once.

    `identity` are columns that tell rows apart: a key where there is one, else all of them.
    """

    def __init__(self, encodings: Sequence[Encoding], *, is_set: bool, identity: Sequence[int] | None = None) -> None:
        super().__init__(encodings, identity)
        self.is_set = is_set
        # How many rows are there now.
        self.present = 0
        self._counts: Array = np.zeros(LEAST_ROOM, INTEGER)
        self._pending: Array = np.zeros(LEAST_ROOM, INTEGER)
        self._staged = _NOTHING
        # How many rows had a number before the change that is staged.
        self._first = 0
        # The rows that were settled last, and how often they were there before.
        self._settled = _NOTHING, _NOTHING
        self._ranges: WeakSet[RowRange] = WeakSet()
        # The change that is none.
        self.unchanged = ColumnDelta(self.encodings, np.empty((self.width, 0), INTEGER), _NOTHING)

    @property
    def state_bytes(self) -> int:
        return super().state_bytes + self._counts.nbytes + self._pending.nbytes

    def saved(self) -> dict[str, Any]:
        return {**super().saved(), "counts": self._counts[: self._size], "present": self.present}

    def restore(self, saved: Mapping[str, Any]) -> None:
        self.present, self._counts = saved["present"], saved["counts"]
        self._pending = np.zeros(len(self._counts), INTEGER)
        super().restore(saved)
        self._first = self._size

    # Changes.

    def stage(self, words: Array, weights: Array) -> ColumnDelta:
        """Begin a change: how often rows come or go. Answers what that means to readers, each row once."""
        first = self._size
        return self.stage_rows(self.enter(words), weights.copy(), words, first=first)

    def stage_rows(
        self, rows: Array, weights: Array, words: Array | None = None, *, first: int | None = None
    ) -> ColumnDelta:
        """The same for rows of these numbers, and these values. The weights are not the caller's any more."""
        self._first = self._size if first is None else first
        length = len(rows)
        changed = np.empty(length, INTEGER)
        total = add_up(self._pending, rows, weights, changed)
        if total < length:
            changed, weights = changed[:total], weights[:total]
        self._staged = changed
        if self.is_set:
            shown, signs = np.empty(total, INTEGER), np.empty(total, INTEGER)
            total = show(self._counts, changed, weights, shown, signs)
            changed, weights = shown[:total], signs[:total]
        return ColumnDelta(self.encodings, self.words(changed) if words is None or total < length else words, weights)

    def stage_again(self, words: Array, weights: Array) -> ColumnDelta:
        """Begin a change: these rows, so often, take the place of all that are there."""
        first, gone = self._size, self.counted()
        rows = np.concatenate([gone, self.enter(words)])
        return self.stage_rows(rows, np.concatenate([-self._counts[gone], weights]), first=first)

    def stage_copy(
        self, source: ColumnTable, terms: Sequence[int | Array], times: int = 1, *, is_after: bool
    ) -> ColumnDelta:
        """Begin a change in a table that was never used: the rows of another one, which stay different ones.

        Of every column `terms` has the column of the other table that it is, or the number that all rows hold. Nothing
        is looked up, and indexes are made when they are needed.
        """
        numbers = source.live(is_after=is_after)
        weights = times * source.counts(numbers, is_after=is_after)
        total = len(numbers)
        held = source._rows[:total] if total == source._size else source._rows[numbers]
        self._resize(total + total // 4 + LEAST_ROOM)
        for at, term in enumerate(terms):
            self._rows[:total, at] = held[:, term] if isinstance(term, int) else term
        return self._stage_first(weights)

    def stage_different(self, words: Array, weights: Array) -> ColumnDelta:
        """Begin a change in a table that was never used: rows that are different ones. Nothing is looked up here,
        either.
        """
        total = words.shape[1]
        self._resize(total + total // 4 + LEAST_ROOM)
        self._rows[:total] = words.T
        return self._stage_first(weights)

    def _stage_first(self, weights: Array) -> ColumnDelta:
        """The first rows are there."""
        total = len(weights)
        self._size, self._staged = total, np.arange(total)
        self._pending[:total] = weights
        if self.is_set:
            weights = np.ones(total, INTEGER)
        rows = self._rows[:total]
        return ColumnDelta(self.encodings, lambda: np.ascontiguousarray(rows.T), weights)

    def stage_replacement(self, before: Array, has_row: Array, words: Array) -> tuple[ColumnDelta, Array]:
        """Begin a change in a set: rows of these numbers get other values, as long as they are to be there.

        Rows that differ from all others are not looked up. Answers, too, which rows there will be instead.
        """
        length = len(before)
        self.make_room(length)
        self._first = first = self._size
        after, changed, signs = np.empty(length, INTEGER), np.empty(2 * length, INTEGER), np.empty(2 * length, INTEGER)
        shown = np.empty((self.width, 2 * length), INTEGER)
        self._size, total = replace(
            self._rows, first, self._pending, before, has_row, words, after, changed, shown, signs
        )
        self._link(first)
        self._staged = changed[:total]
        if total < 2 * length:
            shown, signs = np.ascontiguousarray(shown[:, :total]), signs[:total]
        return ColumnDelta(self.encodings, shown, signs), after

    def settle(self, *, is_final: bool = True) -> None:
        """What was staged has happened. If that is not final, `unsettle` may follow."""
        staged, self._first = self._staged, self._size
        if is_final:
            self._settled = _NOTHING, _NOTHING
        if not len(staged):
            return
        before = np.empty(len(staged), INTEGER)
        self.present += settle(self._counts, self._pending, staged, before, self.is_set)
        self._staged = _NOTHING
        if not is_final:
            self._settled = staged, before
        if len(staged) >= MANY_CHANGED:
            self._pending = np.zeros(len(self._pending), INTEGER)

    def unsettle(self) -> None:
        """What was settled last has not happened. Nothing was packed since."""
        rows, before = self._settled
        self._settled = _NOTHING, _NOTHING
        self._pending[rows] = before - self._counts[rows]
        self.present += settle(self._counts, self._pending, rows, np.empty(len(rows), INTEGER), self.is_set)

    def drop(self) -> None:
        """What was staged does not happen."""
        if len(self._staged):
            self._pending[self._staged] = 0
            self._staged = _NOTHING
        self._forget(self._first)

    @property
    def is_worth_packing(self) -> bool:
        return self._size > 2 * self.present + FEW_GONE

    def pack(self) -> Array:
        """Remove rows that are gone. Answers the new number of each row, NOTHING for those. Nothing is staged."""
        kept = self.counted()
        numbers = np.full(self._size, NOTHING, INTEGER)
        numbers[kept] = np.arange(len(kept))
        self._keep(kept)
        return numbers

    def _keep(self, kept: Array) -> None:
        for each in tuple(self._ranges):
            each.detach()
        self._ranges.clear()
        super()._keep(kept)
        counts = np.zeros(len(self._rows), INTEGER)
        counts[: len(kept)] = self._counts[kept]
        self._counts, self._pending, self._first = counts, np.zeros(len(counts), INTEGER), len(kept)

    def _resize(self, room: int) -> None:
        super()._resize(room)
        self._counts, self._pending = _longer(self._counts, room), _longer(self._pending, room)

    def take_as_there(self, rows: Array, counts: Array | int = 1) -> None:
        """Rows of these numbers have been there so often all along."""
        self._counts[rows] = counts

    def pending(self) -> tuple[Array, Array]:
        """The rows whose counts change by what is staged, whether that is seen or not, and by how much."""
        rows = self._staged[self._pending[self._staged] != 0]
        return rows, self._pending[rows]

    # Rows.

    def range(self, first: int, end: int) -> RowRange:
        """The rows of these numbers as they are now, for longer than until the next change."""
        found = RowRange(self, first, end)
        self._ranges.add(found)
        return found

    def counts(self, rows: Array, *, is_after: bool = False) -> Array:
        """How often rows of these numbers are there; 0 for NOTHING."""
        known = np.maximum(rows, 0)
        counts: Array = self._counts[known]
        if is_after:
            counts = counts + self._pending[known]
        if self.is_set:
            counts = (counts > 0).astype(INTEGER)
        return np.where(rows == NOTHING, 0, counts)

    def are_there(self, rows: Array) -> bool:
        """Whether rows of these numbers are there, each as often as it is listed. Nothing is staged."""
        return are_there(self._counts, self._pending, rows)

    def multiplicities(self, rows: Array) -> Array:
        """The counts of rows, which in a set may be more than 1."""
        counts: Array = self._counts[rows]
        return counts

    def live(self, *, is_after: bool = False) -> Array:
        """The numbers of all rows that are there."""
        counts = self._counts[: self._size]
        if is_after:
            counts = counts + self._pending[: self._size]
        return np.flatnonzero(counts > 0 if self.is_set else counts)

    def counted(self) -> Array:
        """The numbers of all rows that have a count, which in a bag that may owe rows can be negative."""
        return self._counts[: self._size].nonzero()[0]

    # Lookups.

    def is_key(self, positions: tuple[int, ...]) -> bool:
        """Whether at most one row holds a key at these positions. Rows of a set differ in their identity."""
        return self.is_set and positions == self._identity

    def probe(
        self, positions: tuple[int, ...], keys: Sequence[Array], length: int, *, is_after: bool, most: int | None = None
    ) -> Matches | None:
        """The rows that hold each of so many keys at the positions; None where there are more than `most`."""
        index = self._index(positions)
        words, buckets = as_words(keys, length), np.empty(length, INTEGER)
        # By the number of the first key.
        parts: dict[int, Matches | None] = {}

        def look_up(first: int, last: int) -> None:
            room = last - first if self.is_key(positions) else max(LEAST_ROOM, 2 * (last - first))
            while True:
                key_of, found, weights = np.empty(room, INTEGER), np.empty(room, INTEGER), np.empty(room, INTEGER)
                total = probe(
                    self._rows,
                    self._counts,
                    self._pending,
                    is_after,
                    self.is_set,
                    index.columns,
                    index.heads,
                    index.links,
                    words,
                    first,
                    last,
                    index.places,
                    buckets,
                    key_of,
                    found,
                    weights,
                )
                if total <= room:
                    parts[first] = Matches(key_of[:total], found[:total], weights[:total])
                    return
                if most is not None and total > most:
                    parts[first] = None
                    return
                room = total

        in_two_threads(look_up, length)
        if len(parts) == 1:
            return parts[0]
        found = [part for _, part in sorted(parts.items()) if part is not None]
        return Matches(*map(np.concatenate, zip(*found, strict=True))) if len(found) == len(parts) else None

    def holds(self, positions: tuple[int, ...], keys: Sequence[Array], length: int, *, is_after: bool) -> Array:
        """Whether any row holds each of so many keys at the positions; without positions, whether there is any row."""
        if not positions:
            return np.full(length, len(self.live(is_after=is_after)) > 0)
        index = self._index(positions)
        held = np.empty(length, np.bool_)
        holds(
            self._rows,
            self._counts,
            self._pending,
            is_after,
            index.columns,
            index.heads,
            index.links,
            as_words(keys, length),
            index.places,
            held,
        )
        return held


def _longer(array: Array, room: int) -> Array:
    longer = np.zeros(room, array.dtype)
    longer[: len(array)] = array
    return longer
