"""A change in columns: rows and how often they come or go, read as tuples only where somebody asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from whence.columns.encoding import Array, Encoding
from whence.model.types import Row, Value
from whence.model.updates import CountedDelta


class ColumnDelta(CountedDelta):
    """Rows that are all different, in columns of numbers, and a weight for each, which is never 0."""

    def __init__(self, encodings: Sequence[Encoding], columns: Sequence[Array], weights: Array) -> None:
        self.encodings = encodings
        self.encoded = columns
        self.weights = weights

    def __getitem__(self, row: Row) -> int:
        return self._counts[row]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def totals(self) -> tuple[int, int]:
        coming = int(self.weights[self.weights > 0].sum())
        return coming, coming - int(self.weights.sum())

    def columns(self) -> tuple[Sequence[Sequence[Value]], Sequence[int]]:
        decoded = [encoding.decode(column) for encoding, column in zip(self.encodings, self.encoded, strict=True)]
        return decoded, self.weights.tolist()

    @cached_property
    def _counts(self) -> dict[Row, int]:
        columns, weights = self.columns()
        rows = zip(*columns, strict=True) if columns else iter([()] * len(weights))
        return dict(zip(rows, weights, strict=True))
