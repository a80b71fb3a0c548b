"""What the parts of a term compute for a batch: values, which of them are NULL, and which are in doubt.

Between the parts of a term values lie almost as in columns. Truth values are numpy's, a long DECIMAL is a whole number
of its last digit's units like a short one, and NULL is told by a mask, so that the number in its place means nothing.

A row is in doubt when the arrays cannot say for certain what its value is, or whether it has one: after an overflow,
say. What is said of its value then means nothing either. To doubt too much costs time and is never wrong, since rows in
doubt are computed one by one in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from whence.columns.encoding import FLOATING, INTEGER, Array
from whence.model.types import BOOLEAN, DOUBLE, REAL, DecimalType, IntegerType, Type, Value
from whence.model.types.decimals import LONG_DIGITS

# Decimals are computed with in arrays as long as they have no more than 18 digits: two of them can be added.
UNITS = 10**LONG_DIGITS


class Batch(Protocol):
    """The columns by their slots, all of one length."""

    @property
    def columns(self) -> Mapping[int, Array]: ...

    @property
    def length(self) -> int: ...


# Which rows; an array without dimensions says the same of all of them, and comes from a constant.
Mask: TypeAlias = Array
# The values, which of them are NULL, and which rows are in doubt; None says that there are no such rows.
Computed: TypeAlias = tuple[Array, Mask | None, Mask | None]
Run: TypeAlias = Callable[[Batch], Computed]
# Functions of values none of which is NULL: the result, and which rows are in doubt.
Unary: TypeAlias = Callable[[Array], tuple[Array, Mask | None]]
Binary: TypeAlias = Callable[[Array, Array], tuple[Array, Mask | None]]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a term, with values of type `kind`. A constant has a `value`, and arrays without dimensions."""

    kind: Type
    run: Run
    is_constant: bool = False
    value: Value = None
    # The slots that it reads.
    slots: frozenset[int] = frozenset()
    # Whether something in it is computed row by row: then it is only for the rows that need it.
    is_costly: bool = False
    # Whether all of it is.
    is_by_rows: bool = False

    @property
    def number(self) -> float | int | bool:
        """What stands for a constant in arrays."""
        number: float | int | bool = self.run(_NO_ROWS)[0].item()
        return number

    @property
    def bound(self) -> int:
        """What no absolute value of a whole number, or of a decimal's units, is above."""
        return abs(int(self.number)) if self.is_constant else bound(self.kind)


@dataclass(frozen=True, slots=True)
class Selection:
    """Some rows of a batch, of the columns that are read."""

    columns: Mapping[int, Array]
    length: int


_NO_ROWS = Selection({}, 0)


def bound(kind: Type) -> int:
    if isinstance(kind, IntegerType):
        return kind.limits.stop
    assert isinstance(kind, DecimalType)
    return (UNITS if kind.precision > LONG_DIGITS else int(10**kind.precision)) - 1


def dtype_of(kind: Type) -> np.dtype[np.generic]:
    return np.dtype(np.bool_) if kind == BOOLEAN else FLOATING if kind in (DOUBLE, REAL) else INTEGER


def either(left: Mask | None, right: Mask | None) -> Mask | None:
    return right if left is None else left if right is None else left | right


def strict_unary(kernel: Unary, operand: Run) -> Run:
    def run(batch: Batch) -> Computed:
        values, nulls, doubt = operand(batch)
        result, own = kernel(values)
        return result, nulls, _all_doubt(own, nulls, doubt)

    return run


def strict(kernel: Binary, left: Run, right: Run) -> Run:
    def run(batch: Batch) -> Computed:
        a, nulls, doubt = left(batch)
        b, more_nulls, more_doubt = right(batch)
        if more_nulls is not None:
            nulls = more_nulls if nulls is None else nulls | more_nulls
        if more_doubt is not None:
            doubt = more_doubt if doubt is None else doubt | more_doubt
        result, own = kernel(a, b)
        return result, nulls, doubt if own is None else _all_doubt(own, nulls, doubt)

    return run


def _all_doubt(own: Mask | None, nulls: Mask | None, doubt: Mask | None) -> Mask | None:
    """The doubt about operands, and about a result where it is not NULL."""
    if own is None or not np.count_nonzero(own):
        return doubt
    return either(own if nulls is None else own & ~nulls, doubt)


def where_needed(part: Part, batch: Batch, needed: Mask) -> Computed:
    """What the part computes for the rows that need it. For others it is not computed if that is costly."""
    if not part.is_costly or not needed.ndim:
        return part.run(batch)
    rows = np.flatnonzero(needed)
    if len(rows) == batch.length:
        return part.run(batch)
    columns = {slot: batch.columns[slot][rows] for slot in part.slots}
    values, nulls, doubt = part.run(Selection(columns, len(rows)))
    spread = np.zeros(batch.length, values.dtype)
    spread[rows] = values
    return spread, _spread(nulls, rows, batch.length), _spread(doubt, rows, batch.length)


def _spread(mask: Mask | None, rows: Array, length: int) -> Mask | None:
    if mask is None:
        return None
    spread = np.zeros(length, np.bool_)
    spread[rows] = mask
    return spread


class Choice:
    """The rows' values from several sources, one after the other."""

    def __init__(self, kind: Type, length: int) -> None:
        self._values: Array = np.zeros(length, dtype_of(kind))
        self._nulls: Mask | None = None
        self._doubt: Mask | None = None
        # The rows that have no value yet.
        self.undecided: Mask = np.ones(length, np.bool_)

    def take(self, chosen: Mask, source: Computed) -> None:
        """Takes the values of undecided rows, and decides these."""
        values, nulls, doubt = source
        np.copyto(self._values, values, where=chosen)
        if nulls is not None:
            self._nulls = either(self._nulls, nulls & chosen)
        if doubt is not None:
            self._doubt = either(self._doubt, doubt & chosen)
        self.undecided &= ~chosen

    def doubt(self, doubt: Mask | None) -> None:
        """Of rows that are undecided it may be in doubt whether they should be."""
        if doubt is not None:
            self._doubt = either(self._doubt, doubt & self.undecided)

    def made(self) -> Computed:
        return self._values, self._nulls, self._doubt
