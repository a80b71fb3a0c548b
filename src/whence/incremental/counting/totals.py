"""Exact sums that values can be added to and taken from, and what sum, avg and count make of them."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import itemgetter
from typing import Any, TypeAlias

from whence.errors import EvaluationError
from whence.functions.mathematics import finite, misfit
from whence.functions.widening import is_integer
from whence.model.types import BIGINT, DOUBLE, DecimalType, Type, Value
from whence.model.types.decimals import CONTEXT, rescale

# The smallest DOUBLE above zero is one over this, so every DOUBLE is a whole number of such units.
UNITS = 2**1074
_UNIT_BITS = 1074


# How many values there are, and their total.
Counted: TypeAlias = tuple[int, Any]
# Adds the values at some places, each as often as the weight there says; NULL counts for nothing.
Plus: TypeAlias = Callable[[Counted, Sequence[Any], Sequence[int], Sequence[int]], Counted]

# So many values are not looked at one by one if they can be added up at once.
MANY = 100


@dataclass(frozen=True, slots=True)
class Adding:
    """How values of a type add up without rounding."""

    zero: Any
    plus: Plus


def _plus_integers(sums: Counted, values: Sequence[Any], weights: Sequence[int], places: Sequence[int]) -> Counted:
    count, total = sums
    for place in places:
        value = values[place]
        if value is not None:
            weight = weights[place]
            count += weight
            total += value * weight
    return count, total


def _plus_decimals(sums: Counted, values: Sequence[Any], weights: Sequence[int], places: Sequence[int]) -> Counted:
    count, total = sums
    if len(places) > MANY:
        pick = itemgetter(*places)
        given = pick(values)
        if type(None) not in set(map(type, given)) and pick(weights).count(1) == len(places):
            return count + len(places), reduce(_add, given, total)
    for place in places:
        value = values[place]
        if value is not None:
            weight = weights[place]
            count += weight
            if weight == 1:
                total = _add(total, value)
            elif weight == -1:
                total = _subtract(total, value)
            else:
                total = CONTEXT.fma(value, weight, total)
    return count, total


def _plus_doubles(sums: Counted, values: Sequence[Any], weights: Sequence[int], places: Sequence[int]) -> Counted:
    """Totals of DOUBLEs are counted in units of the smallest one, because what was added must be taken away exactly."""
    count, total = sums
    for place in places:
        value = values[place]
        if value is not None:
            weight = weights[place]
            count += weight
            numerator, denominator = value.as_integer_ratio()
            total += (numerator * weight) << (_UNIT_BITS + 1 - denominator.bit_length())
    return count, total


def _plus_nothing(sums: Counted, values: Sequence[Any], weights: Sequence[int], places: Sequence[int]) -> Counted:
    count, total = sums
    for place in places:
        if values[place] is not None:
            count += weights[place]
    return count, total


_add, _subtract = CONTEXT.add, CONTEXT.subtract

INTEGERS = Adding(0, _plus_integers)
DECIMALS = Adding(decimal.Decimal(0), _plus_decimals)
DOUBLES = Adding(0, _plus_doubles)
# count does not look at the values.
NOTHING = Adding(0, _plus_nothing)


def adding(function: str, argument: Type) -> Adding:
    if function == "count":
        return NOTHING
    if isinstance(argument, DecimalType):
        return DECIMALS
    return INTEGERS if is_integer(argument) else DOUBLES


# The aggregate's value from the number of values and their total; there is at least one value.
Finish = Callable[[int, Any], Value]


def finish(function: str, argument: Type, result: Type) -> Finish:
    match function:
        case "count":
            return lambda count, _: count
        case "sum":
            total = _sum(argument, result)
            return lambda _, sum_: total(sum_)
    return _average(argument, result)


def _sum(argument: Type, result: Type) -> Callable[[Any], Value]:
    if isinstance(result, DecimalType):
        return _fitting(result, "the sum")
    return _as_double if not is_integer(argument) else _as_bigint


def _average(argument: Type, result: Type) -> Finish:
    if isinstance(result, DecimalType):
        fit = _fitting(result, "the average")
        return lambda count, total: fit(CONTEXT.divide(total, count)) if count else None
    if is_integer(argument):
        return lambda count, total: total / count if count else None
    return lambda count, total: _as_double(total) / count + 0.0 if count else None


def _as_bigint(total: int) -> int:
    if total in BIGINT.limits:
        return total
    raise misfit(f"the sum {total}", BIGINT)


def _as_double(total: int) -> float:
    try:
        # Python divides integers of any length and rounds once.
        return finite(total / UNITS, lambda: "the sum")
    except OverflowError:
        raise EvaluationError(f"the sum is not a finite {DOUBLE}") from None


def _fitting(kind: DecimalType, what: str) -> Callable[[decimal.Decimal], decimal.Decimal]:
    rescaled = rescale(kind)

    def fit(value: decimal.Decimal) -> decimal.Decimal:
        result = rescaled(value)
        if result is None:
            raise misfit(f"{what} {value}", kind)
        return result

    return fit
