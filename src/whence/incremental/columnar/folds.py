"""count, sum and avg of many groups at once, in arrays by the group's number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cached_property
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
    Encoding,
    Encodings,
)
from whence.columns.groups import with_room
from whence.columns.sums import (
    NARROW_EXPONENT,
    NARROW_WORDS,
    WIDE_EXPONENT,
    WIDE_WORDS,
    add_counts,
    add_doubles,
    add_integers,
    averages,
    fits_range,
    totals,
    whole,
    widened,
    words_of,
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
# More than any total that can be had at once.
_FAR = 2**62


class ColumnFold:
    """One aggregate of all groups. Of each it has some words, from `at` on, in the array of what is kept of groups."""

    words = 1

    def __init__(self, aggregate: TypedAggregate, encodings: Encodings, column: Type, at: int) -> None:
        assert aggregate.input is not None, "count<*> is known from the group itself"
        self.function, self.input, self.output = aggregate.function, aggregate.input, aggregate.output
        self.at = at
        self._column = encodings.of(column)
        self._convert = aggregate.convert
        self._given = encodings.of(aggregate.input)
        self._made = encodings.of(aggregate.output)
        self._finish = finish(aggregate.function, aggregate.input, aggregate.output)

    @property
    def given(self) -> Encoding:
        """How the values lie in columns that it is given."""
        return self._given

    @property
    def arrays(self) -> list[Array]:
        """What is kept elsewhere, with a place for every group. It is written to in place."""
        return []

    def saved(self, groups: int) -> dict[str, Any]:  # noqa: ARG002 - others keep more than the words of the groups
        """What is kept elsewhere, for `restore`; there are so many groups."""
        return {}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Before anything was added."""

    def resize(self, chosen: Array, room: int, *, renumbers: bool) -> None:
        """Keep these groups, in this order, and make room for more. `renumbers` says whether any has a new number."""

    def add(self, state: Array, groups: Array, weights: Array, values: Array) -> None:
        add_counts(state, self.at, groups, weights, self._given.is_null(values))

    def restart(self, state: Array) -> None:
        """All values come again."""
        state[:, self.at : self.at + self.words] = 0

    def change(self, state: Array) -> None:
        """All values are added: bring up to date what was put off till now."""

    def results(self, kept: Array, groups: Array) -> Array:
        """The values of groups, of which this is kept, as the view's column has them."""
        found = self._results(kept, groups)
        if self._convert is None:
            return found
        convert = self._convert
        return self._column.encode([convert(value) for value in self._made.decode(found)])

    def _results(self, kept: Array, groups: Array) -> Array:
        found = self._at_once(kept)
        if found is None:
            of_nothing = 0 if self.function == "count" else None
            values: list[Value] = [
                self._finish(count, total) if count else of_nothing
                for count, total in zip(kept[:, self.at].tolist(), self._totals(kept, groups), strict=True)
            ]
            found = self._made.encode(values)
        return found

    def settle(self) -> None:
        """What was added has happened."""

    def undo(self) -> None:
        """It has not. The arrays are as before already."""

    def _at_once(self, kept: Array) -> Array | None:
        """The results, if they can be had without Python's numbers."""
        return kept[:, self.at]

    def _totals(self, kept: Array, groups: Array) -> Sequence[Any]:
        raise NotImplementedError


class IntegerFold(ColumnFold):
    """sum and avg of whole numbers and decimals: a count, and a total in two words."""

    words = 3

    def add(self, state: Array, groups: Array, weights: Array, values: Array) -> None:
        if isinstance(self._given, DecimalEncoding) and not self._given.is_ordered and (values >= OUTLIER).any():
            raise NotInColumnsError("a sum of numbers with more than 18 digits")
        add_integers(state, self.at, groups, weights, values)

    def _at_once(self, kept: Array) -> Array | None:
        found = np.empty(len(kept), INTEGER)
        if not totals(kept, self.at, self._limit, found):
            return None
        if self.function == "sum":
            return found
        if is_integer(self.input):
            return np.where(found == NULL, np.nan, found / np.maximum(kept[:, self.at], 1))
        averages(kept, self.at, self._factor, found)
        return found

    @cached_property
    def _factor(self) -> int:
        """An average has more digits than what it is of."""
        assert isinstance(self._given, DecimalEncoding)
        assert isinstance(self._made, DecimalEncoding)
        factor: int = 10 ** (self._made.scale - self._given.scale)
        return factor

    @cached_property
    def _limit(self) -> int:
        """Totals below this can be had at once."""
        if self.function == "sum":
            return min(10**self.output.precision, _FAR) if isinstance(self.output, DecimalType) else _FAR
        return _EXACT if is_integer(self.input) else LONGEST_UNITS // self._factor

    def _totals(self, kept: Array, groups: Array) -> Sequence[Any]:  # noqa: ARG002 - others look at the groups
        lows, highs = kept[:, self.at + 1].tolist(), kept[:, self.at + 2].tolist()
        totals = [(high << 32) + low for low, high in zip(lows, highs, strict=True)]
        if not isinstance(self.input, DecimalType):
            return totals
        scale = -self.input.scale
        return [CONTEXT.scaleb(Decimal(total), scale) for total in totals]


class DoubleFold(ColumnFold):
    """sum and avg of DOUBLEs."""

    def __init__(self, aggregate: TypedAggregate, encodings: Encodings, column: Type, at: int) -> None:
        super().__init__(aggregate, encodings, column, at)
        self._exponent, self._words = NARROW_EXPONENT, NARROW_WORDS
        self._sums: Array = np.zeros((0, NARROW_WORDS), INTEGER)

    @property
    def arrays(self) -> list[Array]:
        return [self._sums]

    def saved(self, groups: int) -> dict[str, Any]:
        return {"sums": self._sums[:groups]}

    def restore(self, saved: Mapping[str, Any]) -> None:
        self._sums = saved["sums"]
        if self._sums.shape[1] == WIDE_WORDS:
            self._exponent, self._words = WIDE_EXPONENT, WIDE_WORDS

    def resize(self, chosen: Array, room: int, *, renumbers: bool) -> None:  # noqa: ARG002 - others have numbers of groups
        self._sums = with_room(self._sums, chosen, room)

    def restart(self, state: Array) -> None:
        super().restart(state)
        self._sums[:] = 0

    def load(self, groups: Array, totals: Sequence[int]) -> None:
        """Let groups have these totals, in units of 2**UNIT_EXPONENT."""
        words = words_of(totals, UNIT_EXPONENT, self._exponent, self._words)
        if words is None:
            self._widen()
            words = words_of(totals, UNIT_EXPONENT, self._exponent, self._words)
        self._sums[groups] = words

    def totals(self, groups: Array) -> list[int]:
        """What groups add up to, in the same units."""
        return whole(self._sums[groups], self._exponent, UNIT_EXPONENT)

    def _widen(self) -> None:
        self._sums = widened(self._sums)
        self._exponent, self._words = WIDE_EXPONENT, WIDE_WORDS

    def add(self, state: Array, groups: Array, weights: Array, values: Array) -> None:
        if self._exponent == NARROW_EXPONENT and not fits_range(values, NARROW_EXPONENT, NARROW_WORDS):
            self._widen()
        add_doubles(state, self.at, self._sums, self._exponent, groups, weights, values)

    def _at_once(self, kept: Array) -> Array | None:  # noqa: ARG002
        return None

    def _totals(self, kept: Array, groups: Array) -> Sequence[Any]:  # noqa: ARG002
        return self.totals(groups)


def linear_fold(aggregate: TypedAggregate, encodings: Encodings, column: Type, at: int) -> ColumnFold:
    """For a count, a sum or an average."""
    assert aggregate.input is not None
    if aggregate.function == "count":
        return ColumnFold(aggregate, encodings, column, at)
    is_double = encodings.of(aggregate.input).dtype == FLOATING
    return (DoubleFold if is_double else IntegerFold)(aggregate, encodings, column, at)
