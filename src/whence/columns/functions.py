"""The built-in functions that arrays have, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from whence.columns.arithmetic import absolute, arithmetic, negation, whole
from whence.columns.casts import conversion
from whence.columns.conditions import (
    case,
    chain,
    coalesce,
    comparison,
    extreme,
    is_null,
    membership,
    negated,
    nullif,
    same,
)
from whence.columns.encoding import INTEGER, Array
from whence.columns.parts import Part, Run, Unary, dtype_of, strict, strict_unary
from whence.functions.conditional import CASE
from whence.functions.resolve import Resolved
from whence.functions.widening import is_integer
from whence.model.types import DATE, NULL, Type

# The call with these operands, which have the resolved types; None where arrays do not have it.
Function: TypeAlias = Callable[[Resolved, Sequence[Part]], Run | None]


def converted(operand: Part, kind: Type) -> Run | None:
    """CAST; None where arrays do not have it."""
    if operand.kind == NULL:
        return _only_null(operand.run, kind)
    kernel = conversion(operand.kind, kind)
    return None if kernel is None else strict_unary(kernel, operand.run)


def _only_null(operand: Run, kind: Type) -> Run:
    dtype, nulls = dtype_of(kind), np.array(True)
    return lambda batch: (np.zeros(batch.length, dtype), nulls, operand(batch)[2])


def _computing(symbol: str, resolved: Resolved, operands: Sequence[Part]) -> Run | None:
    if any(operand.kind == NULL for operand in operands):
        return None
    if len(operands) == 1:
        (operand,) = operands
        return operand.run if symbol == "+" else strict_unary(negation(resolved.result), operand.run)
    left, right = operands
    kernel = arithmetic(symbol, resolved, left, right)
    return None if kernel is None else strict(kernel, left.run, right.run)


def _part_of_date(name: str, _: Resolved, operands: Sequence[Part]) -> Run | None:
    (operand,) = operands
    kernel = _date_part(name, operand.kind)
    return None if kernel is None else strict_unary(kernel, operand.run)


def _comparing(symbol: str, _: Resolved, operands: Sequence[Part]) -> Run | None:
    left, right = operands
    return comparison(symbol, left, right)


# The first moment, and the first that is none any more.
_CALENDAR = ("0001-01-01", "10000-01-01")

# Parts of dates. Arrays have the days since 1970, and a timestamp's date is that of its day.

_EPOCH_YEAR = whole(1970)
_MONTHS, _DAYS_OF_WEEK, _THURSDAY = whole(12), whole(7), whole(4)


def _date_part(name: str, kind: Type) -> Unary | None:
    """A part of a DATE or a TIMESTAMP; None where arrays do not have it."""
    to_date = conversion(kind, DATE)
    if to_date is None:
        return None
    part, convert = _PARTS[name], to_date
    return lambda a: (part(convert(a)[0]), None)


def _year(days: Array) -> Array:
    return _since(days, "Y") + _EPOCH_YEAR


def _month(days: Array) -> Array:
    return _since(days, "M") % _MONTHS + 1


def _day(days: Array) -> Array:
    months = days.astype("datetime64[D]").astype("datetime64[M]")
    first: Array = months.astype("datetime64[D]").astype(INTEGER)
    return days - first + 1


def _since(days: Array, unit: str) -> Array:
    """The years or months since 1970."""
    return days.astype("datetime64[D]").astype(f"datetime64[{unit}]").astype(INTEGER)


_PARTS: dict[str, Callable[[Array], Array]] = {
    "year": _year,
    "quarter": lambda days: (_month(days) + 2) // 3,
    "month": _month,
    "day": _day,
    # Sunday is 1.
    "dayofweek": lambda days: (days + _THURSDAY) % _DAYS_OF_WEEK + 1,
}


# Moments, which arrays have as microseconds since 1970.

_FIRST, _LAST = (int((np.datetime64(day, "us") - np.datetime64(0, "us")).astype(INTEGER)) for day in _CALENDAR)


def _moment(micros: Array) -> tuple[Array, Array]:
    return micros, (micros < _FIRST) | (micros >= _LAST)


def _positive_remainder(_: Resolved, operands: Sequence[Part]) -> Run | None:
    left, right = operands
    if not (is_integer(left.kind) and is_integer(right.kind) and right.is_constant and right.number > 0):
        return None
    return strict(lambda a, b: (a % b, None), left.run, right.run)


def _days_between(end: Array, start: Array) -> tuple[Array, None]:
    return end - start, None


FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        **{symbol: partial(_computing, symbol) for symbol in ("+", "-", "*", "/", "div", "quotient", "%")},
        **{symbol: partial(_comparing, symbol) for symbol in ("=", "!=", "<", "<=", ">", ">=")},
        "date_add": partial(_computing, "+"),
        "date_sub": partial(_computing, "-"),
        "<=>": lambda _, operands: same(*operands),
        "in": lambda _, operands: membership(operands[0], operands[1:]),
        "greatest": lambda _, operands: extreme(np.maximum, operands),
        "least": lambda _, operands: extreme(np.minimum, operands),
        "and": lambda _, operands: chain(False, operands),
        "or": lambda _, operands: chain(True, operands),
        "not": lambda _, operands: strict_unary(negated, operands[0].run),
        "isnull": lambda _, operands: is_null(operands[0], wanted=True),
        "isnotnull": lambda _, operands: is_null(operands[0], wanted=False),
        "if": lambda resolved, operands: case(resolved.result, operands),
        CASE: lambda resolved, operands: case(resolved.result, operands),
        "coalesce": lambda resolved, operands: coalesce(resolved.result, operands),
        "nullif": lambda resolved, operands: nullif(resolved.arguments[1], *operands),
        **{name: partial(_part_of_date, name) for name in _PARTS},
        "datediff": lambda _, operands: strict(_days_between, operands[0].run, operands[1].run),
        "unix_micros": lambda _, operands: operands[0].run,
        "timestamp_micros": lambda _, operands: strict_unary(_moment, operands[0].run),
        "pmod": _positive_remainder,
        "abs": lambda resolved, operands: strict_unary(absolute(resolved.result), operands[0].run),
    }
)
