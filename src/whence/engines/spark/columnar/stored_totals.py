"""What is stored of a group's folds, as the words that kernels add to, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from whence.columns import NotInColumnsError
from whence.columns.encoding import INTEGER, Array
from whence.columns.sums import WORD_BITS
from whence.engines.spark.columnar.paged_table import one_chunk
from whence.engines.spark.exact_sums import total_type
from whence.engines.spark.payloads import BEST, COUNT, HELD, KINDS, TOTAL, FoldColumns
from whence.incremental.columnar.folds import ColumnFold, DoubleFold, IntegerFold
from whence.incremental.columnar.value_folds import DistinctFold, ExtremeFold
from whence.model.types import DecimalType

_WORD = (1 << WORD_BITS) - 1
# A total whose higher 64 bits are beyond this does not fit into the two words of a fold.
_HIGHEST = 1 << 30


def load(fold: ColumnFold, kept: FoldColumns, state: Array, groups: Array, found: pa.Table) -> None:
    """Let groups be what a table has stored of them, in its order."""

    def column(part: str) -> pa.Array:
        return one_chunk(found.column(f"f{kept.number}_{part}"))

    if isinstance(fold, ExtremeFold):
        state[groups, fold.at] = column(HELD).to_numpy(zero_copy_only=False)
        state[groups, fold.at + 1] = fold.given.from_arrow(column(BEST)).view(INTEGER)
        return
    state[groups, fold.at] = column(COUNT).to_numpy(zero_copy_only=False)
    inner = fold.inner if isinstance(fold, DistinctFold) else fold
    if isinstance(inner, IntegerFold):
        low, high = _halves(column(TOTAL))
        if len(high) and (high.max() >= _HIGHEST or high.min() < -_HIGHEST):
            raise NotInColumnsError("a total of more than 94 bits")
        state[groups, fold.at + 1] = low & _WORD
        state[groups, fold.at + 2] = (high << WORD_BITS) | ((low >> WORD_BITS) & _WORD)
    elif isinstance(inner, DoubleFold):
        inner.load(groups, [int(total) for total in column(TOTAL).to_pylist()])


def unload(fold: ColumnFold, kept: FoldColumns, state: Array, groups: Array) -> dict[str, pa.Array]:
    """What is to be stored of groups."""
    rows = state[groups]
    parts: Mapping[str, Any]
    if isinstance(fold, ExtremeFold):
        held = rows[:, fold.at]
        best = np.where(held == 0, fold.given.null, rows[:, fold.at + 1].view(fold.given.dtype))
        parts = {HELD: held, BEST: fold.given.to_arrow(best)}
    else:
        inner = fold.inner if isinstance(fold, DistinctFold) else fold
        counts = rows[:, fold.at]
        parts = {HELD: counts, KINDS: counts, COUNT: counts, TOTAL: _totals(inner, kept, rows, groups)}
    return {f"f{kept.number}_{part}": as_integers(parts[part]) for part in kept.parts}


def as_integers(values: Any) -> pa.Array:
    return values if isinstance(values, pa.Array) else pa.array(np.ascontiguousarray(values), pa.int64())


def _totals(fold: ColumnFold, kept: FoldColumns, rows: Array, groups: Array) -> pa.Array:
    kind = total_type(kept.kind)
    if isinstance(fold, IntegerFold):
        low = (rows[:, fold.at + 1] & _WORD) | (rows[:, fold.at + 2] << WORD_BITS)
        words = np.stack([low, rows[:, fold.at + 2] >> WORD_BITS], axis=1)
        return pa.Array.from_buffers(kind.arrow(), len(rows), [None, pa.py_buffer(np.ascontiguousarray(words))])
    if isinstance(fold, DoubleFold):
        return pa.array([str(total) for total in fold.totals(groups)], kind.arrow())
    # A count adds up nothing.
    zero = pa.scalar(0).cast(kind.arrow()) if isinstance(kind, DecimalType) else pa.scalar("0")
    return pa.repeat(zero, len(rows))


def _halves(column: pa.Array) -> tuple[Array, Array]:
    """The lower and the higher 64 bits of decimals."""
    words = np.frombuffer(column.buffers()[1], INTEGER)[2 * column.offset : 2 * (column.offset + len(column))]
    return words[::2], words[1::2]
