"""The rows of a heap by key, and under a key in the order of a value: what finds the next ones without the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import proxy

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute

from whence.engines.spark.decoded_segment import RUN, Hashes, Heap, Numbers, hash_rows, map_array

# The hashes of some keys and the values that lie under them, row by row.
Piece = tuple[Hashes, pa.Array]


@dataclass(frozen=True, slots=True)
class _Run:
    """Hashes in ascending order, and with each the number of its row; where hashes are the same, in order of values."""

    hashes: Hashes
    numbers: Numbers

    def page(
        self, key: np.uint64, after: Any, value_of: Callable[[int], Any], *, descending: bool, most: int
    ) -> Numbers:
        """The first rows under a key behind a value: so many, and all that have the value of the last one."""
        first = int(np.searchsorted(self.hashes, key, "left"))
        last = int(np.searchsorted(self.hashes, key, "right"))

        def place(value: Any, *, with_equal: bool) -> int:
            """Where the values begin that are greater."""
            low, high = first, last
            while low < high:
                middle = (low + high) // 2
                found = value_of(int(self.numbers[middle]))
                if found < value or (with_equal and found == value):
                    low = middle + 1
                else:
                    high = middle
            return low

        if descending:
            end = last if after is None else place(after, with_equal=False)
            begin = max(first, end - most)
            if first < begin < end:
                begin = place(value_of(int(self.numbers[begin])), with_equal=False)
        else:
            begin = first if after is None else place(after, with_equal=True)
            end = min(last, begin + most)
            if begin < end < last:
                end = place(value_of(int(self.numbers[end - 1])), with_equal=True)
        return self.numbers[begin:end]


class OrderedIndex:
    """The rows of a heap by the columns of a key, and under a key by a column of values that are not NULL.

    It is sorted in runs, so that a large heap need not be in memory.
    """

    def __init__(self, heap: Heap, keys: tuple[str, ...], value: str) -> None:
        self._heap = proxy(heap)
        self._value = value
        self._runs = [*_runs(_pieces(heap, keys, value), heap.directory)]

    def pages(self, key: np.uint64, after: Any, *, descending: bool, most: int) -> Iterator[pa.Table]:
        """From each run the next rows under the hash of a key: the first behind the value `after`, or of all if that is
        None. A page of fewer than `most` rows is the last one.
        """

        def value_of(number: int) -> Any:
            return self._heap.value(self._value, number)

        for run in self._runs:
            yield self._heap.rows(np.sort(run.page(key, after, value_of, descending=descending, most=most)))


def _pieces(heap: Heap, keys: tuple[str, ...], value: str) -> Iterator[Piece]:
    for _, batch in heap.batches():
        hashes = hash_rows([batch.column(name) for name in keys]) if keys else np.zeros(batch.num_rows, np.uint64)
        yield hashes, batch.column(value)


def _runs(pieces: Iterable[Piece], directory: Path | None) -> Iterator[_Run]:
    pending: list[Piece] = []
    first = size = 0
    for piece in pieces:
        pending.append(piece)
        size += len(piece[0])
        if size >= RUN:
            yield _sorted(pending, first, directory)
            first, size, pending = first + size, 0, []
    if pending:
        yield _sorted(pending, first, directory)


def _sorted(pieces: list[Piece], first: int, directory: Path | None) -> _Run:
    hashes = np.concatenate([hashes for hashes, _ in pieces])
    values = pa.chunked_array([values for _, values in pieces])
    table = pa.table({"key": hashes, "value": values})
    order = compute.sort_indices(table, sort_keys=[("key", "ascending"), ("value", "ascending")]).to_numpy()
    return _Run(map_array(directory, hashes[order]), map_array(directory, order.astype(np.int64) + first))
