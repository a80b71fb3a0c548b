"""count, sum, avg, min, max, collect_list: their types, and their values over a bag."""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterable, Mapping
from typing import Any

from whence.errors import ArityError, EvaluationError, TypeMismatchError, UnknownNameError, did_you_mean
from whence.functions.comparison import check_comparable
from whence.functions.mathematics import finite, misfit
from whence.functions.widening import is_integer, is_number
from whence.model.span import Span
from whence.model.terms import AGGREGATES
from whence.model.types import BIGINT, DOUBLE, NULL, ArrayType, DecimalType, Type, Value
from whence.model.types.decimals import CONTEXT, MAX_PRECISION, rescale


def aggregate_type(function: str, argument: Type | None, span: Span | None) -> Type:
    """The type of `function` over values of type `argument`, which is None for count<*>."""
    if function not in AGGREGATES:
        raise UnknownNameError(f"there is no aggregate {function}", span=span, hint=did_you_mean(function, AGGREGATES))
    if function == "count":
        return BIGINT
    if argument is None:
        raise ArityError(f"{function} needs an argument", span=span, hint="only count works without one")
    if function in ("min", "max"):
        check_comparable(argument, f"an argument of {function}", span)
        return argument
    if function == "collect_list":
        return ArrayType(argument)
    if not is_number(argument) and argument != NULL:
        raise TypeMismatchError(f"{function} adds up numbers, not {argument}", span=span)
    return _sum_type(argument) if function == "sum" else _average_type(argument)


def _sum_type(argument: Type) -> Type:
    if isinstance(argument, DecimalType):
        return DecimalType(min(MAX_PRECISION, argument.precision + 10), argument.scale)
    return BIGINT if is_integer(argument) else DOUBLE


def _average_type(argument: Type) -> Type:
    if isinstance(argument, DecimalType):
        return DecimalType(min(MAX_PRECISION, argument.precision + 4), min(MAX_PRECISION, argument.scale + 4))
    return DOUBLE


def count_rows(multiplicities: Iterable[int]) -> int:
    """count<*>: every row counts, whatever is in it."""
    return sum(multiplicities)


def fold(function: str, distinct: bool, values: Iterable[tuple[Value, int]], kind: Type) -> Value:
    """The aggregate, of result type `kind`, over (value, multiplicity) pairs in any order. NULLs are left out.

    Multiplicities of the same value add up, and a value they cancel out for is not there. For `distinct`, min and
    max a value is there when its multiplicity is positive.
    """
    bag: dict[Value, int] = {}
    for value, multiplicity in values:
        if value is not None:
            bag[value] = bag.get(value, 0) + multiplicity
    if distinct:
        bag = {value: 1 for value, multiplicity in bag.items() if multiplicity > 0}
    else:
        bag = {value: multiplicity for value, multiplicity in bag.items() if multiplicity}
    match function:
        case "count":
            return sum(bag.values())
        case "sum":
            return _sum(bag, kind) if bag else None
        case "avg":
            return _average(bag, kind) if bag else None
        case "collect_list":
            return collected(bag, kind)
    present = (value for value, multiplicity in bag.items() if multiplicity > 0)
    choose: Any = min if function == "min" else max
    return choose(present, key=kind.sort_key, default=None)  # type: ignore[no-any-return]


def collected(bag: Mapping[Any, int], kind: Type) -> tuple[Any, ...]:
    """All values in their order, each as often as it is there: rows have no order of their own."""
    assert isinstance(kind, ArrayType)
    present = sorted((value for value, copies in bag.items() if copies > 0), key=kind.element.sort_key)
    return tuple(value for value in present for _ in range(bag[value]))


def of_nothing(function: str) -> Value:
    """What an aggregate gives where there are no values."""
    return 0 if function == "count" else () if function == "collect_list" else None


def _sum(bag: Mapping[Any, int], kind: Type) -> Value:
    if kind == DOUBLE:
        return _sum_of_doubles(bag)
    if isinstance(kind, DecimalType):
        return _fit(_sum_of_decimals(bag), kind, "the sum")
    total: int = sum(value * multiplicity for value, multiplicity in bag.items())
    if total in BIGINT.limits:
        return total
    raise misfit(f"the sum {total}", kind)


def _average(bag: Mapping[Any, int], kind: Type) -> Value:
    count = sum(bag.values())
    if not count:
        return None
    if isinstance(kind, DecimalType):
        return _fit(CONTEXT.divide(_sum_of_decimals(bag), count), kind, "the average")
    if all(isinstance(value, int) for value in bag):
        total: int = sum(value * multiplicity for value, multiplicity in bag.items())
        return total / count
    return _sum_of_doubles(bag) / count + 0.0


def _sum_of_doubles(bag: Mapping[float, int]) -> float:
    """The exact sum, rounded once, so that it depends neither on the order nor on how copies are grouped."""
    try:
        total = math.fsum(part for value, multiplicity in bag.items() for part in _copies(value, multiplicity))
    except OverflowError:
        raise EvaluationError("the sum is not a finite DOUBLE") from None
    return finite(total, lambda: "the sum")


def _copies(value: float, multiplicity: int) -> Iterable[float]:
    """`value` times `multiplicity` in parts that are exact: one per binary digit of the multiplicity."""
    signed = value if multiplicity > 0 else -value
    return (math.ldexp(signed, bit) for bit in range(multiplicity.bit_length()) if abs(multiplicity) >> bit & 1)


def _sum_of_decimals(bag: Mapping[decimal.Decimal, int]) -> decimal.Decimal:
    total = decimal.Decimal(0)
    for value, multiplicity in bag.items():
        total = CONTEXT.add(total, CONTEXT.multiply(value, multiplicity))
    return total


def _fit(value: decimal.Decimal, kind: DecimalType, what: str) -> decimal.Decimal:
    result = rescale(kind)(value)
    if result is None:
        raise misfit(f"{what} {value}", kind)
    return result
