"""A change in columns: rows and how often they come or go, read as tuples or as Arrow only where somebody asks."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whence.columns.arrow import ArrowDelta, ArrowRows, CountedRows
from whence.columns.encoding import INTEGER, Array, Encoding
from whence.columns.hash_index import add_totals
from whence.columns.numbered_rows import columns_of
from whence.columns.order import in_order
from whence.model.types import RecordType, Row, Value
from whence.model.updates import CountedDelta, Delta

if TYPE_CHECKING:
    import pyarrow as pa


class ColumnDelta(CountedDelta):
    """Rows that are all different, in columns of numbers, and a weight for each, which is never 0."""

    def __init__(self, encodings: Sequence[Encoding], words: Array | Callable[[], Array], weights: Array) -> None:
        """The columns as an array of integers, or what makes it when it is first read."""
        self.encodings = encodings
        self._words = words
        self.weights = weights
        self._columns: Sequence[Array] | None = None

    @property
    def words(self) -> Array:
        """The columns as kernels take them."""
        if callable(self._words):
            self._words = self._words()
        return self._words

    @property
    def encoded(self) -> Sequence[Array]:
        """The columns as their encodings have them."""
        if self._columns is None:
            self._columns = columns_of(self.encodings, self.words)
        return self._columns

    def __getitem__(self, row: Row) -> int:
        return self._counts[row]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self.weights)

    def items(self) -> ItemsView[Row, int]:
        return self._counts.items()

    @property
    def totals(self) -> tuple[int, int]:
        return add_totals(self.weights)

    def columns(self) -> tuple[Sequence[Sequence[Value]], Sequence[int]]:
        decoded = [encoding.decode(column) for encoding, column in zip(self.encodings, self.encoded, strict=True)]
        return decoded, self.weights.tolist()

    @cached_property
    def _counts(self) -> dict[Row, int]:
        columns, weights = self.columns()
        rows = zip(*columns, strict=True) if columns else iter([()] * len(weights))
        return dict(zip(rows, weights, strict=True))


class ArrowChange(NamedTuple):
    """Rows, and how often each of them comes or goes."""

    arrays: Sequence[pa.Array]
    weights: Array


def arrow_change(delta: Delta) -> ArrowChange | None:
    """A change that is kept in columns, each row once and in the order of the change; None for one that is not."""
    if isinstance(delta, ColumnDelta):
        arrays = [each.to_arrow(column) for each, column in zip(delta.encodings, delta.encoded, strict=True)]
        return ArrowChange(arrays, delta.weights)
    if isinstance(delta, ArrowDelta):
        delta = delta.counted
    return ArrowChange(delta.rows.arrays, np.array(delta.counts, INTEGER)) if isinstance(delta, CountedRows) else None


def sorted_change(delta: Delta) -> ArrowChange | None:
    """The same in the order of the rows; None also for what has to be sorted row by row."""
    if isinstance(delta, ColumnDelta):
        order = in_order(delta.encodings, delta.encoded, len(delta))
        arrays = [each.to_arrow(column[order]) for each, column in zip(delta.encodings, delta.encoded, strict=True)]
        return ArrowChange(arrays, delta.weights[order])
    if isinstance(delta, ArrowDelta):
        return _sorted(delta.rows, np.full(len(delta), delta.weight, INTEGER))
    if isinstance(delta, CountedRows):
        return _sorted(delta.rows, np.array(delta.counts, INTEGER))
    return None


def _sorted(rows: ArrowRows, weights: Array) -> ArrowChange | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    if any(column.type.inner or isinstance(column.type, RecordType) for column in rows.relation.columns):
        return None
    keys: list[pa.Array] = []
    for array in rows.arrays:
        # NULL comes first.
        keys += [array.is_valid(), array] if array.null_count else [array]
    names = [str(at) for at in range(len(keys))]
    order = pc.sort_indices(pa.Table.from_arrays(keys, names), [(name, "ascending") for name in names])
    return ArrowChange([array.take(order) for array in rows.arrays], weights[order.to_numpy()])
