"""Different rows of numbers, each with a number of its own, and hash indexes on what they are looked up by."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from operator import is_
from typing import Any, Self

import numpy as np

from whence.columns.encoding import INTEGER, Array, Encoding
from whence.columns.hash_index import NOTHING, enter, find, gather, link, unlink
from whence.columns.two_threads import in_two_threads
from whence.model.types import Row

# Rows that there is room for at first.
LEAST_ROOM = 16
# And for how many more, at least, where more come.
LEAST_ENTERED = 1 << 12


def as_words(columns: Sequence[Array], length: int) -> Array:
    """Columns as one array of integers, as kernels take them."""
    if not columns:
        return np.empty((0, length), INTEGER)
    words: Array = np.array([each if each.dtype is INTEGER else each.view(INTEGER) for each in columns])
    return words


def columns_of(encodings: Sequence[Encoding], words: Array) -> list[Array]:
    """Columns as their encodings have them."""
    return [
        column if encoding.dtype is INTEGER else column.view(encoding.dtype)
        for encoding, column in zip(encodings, words, strict=True)
    ]


class HashIndex:
    """Rows by the values of some columns."""

    def __init__(self, columns: Sequence[int], rows: Array, size: int) -> None:
        self.columns = np.array(columns, INTEGER)
        self.places = np.arange(len(columns))
        self.heads: Array = np.empty(0, np.int32)
        self.links: Array = np.empty(0, np.int32)
        self.make_room(rows, size)

    def make_room(self, rows: Array, size: int) -> None:
        """For as many rows as the array has, of which there are so many."""
        room = len(rows)
        links = np.empty(room, np.int32)
        if len(self.heads) < room:
            # Two buckets for each row, at least: a row that is not the first of its bucket takes twice as long to find.
            self.heads = np.full(2 << (room - 1).bit_length(), NOTHING, np.int32)
            link(rows, 0, size, self.columns, self.heads, links)
        else:
            links[:size] = self.links[:size]
        self.links = links

    @classmethod
    def loaded(cls, columns: Sequence[int], heads: Array, links: Array) -> Self:
        """One that was saved, for an array of as many rows as there are links."""
        index = cls(columns, links[:0], 0)
        index.heads, index.links = heads, links
        return index


class NumberedRows:
    """Rows that stay until they are packed. `identity` are columns that tell most of them apart: by default, all."""

    def __init__(self, encodings: Sequence[Encoding], identity: Sequence[int] | None = None) -> None:
        self.encodings = tuple(encodings)
        self.width = len(self.encodings)
        # A relation without columns has at most one row, whose number nobody has to look up by a value.
        self._identity = tuple(range(self.width) if identity is None else identity)
        # Made when they are first needed.
        self._indexes: dict[tuple[int, ...], HashIndex] = {}
        self._rows: Array = np.empty((LEAST_ROOM, self.width), INTEGER)
        self._size = 0
        self._places = np.arange(self.width)
        # Where rows were found that are likely to be asked for once more.
        self._remembered: tuple[Sequence[Row], Array, Array] | None = None

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
        indexes = sum(each.nbytes for index in self._indexes.values() for each in (index.heads, index.links))
        return indexes + self._rows.nbytes

    def lent(self) -> Self:
        """The same rows for a reader whose indexes are its own, beside those that there are. Nothing is staged."""
        lent = copy(self)
        lent._indexes = dict(self._indexes)  # noqa: SLF001 - its own
        return lent

    def saved(self) -> dict[str, Any]:
        """All of it, for `restore`. Nothing is staged."""
        indexes = [[positions, each.heads, each.links[: self._size]] for positions, each in self._indexes.items()]
        return {"rows": self._rows[: self._size], "indexes": indexes}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Become what was saved, without rows before. There is room for no more of them, unless they are few."""
        self._rows = saved["rows"]
        self._size = len(self._rows)
        self._indexes = {
            tuple(positions): HashIndex.loaded(positions, heads, links) for positions, heads, links in saved["indexes"]
        }
        if self._size < LEAST_ROOM:
            self._resize(LEAST_ROOM)

    # Values.

    def column(self, at: int, rows: Array) -> Array:
        """The values of a column in rows of these numbers."""
        # In two steps, which numpy takes faster than both at once.
        numbers: Array = self._rows[:, at][rows]
        encoding = self.encodings[at]
        return numbers if encoding.dtype is INTEGER else numbers.view(encoding.dtype)

    def columns(self, rows: Array) -> list[Array]:
        return self.of_words(self.words(rows))

    def words(self, rows: Array) -> Array:
        """The values of rows of these numbers, as kernels take them."""
        words = np.empty((self.width, len(rows)), INTEGER)
        gather(self._rows, rows, self._places, words)
        return words

    def read_into(self, words: Array, places: Array, rows: Array) -> None:
        """Put the values of rows of these numbers into some columns of others."""
        gather(self._rows, rows, places, words)

    def of_words(self, words: Array) -> list[Array]:
        return columns_of(self.encodings, words)

    # Numbers.

    def find(self, words: Array) -> Array:
        """The numbers of rows with these values, NOTHING where there never was one."""
        found = np.empty(words.shape[1], INTEGER)
        index = self._index(self._identity)
        parts = self._rows, index.columns, index.heads, index.links, words
        in_two_threads(lambda first, last: find(*parts, first, last, found), words.shape[1])
        return found

    def remember(self, rows: Sequence[Row], numbers: Array, words: Array) -> None:
        """Rows, in whatever form they came, have these numbers and values."""
        self._remembered = rows, numbers, words

    def recall(self, rows: Sequence[Row]) -> tuple[Array, Array] | None:
        """The numbers and the values of rows, if just these objects were looked up last."""
        if self._remembered is None:
            return None
        (known, numbers, words), self._remembered = self._remembered, None
        same = known is rows or (isinstance(known, list) and len(known) == len(rows) and all(map(is_, known, rows)))
        return (numbers, words) if same else None

    def enter(self, words: Array) -> Array:
        """The numbers of rows, which have one from now on."""
        length = words.shape[1]
        found = np.empty(length, INTEGER)
        done = 0
        begun = self._size
        while done < length:
            if self._size == len(self._rows):
                # Not for all of them: they may be few that come often. But if most were new so far, the others are.
                is_mostly_new = 2 * (self._size - begun) > done >= LEAST_ENTERED
                self.make_room(length - done if is_mostly_new else min(length - done, max(self._size, LEAST_ENTERED)))
            first, identity = self._size, self._index(self._identity)
            self._size, done = enter(
                self._rows, first, identity.columns, identity.heads, identity.links, words, done, found
            )
            self._link(first, identity)
        return found

    def _link(self, first: int, known: HashIndex | None = None) -> None:
        """Put the newest rows into all indexes but one."""
        if self._size > first:
            for index in self._indexes.values():
                if index is not known:
                    link(self._rows, first, self._size, index.columns, index.heads, index.links)

    def _forget(self, first: int) -> None:
        """The rows from this number on have never been there."""
        if self._size > first:
            for index in self._indexes.values():
                unlink(self._rows, first, self._size, index.columns, index.heads, index.links)
            self._size = first

    def _index(self, positions: tuple[int, ...]) -> HashIndex:
        index = self._indexes.get(positions)
        if index is None:
            # Entered when it is complete: a reader may be interrupted before.
            index = self._indexes[positions] = HashIndex(positions, self._rows, self._size)
        return index

    def make_room(self, more: int) -> None:
        """For so many rows that are likely to be new."""
        needed = self._size + more
        if needed > len(self._rows):
            self._resize(max(needed, len(self._rows) + len(self._rows) // 2))

    def _resize(self, room: int) -> None:
        rows = np.empty((room, self.width), INTEGER)
        rows[: self._size] = self._rows[: self._size]
        self._rows = rows
        for index in self._indexes.values():
            index.make_room(rows, self._size)

    def _keep(self, kept: Array) -> None:
        """Nothing but these rows, in this order."""
        rows = np.empty((max(LEAST_ROOM, len(kept) + len(kept) // 4), self.width), INTEGER)
        rows[: len(kept)] = self._rows[kept]
        self._rows, self._size = rows, len(kept)
        self._indexes = {positions: HashIndex(positions, rows, self._size) for positions in self._indexes}
        self._remembered = None
