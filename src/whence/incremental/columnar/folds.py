"""count, sum and avg of many groups at once, in arrays by the group's number."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from whence.columns import NotInColumnsError
from whence.columns.encoding import (
    FLOATING,
    INTEGER,
    LONGEST_UNITS,
    NULL,
    OUTLIER,
    Array,
    DecimalEncoding,
    Encodings,
)
from whence.columns.sums import (
    NARROW_EXPONENT,
    NARROW_WORDS,
    WIDE_EXPONENT,
    WIDE_WORDS,
    add_counts,
    add_doubles,
    add_integers,
    fits_range,
    whole,
    widened,
)
from whence.functions.widening import is_integer
from whence.incremental.aggregates import TypedAggregate
from whence.incremental.counting.totals import finish
from whence.model.types import DecimalType, Type, Value
from whence.model.types.decimals import CONTEXT

# The last bit of the sums that `finish` takes.
UNIT_EXPONENT = -1074
# Whole numbers up to this are DOUBLEs.
_EXACT = 2**53


class ColumnFold:
    """One aggregate: what it keeps are arrays with a place for every group, which grow together with them."""

    def __init__(self, aggregate: TypedAggregate, encodings: Encodings, column: Type) -> None:
        assert aggregate.input is not None, "count<*> is known from the group itself"
        self.function, self.input, self.output = aggregate.function, aggregate.input, aggregate.output
        self._column = encodings.of(column)
        self._convert = aggregate.convert
        self._given = encodings.of(aggregate.input)
        self._made = encodings.of(aggregate.output)
        self._finish = finish(aggregate.function, aggregate.input, aggregate.output)
        self.counts: Array = np.zeros(0, INTEGER)

    @property
    def arrays(self) -> list[Array]:
        """All that is kept. They are written to in place."""
        return [self.counts]

    def resize(self, chosen: Array, room: int, *, renumbers: bool) -> None:  # noqa: ARG002 - others have numbers of groups
        """Keep these groups, in this order, and make room for more. `renumbers` says whether any has a new number."""
        self.counts = resized(self.counts, chosen, room)

    def add(self, groups: Array, weights: Array, values: Array) -> None:
        add_counts(self.counts, groups, weights, self._given.is_null(values))

    def results(self, groups: Array) -> Array:
        """The values of groups, as the view's column has them."""
        found = self._results(groups)
        if self._convert is None:
            return found
        convert = self._convert
        return self._column.encode([convert(value) for value in self._made.decode(found)])

    def _results(self, groups: Array) -> Array:
        counts = self.counts[groups]
        found = self._at_once(groups, counts)
        if found is None:
            of_nothing = 0 if self.function == "count" else None
            values: list[Value] = [
                self._finish(count, total) if count else of_nothing
                for count, total in zip(counts.tolist(), self._totals(groups), strict=True)
            ]
            found = self._made.encode(values)
        return found

    def settle(self) -> None:
        """What was added has happened."""

    def undo(self) -> None:
        """It has not. The arrays are as before already."""

    def _at_once(self, groups: Array, counts: Array) -> Array | None:  # noqa: ARG002 - others look at the groups
        """The results, if they can be had without Python's numbers."""
        return counts

    def _totals(self, groups: Array) -> Sequence[Any]:
        raise NotImplementedError


class IntegerFold(ColumnFold):
    """sum and avg of whole numbers and decimals."""

    def __init__(self, aggregate: TypedAggregate, encodings: Encodings, column: Type) -> None:
        super().__init__(aggregate, encodings, column)
        self._low: Array = np.zeros(0, INTEGER)
        self._high: Array = np.zeros(0, INTEGER)

    @property
    def arrays(self) -> list[Array]:
        return [self.counts, self._low, self._high]

    def resize(self, chosen: Array, room: int, *, renumbers: bool) -> None:
        super().resize(chosen, room, renumbers=renumbers)
        self._low, self._high = resized(self._low, chosen, room), resized(self._high, chosen, room)

    def add(self, groups: Array, weights: Array, values: Array) -> None:
        if isinstance(self._given, DecimalEncoding) and not self._given.is_ordered and (values >= OUTLIER).any():
            raise NotInColumnsError("a sum of numbers with more than 18 digits")
        add_integers(self.counts, self._low, self._high, groups, weights, values)

    def _at_once(self, groups: Array, counts: Array) -> Array | None:
        low, high = self._low[groups], self._high[groups]
        if not len(groups) or high.min() < -(2**26) or high.max() >= 2**26:
            return None
        totals = (high << 32) + low
        if isinstance(self.output, DecimalType) and int(np.abs(totals).max()) >= 10**self.output.precision:
            return None
        if self.function == "sum":
            return np.where(counts == 0, NULL, totals)
        return self._averages(totals, counts)

    def _averages(self, totals: Array, counts: Array) -> Array | None:
        known = np.maximum(counts, 1)
        if is_integer(self.input):
            if int(np.abs(totals).max()) > _EXACT:
                return None
            return np.where(counts == 0, np.nan, totals / known)
        assert isinstance(self._given, DecimalEncoding)
        assert isinstance(self._made, DecimalEncoding)
        factor = 10 ** (self._made.scale - self._given.scale)
        if int(np.abs(totals).max()) > LONGEST_UNITS // factor or int(known.max()) > _EXACT:
            return None
        quotients, rests = np.divmod(np.abs(totals) * factor, known)
        rounded = quotients + (2 * rests >= known)
        return np.where(counts == 0, NULL, np.where(totals < 0, -rounded, rounded))

    def _totals(self, groups: Array) -> Sequence[Any]:
        totals = [
            (high << 32) + low
            for high, low in zip(self._high[groups].tolist(), self._low[groups].tolist(), strict=True)
        ]
        if not isinstance(self.input, DecimalType):
            return totals
        scale = -self.input.scale
        return [CONTEXT.scaleb(Decimal(total), scale) for total in totals]


class DoubleFold(ColumnFold):
    """sum and avg of DOUBLEs."""

    def __init__(self, aggregate: TypedAggregate, encodings: Encodings, column: Type) -> None:
        super().__init__(aggregate, encodings, column)
        self._exponent, self._words = NARROW_EXPONENT, NARROW_WORDS
        self._sums: Array = np.zeros((0, NARROW_WORDS), INTEGER)

    @property
    def arrays(self) -> list[Array]:
        return [self.counts, self._sums]

    def resize(self, chosen: Array, room: int, *, renumbers: bool) -> None:
        super().resize(chosen, room, renumbers=renumbers)
        sums = np.zeros((room, self._words), INTEGER)
        sums[: len(chosen)] = self._sums[chosen]
        self._sums = sums

    def add(self, groups: Array, weights: Array, values: Array) -> None:
        if self._exponent == NARROW_EXPONENT and not fits_range(values, NARROW_EXPONENT, NARROW_WORDS):
            self._sums = widened(self._sums)
            self._exponent, self._words = WIDE_EXPONENT, WIDE_WORDS
        add_doubles(self.counts, self._sums, self._exponent, groups, weights, values)

    def _at_once(self, groups: Array, counts: Array) -> Array | None:  # noqa: ARG002
        return None

    def _totals(self, groups: Array) -> Sequence[Any]:
        return whole(self._sums[groups], self._exponent, UNIT_EXPONENT)


def linear_fold(aggregate: TypedAggregate, encodings: Encodings, column: Type) -> ColumnFold:
    """For a count, a sum or an average."""
    assert aggregate.input is not None
    if aggregate.function == "count":
        return ColumnFold(aggregate, encodings, column)
    is_double = encodings.of(aggregate.input).dtype == FLOATING
    return (DoubleFold if is_double else IntegerFold)(aggregate, encodings, column)


def resized(array: Array, chosen: Array, room: int) -> Array:
    resized = np.zeros(room, array.dtype)
    resized[: len(chosen)] = array[chosen]
    return resized
