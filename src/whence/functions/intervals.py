"""Intervals: sums with dates, times and each other, products with numbers, and their parts.

date + INTERVAL MONTH        DATE            date + INTERVAL DAY     DATE, with hours a TIMESTAMP
date - date                  INTERVAL DAY    ts - ts                 INTERVAL DAY TO SECOND
interval * 2, interval / 2   an interval, rounded half up to its smallest unit
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from decimal import Decimal
from operator import itemgetter
from typing import Any

from whence.errors import EvaluationError, shown
from whence.functions import implicit
from whence.functions.dates import out_of_calendar, shift_days, shift_months
from whence.functions.resolve import COUNT, Builtin, Parameter, Resolved, check_arity, mismatch, plain, takes
from whence.functions.widening import common_type, is_exact, is_number
from whence.model.terms import Call
from whence.model.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TINYINT,
    DecimalType,
    Type,
)
from whence.model.types.decimals import CONTEXT
from whence.model.types.intervals import DAY_TIME, YEAR_MONTH, DayTimeType, IntervalType, YearMonthType

_WIDE = decimal.Context(prec=100, rounding=decimal.ROUND_HALF_UP)
_SECONDS = DecimalType(18, 6)

INTERVAL = Parameter("an INTERVAL", lambda given: given if isinstance(given, IntervalType) else None)
_UNITS = Parameter("a whole or decimal number", lambda given: given if is_exact(given) else None)


def is_interval(kind: Type) -> bool:
    return isinstance(kind, IntervalType)


def is_of_intervals(call: Call, types: tuple[Type, ...]) -> bool:
    """Whether an operator works on intervals, or gives one."""
    if any(map(is_interval, types)):
        return True
    if len(types) != 2 or not any(kind.is_time for kind in types):
        return False
    read = (NULL, STRING) if implicit.are_on() and call.function == "-" else (NULL,)
    return NULL in types or (call.function == "-" and all(kind.is_time or kind in read for kind in types))


def resolve_sum(call: Call, types: tuple[Type, ...]) -> Resolved:
    """+ and - where one side is an interval, or where the difference of two times is one."""
    if len(types) == 1:
        return Resolved(types[0], types)
    left, right = types
    times = [kind for kind in types if kind.is_time]
    if len(times) == 1 and (NULL in types or STRING in types):
        # A NULL beside a date is a number of days that are added, or a date; a text is read as one.
        if call.function == "+":
            return Resolved(times[0], tuple(INT if kind == NULL else kind for kind in types))
        types = left, right = times[0], times[0]
    if left.is_time and right.is_time:
        common = common_type(types)
        assert common is not None
        return Resolved(DayTimeType("DAY", "DAY") if common == DATE else DAY_TIME, (common, common))
    for time, interval in ((left, right), (right, left)):
        is_first = time is left
        if time.is_time and isinstance(interval, IntervalType) and (is_first or call.function == "+"):
            has_hours = isinstance(interval, DayTimeType) and interval.last != "DAY"
            moved = TIMESTAMP if has_hours else time
            return Resolved(moved, (moved, interval) if is_first else (interval, moved))
    common = common_type(types)
    if not isinstance(common, IntervalType):
        raise mismatch(call, types, hint=None)
    return Resolved(common, (common, common))


def resolve_product(call: Call, types: tuple[Type, ...]) -> Resolved:
    """* of an interval and a number, in any order, and / of an interval by a number."""
    check_arity(call, 2, 2)
    kinds = tuple(DOUBLE if kind == STRING and implicit.are_on() else INT if kind == NULL else kind for kind in types)
    left, right = kinds
    if isinstance(left, IntervalType) and is_number(right):
        return Resolved(left.whole, kinds)
    if isinstance(right, IntervalType) and is_number(left) and call.function == "*":
        return Resolved(right.whole, kinds)
    raise mismatch(call, types, hint=None)


def resolve_quotient(call: Call, types: tuple[Type, ...]) -> Resolved:
    """div: how often an interval is in another one."""
    common = common_type(types)
    if not isinstance(common, IntervalType):
        raise mismatch(call, types, hint=None)
    return Resolved(BIGINT, (common, common))


def added(resolved: Resolved, sign: int) -> Callable[..., Any]:
    """The sum, or with a negative sign the difference."""
    if len(resolved.arguments) == 1:
        own = resolved.result
        assert isinstance(own, IntervalType)
        return lambda value: own.of_units(sign * own.units(value))
    left, right = resolved.arguments
    if left.is_time and right.is_time:
        return lambda end, start: datetime.timedelta(days=(end - start).days) if left == DATE else end - start
    if isinstance(left, IntervalType) and isinstance(right, IntervalType):
        kind = left
        return lambda a, b: kind.of_units(kind.units(a) + sign * kind.units(b))
    if isinstance(left, IntervalType):
        move = _moving(left, 1)
        return lambda interval, time: move(time, interval)
    assert isinstance(right, IntervalType)
    return _moving(right, sign)


def _moving(kind: IntervalType, sign: int) -> Callable[[Any, Any], Any]:
    if isinstance(kind, YearMonthType):
        return lambda time, months: shift_months(time, sign * months)

    def move(time: Any, length: datetime.timedelta) -> Any:
        if not isinstance(time, datetime.datetime):
            return shift_days(time, sign * length.days)
        try:
            return time + sign * length
        except OverflowError:
            raise out_of_calendar(f"{shown(time)} + {shown(length)}") from None

    return move


def multiplied(resolved: Resolved) -> Callable[..., Any]:
    kind = resolved.result
    assert isinstance(kind, IntervalType)
    times = _scaled(kind, _WIDE.multiply)
    return times if is_interval(resolved.arguments[0]) else lambda number, value: times(value, number)


def divided(resolved: Resolved) -> Callable[..., Any]:
    kind = resolved.result
    assert isinstance(kind, IntervalType)
    by = _scaled(kind, _WIDE.divide)

    def divide(value: Any, number: Any) -> Any:
        if not number:
            raise EvaluationError(
                f"division by zero: {kind.to_text(value)} / {number}",
                hint="nullif(divisor, 0) makes the result NULL instead",
            )
        return by(value, number)

    return divide


def _scaled(kind: IntervalType, operate: Callable[[Decimal, Decimal], Decimal]) -> Callable[[Any, Any], Any]:
    def scale(value: Any, number: Any) -> Any:
        if isinstance(number, float):
            # As Java computes it: the units as a DOUBLE.
            rounded = float(operate(Decimal(float(kind.units(value))), Decimal(number)))
            return of_number(kind, Decimal(rounded))
        return of_number(kind, operate(Decimal(kind.units(value)), Decimal(number)))

    return scale


def of_number(kind: IntervalType, units: Decimal | int) -> Any:
    """The interval of so many smallest units, rounded half up."""
    return kind.of_units(int(_WIDE.to_integral_value(Decimal(units))))


def _of_units(resolved: Resolved) -> Callable[..., Any]:
    kind = resolved.result
    assert isinstance(kind, IntervalType)

    def build(number: Any, _: Any) -> Any:
        return lambda environment: None if (units := number.evaluate(environment)) is None else of_number(kind, units)

    return build


def _make_year_month(years: int, months: int = 0) -> Any:
    return YEAR_MONTH.of_units(12 * years + months)


def _make_day_time(days: int, hours: int = 0, minutes: int = 0, seconds: Decimal = Decimal(0)) -> Any:
    whole = (days * 24 + hours) * 60 + minutes
    return DAY_TIME.of_units(whole * 60_000_000 + int(CONTEXT.scaleb(seconds, 6)))


# The fields that EXTRACT takes from an interval, by the function that takes them from a time.
_PARTS: dict[str, tuple[type[IntervalType], str, Type]] = {
    "year": (YearMonthType, "YEAR", INT),
    "month": (YearMonthType, "MONTH", TINYINT),
    "day": (DayTimeType, "DAY", INT),
    "hour": (DayTimeType, "HOUR", TINYINT),
    "minute": (DayTimeType, "MINUTE", TINYINT),
    "extract_second": (DayTimeType, "SECOND", DecimalType(8, 6)),
}


def with_parts(builtin: Builtin) -> Builtin:
    """A function of times that also takes the field from an interval."""
    if builtin.name not in _PARTS:
        return builtin
    of, field, result = _PARTS[builtin.name]

    def resolve(call: Call, types: tuple[Type, ...]) -> Resolved:
        if len(types) == 1 and isinstance(types[0], of) and field in types[0].fields:
            return Resolved(result, types)
        return builtin.resolve(call, types)

    def python(resolved: Resolved) -> Callable[..., Any]:
        kind = resolved.arguments[0]
        return _part(kind, field) if isinstance(kind, IntervalType) else builtin.python(resolved)

    return Builtin(builtin.name, resolve, python)


def _part(kind: IntervalType, field: str) -> Callable[[Any], Any]:
    names = list(kind.UNITS)
    larger = kind.UNITS[names[names.index(field) - 1]] if field != names[0] else None
    unit = kind.UNITS[field]

    def part(value: Any) -> Any:
        number = kind.units(value)
        rest = abs(number) if larger is None else abs(number) % larger
        sign = -1 if number < 0 else 1
        return Decimal(sign * rest).scaleb(-6) if field == "SECOND" else sign * (rest // unit)

    return part


INTERVALS = (
    Builtin("interval_units", takes(INTERVAL, returns=BIGINT), lambda resolved: resolved.arguments[0].ordinal),
    # So many units as an interval; the second argument only tells of which type.
    Builtin("interval_of", takes(_UNITS, INTERVAL, returns=itemgetter(1)), _of_units, strict=False, fails=True),
    Builtin("make_ym_interval", takes(COUNT, COUNT, returns=YEAR_MONTH, optional=1), plain(_make_year_month)),
    Builtin(
        "make_dt_interval",
        takes(
            COUNT,
            COUNT,
            COUNT,
            Parameter(
                "a number of seconds",
                lambda given: _SECONDS if is_number(given) or given == NULL else None,
                _SECONDS,
            ),
            returns=DAY_TIME,
            optional=3,
        ),
        plain(_make_day_time),
    ),
)
