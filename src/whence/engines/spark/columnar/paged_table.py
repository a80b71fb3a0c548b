"""A table of a commit's own: the rows that the change comes with, and those of the state that it looks up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
import pyarrow as pa

from whence.columns.delta import ColumnDelta
from whence.columns.encoding import INTEGER, NULL, Array, Encoding, Encodings
from whence.columns.numbered_rows import NumberedRows, as_words
from whence.columns.table import ColumnTable, Matches
from whence.functions.widening import is_integer
from whence.incremental.keyed import key_positions
from whence.model.schema import Relation

# The rows of the state that hold one of these keys; without positions, all of them.
Find = Callable[[Sequence[int], Sequence[pa.Array]], pa.Table]


def encoded_table(encodings: Sequence[Encoding], table: pa.Table, used: Collection[int] | None = None) -> Array:
    """The columns `c0`, `c1`, ... of a table as kernels take them, with zeros in those that are not used, if any."""
    unused: Array = np.zeros(table.num_rows, INTEGER)
    columns = [
        each.from_arrow(one_chunk(table.column(f"c{at}"))) if used is None or at in used else unused
        for at, each in enumerate(encodings)
    ]
    return as_words(columns, table.num_rows)


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


class NewKeys:
    """Keys of which each is asked for once."""

    def __init__(self, encodings: Sequence[Encoding]) -> None:
        self._encodings = encodings
        self._known = NumberedRows(encodings)

    def take(self, keys: Sequence[Array], length: int) -> list[pa.Array] | None:
        """Those that have not been taken before; None if all have been."""
        first = self._known.size
        self._known.enter(as_words(keys, length))
        new = np.arange(first, self._known.size)
        if not len(new):
            return None
        columns = self._known.columns(new)
        fits = np.logical_and.reduce(
            [_fits(each, column) for each, column in zip(self._encodings, columns, strict=True)]
        )
        if not fits.all():
            columns = [column[fits] for column in columns]
        return [each.to_arrow(column) for each, column in zip(self._encodings, columns, strict=True)]


def _fits(encoding: Encoding, column: Array) -> Array:
    """Which values a column can have at all: a longer number may be looked for, and is not there."""
    if not is_integer(encoding.type):
        return np.ones(len(column), np.bool_)
    limits = encoding.type.limits
    fits: Array = (column == NULL) | ((column >= limits[0]) & (column <= limits[-1]))
    return fits


class PagedTable(ColumnTable):
    """Rows are looked up in the state before they are probed, each key once.

    In the table of a set that others read, a row is there or not; that of the view itself has the number of its
    derivations, so that it is known which of them come to be there. Where not all columns are `used`, rows that differ
    in others are one row, as often as they are there together.
    """

    def __init__(
        self,
        relation: Relation,
        encodings: Encodings,
        find: Find,
        *,
        is_own: bool = False,
        used: Collection[int] | None = None,
    ) -> None:
        identity = key_positions(relation) or None
        super().__init__(encodings.of_relation(relation), is_set=relation.distinct, identity=identity)
        self._find = find
        self._is_own = is_own
        self.used = used
        self._asked: dict[tuple[int, ...], NewKeys] = {}
        self._is_whole = False

    def enter_change(self, words: Array, weights: Array) -> ColumnDelta:
        """Stage a change that others see: of a set, a row that goes was there, and one that comes was not."""
        if self.is_set:
            self.take_as_there(self.enter(words[:, weights < 0]))
        return super().stage(words, weights)

    def stage(self, words: Array, weights: Array) -> ColumnDelta:
        if self.is_set and words.shape[1]:
            self._page(tuple(range(self.width)), self.of_words(words), words.shape[1])
        return super().stage(words, weights)

    def change(self) -> ColumnDelta:
        """By how much the counts of rows change, also where nobody sees that."""
        rows, weights = self.pending()
        return ColumnDelta(self.encodings, self.words(rows), weights)

    def presence(self, words: Array) -> Array:
        """How often each of some rows is there."""
        self._page(tuple(range(self.width)), self.of_words(words), words.shape[1])
        return self.counts(self.find(words))

    def probe(
        self, positions: tuple[int, ...], keys: Sequence[Array], length: int, *, is_after: bool, most: int | None = None
    ) -> Matches | None:
        self._page(positions, keys, length)
        return super().probe(positions, keys, length, is_after=is_after, most=most)

    def holds(self, positions: tuple[int, ...], keys: Sequence[Array], length: int, *, is_after: bool) -> Array:
        if positions:
            self._page(positions, keys, length)
        return super().holds(positions, keys, length, is_after=is_after)

    def live(self, *, is_after: bool = False) -> Array:
        if not self._is_whole:
            self._is_whole = True
            self._take(self._find((), ()))
        return super().live(is_after=is_after)

    def _page(self, positions: tuple[int, ...], keys: Sequence[Array], length: int) -> None:
        if self._is_whole:
            return
        if not positions:
            self.live()
            return
        asked = self._asked.get(positions)
        if asked is None:
            asked = self._asked[positions] = NewKeys([self.encodings[at] for at in positions])
        new = asked.take(keys, length)
        if new is not None:
            self._take(self._find(positions, new))

    def _take(self, found: pa.Table) -> None:
        """Rows as they are in the state. Where they are known already, they are the same."""
        if not found.num_rows:
            return
        counts = (
            one_chunk(found.column("n")).to_numpy() if "n" in found.column_names else np.ones(found.num_rows, INTEGER)
        )
        rows = self.enter(encoded_table(self.encodings, found, self.used))
        totals = added_up(rows, counts)
        if self.is_set and not self._is_own:
            totals = (totals > 0).astype(INTEGER)
        self.take_as_there(rows, totals)


def added_up(rows: Array, counts: Array) -> Array:
    """For each row the sum of the counts that are listed for it."""
    sums = np.zeros(int(rows.max(initial=-1)) + 1, INTEGER)
    np.add.at(sums, rows, counts)
    totals: Array = sums[rows]
    return totals
