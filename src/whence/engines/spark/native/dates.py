"""Functions of dates and timestamps. Spark's calendar goes beyond the years 1 to 9999, ours does not."""

from __future__ import annotations

from collections.abc import Callable

import pyspark.sql.functions as F
from pyspark.sql import Column

from whence.engines.spark.native.pieces import Builder, NativeCall, Piece, literal
from whence.functions.resolve import constant_integer
from whence.model.types import BIGINT, DATE, TIMESTAMP, Type

_LAST = {DATE: "9999-12-31", TIMESTAMP: "9999-12-31 23:59:59.999999"}
# The units of date_trunc, by all their names. A week can begin before the year 1.
_UNITS = {
    unit: unit for unit in ("year", "quarter", "month", "day", "hour", "minute", "second", "millisecond", "microsecond")
} | {"yyyy": "year", "yy": "year", "mon": "month", "mm": "month", "dd": "day"}


def _in_calendar(call: NativeCall, column: Column, kind: Type) -> Piece:
    first, last = (F.lit(text).cast(kind.name) for text in ("0001-01-01", _LAST[kind]))
    return call.checked(column, ~column.between(first, last), "a date is outside the years 1 to 9999")


def date_plus(call: NativeCall, date: Piece, days: Piece) -> Piece | None:
    return None if days.kind == BIGINT else _in_calendar(call, F.date_add(date.column, days.column), DATE)


def date_minus(call: NativeCall, date: Piece, days: Piece) -> Piece | None:
    return None if days.kind == BIGINT else _in_calendar(call, F.date_sub(date.column, days.column), DATE)


def _add_months(call: NativeCall) -> Piece | None:
    date, months = call.arguments
    return None if months.kind == BIGINT else _in_calendar(call, F.add_months(date.column, months.column), DATE)


def _add_interval(call: NativeCall) -> Piece | None:
    """Only constants, and only one part: with several, a step on the way may leave the calendar."""
    start, kind = call.arguments[0].column, call.resolved.result
    parts = [constant_integer(argument) for argument in call.call.arguments[1:]]
    match parts:
        case [int() as months, 0, 0] if _is_int(months) and kind == DATE:
            return _in_calendar(call, F.add_months(start, months), kind)
        case [0, int() as days, 0] if _is_int(days) and kind == DATE:
            return _in_calendar(call, F.date_add(start, days), kind)
        case [int() as months, 0, 0] if _is_int(months):
            return _in_calendar(call, start + F.make_interval(months=F.lit(months)), kind)
        case [0, int() as days, 0] if _is_int(days):
            return _in_calendar(call, start + F.make_interval(days=F.lit(days)), kind)
        case [0, 0, int() as microseconds]:
            shifted = F.timestamp_micros(F.unix_micros(start) + literal(microseconds, BIGINT))
            return _in_calendar(call, shifted, kind)
    return None


def _is_int(amount: int) -> bool:
    return -(2**31) <= amount < 2**31


def _date_trunc(call: NativeCall) -> Piece | None:
    constant = call.constant(0)
    unit = None if constant is None else _UNITS.get(str(constant.value).lower())
    return None if unit is None else call.plain(F.date_trunc(unit, call.arguments[1].column))


def _part(function: Callable[[Column], Column]) -> Builder:
    return lambda call: call.plain(function(call.arguments[0].column))


DATES: dict[str, Builder] = {
    "year": _part(F.year),
    "quarter": _part(F.quarter),
    "month": _part(F.month),
    "day": _part(F.day),
    "dayofweek": _part(F.dayofweek),
    "hour": _part(F.hour),
    "minute": _part(F.minute),
    "second": _part(F.second),
    "date_add": lambda call: date_plus(call, *call.arguments),
    "date_sub": lambda call: date_minus(call, *call.arguments),
    "datediff": lambda call: call.plain(F.datediff(call.arguments[0].column, call.arguments[1].column)),
    "add_months": _add_months,
    "add_interval": _add_interval,
    "date_trunc": _date_trunc,
}
