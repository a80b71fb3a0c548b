"""Terms that are computed row by row, from the values that columns have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

from whence.columns.encoding import INTEGER, Array, Encoding
from whence.columns.parts import Batch
from whence.errors import EvaluationError
from whence.model.types import Row, Value

# In a batch this short, equal rows are not worth looking for.
_SHORT = 32


@dataclass(frozen=True, slots=True)
class RowTerm:
    """A term that is computed row by row, and the slots that a row for it has, with their encodings."""

    evaluate: Callable[[Any], Value]
    columns: Sequence[tuple[int, Encoding]]

    @property
    def slots(self) -> list[int]:
        return [slot for slot, _ in self.columns]

    def read(self, batch: Batch, rows: Array | None) -> Iterable[Row]:
        """These rows, or all."""
        if not self.columns:
            return repeat((), batch.length if rows is None else len(rows))
        numbers = [batch.columns[slot] for slot, _ in self.columns]
        if rows is not None:
            numbers = [column[rows] for column in numbers]
        values = [encoding.decode(column) for (_, encoding), column in zip(self.columns, numbers, strict=True)]
        return zip(*values, strict=True)


def encoded_rows(term: RowTerm, encode: Callable[[Sequence[Value]], Array], batch: Batch) -> Array:
    """The term's values for a batch; raises the EvaluationError of the first row that has none."""
    rows, places = different(batch, term.slots)
    try:
        encoded = encode(list(map(term.evaluate, term.read(batch, rows))))
    except EvaluationError:
        # The different rows are in no order, and the error to raise is that of the first row.
        for row in term.read(batch, None):
            term.evaluate(row)
        raise
    return encoded if places is None else encoded[places]


def different(batch: Batch, slots: Sequence[int]) -> tuple[Array | None, Array | None]:
    """One row for each different combination of values in these slots, and which of them stands for each row.

    Both are None where that is not worth it.
    """
    if batch.length <= _SHORT:
        return None, None
    places: Array = np.zeros(batch.length, INTEGER)
    rows = places[:1]
    for count, slot in enumerate(slots):
        numbers = batch.columns[slot].view(INTEGER)
        if count:
            _, own = np.unique(numbers, return_inverse=True)
            numbers = places * batch.length + own
        _, rows, places = np.unique(numbers, return_index=True, return_inverse=True)
    return rows, places
