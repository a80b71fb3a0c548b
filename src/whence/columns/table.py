"""A relation in columns: distinct rows of numbers with a count each, and hash indexes on what joins probe.

A change is staged first. From then on the table can be read as it was and as it will be, until the change is settled or
dropped. Staging adds rows with a count of 0; nothing that is there is touched.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from whence.columns.delta import ColumnDelta
from whence.columns.encoding import INTEGER, Array, Encoding
from whence.columns.hash_index import NOTHING, add_up, enter, find, holds, link, probe

# Rows that there is room for at first.
LEAST_ROOM = 16
# Rows that are gone are removed when they outnumber the others, but not for so few.
FEW_GONE = 1_024


_NOTHING_SETTLED: tuple[Array, Array] = (np.empty(0, INTEGER), np.empty(0, INTEGER))


class Matches(NamedTuple):
    """For each match the number of its key, the row, and how often the row is there."""

    keys: Array
    rows: Array
    weights: Array


class HashIndex:
    """The rows of a table by the values of some columns."""

    def __init__(self, columns: Sequence[int]) -> None:
        self.columns = np.array(columns, INTEGER)
        self.places = np.arange(len(columns))
        self.heads: Array = np.full(LEAST_ROOM, NOTHING, np.int32)
        self.links: Array = np.full(LEAST_ROOM, NOTHING, np.int32)

    def make_room(self, rows: Array, size: int) -> None:
        """For as many rows as the array has, of which there are so many."""
        room = len(rows)
        links = np.empty(room, np.int32)
        if 2 * len(self.heads) < room:
            self.heads = np.full(1 << (room - 1).bit_length(), NOTHING, np.int32)
            self.links = links
            link(rows, 0, size, self.columns, self.heads, links)
        else:
            links[:size] = self.links[:size]
            self.links = links


class ColumnTable:
    """The rows of one relation. In a set every row with a positive count is there once.

    `identity` are columns that tell rows apart: a key where there is one, else all of them.
    """

    def __init__(self, encodings: Sequence[Encoding], *, is_set: bool, identity: Sequence[int] | None = None) -> None:
        self.encodings = tuple(encodings)
        self.width = len(self.encodings)
        self.is_set = is_set
        # How many rows are there now.
        self.present = 0
        # A relation without columns has at most one row, whose number nobody has to look up by a value.
        self._identity = HashIndex(range(self.width) if identity is None else identity)
        self._indexes = {tuple(self._identity.columns.tolist()): self._identity}
        self._rows: Array = np.empty((LEAST_ROOM, self.width), INTEGER)
        self._counts: Array = np.zeros(LEAST_ROOM, INTEGER)
        self._pending: Array = np.zeros(LEAST_ROOM, INTEGER)
        self._size = 0
        self._staged: Array = np.empty(0, INTEGER)
        # The rows that were settled last, and how often they were there before.
        self._settled = _NOTHING_SETTLED

    @property
    def size(self) -> int:
        """How many rows have a number."""
        return self._size

    @property
    def indexed(self) -> Collection[tuple[int, ...]]:
        """The columns by which rows are found at once, in every combination that there is so far."""
        return self._indexes.keys()

    @property
    def state_bytes(self) -> int:
        arrays = [self._rows, self._counts, self._pending]
        return sum(each.nbytes for index in self._indexes.values() for each in (index.heads, index.links)) + sum(
            array.nbytes for array in arrays
        )

    # Changes.

    def stage(self, columns: Sequence[Array], weights: Array) -> ColumnDelta:
        """Begin a change: how often rows come or go. Answers what that means to readers, each row once."""
        return self.stage_rows(self.enter(columns, len(weights)), weights.copy(), columns)

    def stage_rows(self, rows: Array, weights: Array, columns: Sequence[Array] | None = None) -> ColumnDelta:
        """The same for rows of these numbers, and these values. The weights are not the caller's any more."""
        changed = np.empty(len(rows), INTEGER)
        total = add_up(self._pending, rows, weights, changed)
        self._staged = changed[:total]
        visible, weights = self._visible(self._staged, weights[:total])
        if columns is None or len(visible) < len(rows):
            columns = self.columns(visible)
        return ColumnDelta(self.encodings, columns, weights)

    def _visible(self, rows: Array, weights: Array) -> tuple[Array, Array]:
        """The rows that readers see come or go, and how often."""
        if not self.is_set:
            return rows, weights
        before = self._counts[rows]
        was, will = before > 0, before + weights > 0
        differ = was != will
        if differ.all() and (np.abs(weights) == 1).all():
            return rows, weights
        return rows[differ], np.where(will[differ], 1, -1)

    def settle(self, *, is_final: bool = True) -> None:
        """What was staged has happened. If that is not final, `unsettle` may follow."""
        staged = self._staged
        if is_final:
            self._settled = _NOTHING_SETTLED
        if not len(staged):
            return
        before = self._counts[staged]
        after = before + self._pending[staged]
        self._counts[staged] = after
        self._pending[staged] = 0
        self._staged = staged[:0]
        if not is_final:
            self._settled = staged, before
        self.present += self._number_there(after) - self._number_there(before)

    def unsettle(self) -> None:
        """What was settled last has not happened. Nothing was packed since."""
        rows, before = self._settled
        self.present += self._number_there(before) - self._number_there(self._counts[rows])
        self._counts[rows] = before
        self._settled = _NOTHING_SETTLED

    def drop(self) -> None:
        """What was staged does not happen."""
        self._pending[self._staged] = 0
        self._staged = self._staged[:0]

    def _number_there(self, counts: Array) -> int:
        return int(np.count_nonzero(counts > 0 if self.is_set else counts))

    @property
    def is_worth_packing(self) -> bool:
        return self._size > 2 * self.present + FEW_GONE

    def pack(self) -> Array:
        """Remove rows that are gone. Answers the new number of each row, NOTHING for those. Nothing is staged."""
        kept = np.flatnonzero(self._counts[: self._size])
        numbers = np.full(self._size, NOTHING, INTEGER)
        numbers[kept] = np.arange(len(kept))
        room = max(LEAST_ROOM, len(kept) + len(kept) // 4)
        rows = np.empty((room, self.width), INTEGER)
        rows[: len(kept)] = self._rows[kept]
        counts = np.zeros(room, INTEGER)
        counts[: len(kept)] = self._counts[kept]
        self._rows, self._counts, self._pending = rows, counts, np.zeros(room, INTEGER)
        self._size = len(kept)
        for positions in list(self._indexes):
            self._indexes[positions] = self._made(positions)
        self._identity = self._indexes[tuple(self._identity.columns.tolist())]
        return numbers

    # Rows.

    def words(self, columns: Sequence[Array], length: int) -> Array:
        """Columns of integers, one after the other, as kernels take them."""
        words = np.empty((self.width, length), INTEGER)
        for at, (column, encoding) in enumerate(zip(columns, self.encodings, strict=True)):
            words[at] = column if encoding.dtype is INTEGER else column.view(INTEGER)
        return words

    def column(self, at: int, rows: Array) -> Array:
        """The values of a column in rows of these numbers."""
        numbers: Array = self._rows[rows, at]
        encoding = self.encodings[at]
        return numbers if encoding.dtype is INTEGER else numbers.view(encoding.dtype)

    def columns(self, rows: Array) -> list[Array]:
        return [self.column(at, rows) for at in range(self.width)]

    def find(self, columns: Sequence[Array], length: int) -> Array:
        """The numbers of rows with these values, NOTHING where there never was one."""
        found = np.empty(length, INTEGER)
        index = self._identity
        find(self._rows, index.columns, index.heads, index.links, self.words(columns, length), found)
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

    # Lookups.

    def probe(
        self, positions: tuple[int, ...], keys: Sequence[Array], length: int, *, is_after: bool, most: int | None = None
    ) -> Matches | None:
        """The rows that hold each of so many keys at the positions; None where there are more than `most`."""
        index = self._index(positions)
        words = self._key_words(positions, keys, length)
        buckets = np.empty(length, INTEGER)
        # Of a key, or of a set's columns, there is but one row.
        room = length if index is self._identity and self.is_set else max(LEAST_ROOM, 2 * length)
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
                index.places,
                buckets,
                key_of,
                found,
                weights,
            )
            if total <= room:
                return Matches(key_of[:total], found[:total], weights[:total])
            if most is not None and total > most:
                return None
            room = total

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
            self._key_words(positions, keys, length),
            index.places,
            held,
        )
        return held

    def _key_words(self, positions: tuple[int, ...], keys: Sequence[Array], length: int) -> Array:
        words = np.empty((len(positions), length), INTEGER)
        for at, (key, position) in enumerate(zip(keys, positions, strict=True)):
            words[at] = key if self.encodings[position].dtype is INTEGER else key.view(INTEGER)
        return words

    def _index(self, positions: tuple[int, ...]) -> HashIndex:
        index = self._indexes.get(positions)
        if index is None:
            # Entered when it is complete: a reader may be interrupted before.
            index = self._indexes[positions] = self._made(positions)
        return index

    def _made(self, positions: tuple[int, ...]) -> HashIndex:
        index = HashIndex(positions)
        room = len(self._rows)
        index.heads = np.full(1 << (room - 1).bit_length(), NOTHING, np.int32)
        index.links = np.empty(room, np.int32)
        link(self._rows, 0, self._size, index.columns, index.heads, index.links)
        return index

    def enter(self, columns: Sequence[Array], length: int) -> Array:
        """The numbers of so many rows, which have one from now on, if only with a count of 0."""
        self._make_room(length)
        found = np.empty(length, INTEGER)
        words = self.words(columns, length)
        first = self._size
        identity = self._identity
        self._size = enter(self._rows, first, identity.columns, identity.heads, identity.links, words, found)
        for index in self._indexes.values():
            if index is not identity:
                link(self._rows, first, self._size, index.columns, index.heads, index.links)
        return found

    def _make_room(self, more: int) -> None:
        needed = self._size + more
        if needed <= len(self._rows):
            return
        room = max(needed, len(self._rows) + len(self._rows) // 2)
        rows = np.empty((room, self.width), INTEGER)
        rows[: self._size] = self._rows[: self._size]
        self._rows = rows
        self._counts = _longer(self._counts, room)
        self._pending = _longer(self._pending, room)
        for index in self._indexes.values():
            index.make_room(rows, self._size)


def _longer(array: Array, room: int) -> Array:
    return np.concatenate([array, np.zeros(room - len(array), array.dtype)])
