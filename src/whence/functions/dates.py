"""Functions of dates and timestamps."""

from __future__ import annotations

import calendar
import datetime
import decimal
import math
from calendar import monthrange
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from whence.errors import EvaluationError, TypeMismatchError, did_you_mean, shown
from whence.functions import implicit
from whence.functions.resolve import (
    COUNT,
    INTEGER,
    TEXT,
    TRUTH,
    Builtin,
    Parameter,
    Resolved,
    accept,
    always,
    cast_hint,
    check_arity,
    constant_integer,
    is_text_constant,
    plain,
    takes,
)
from whence.functions.widening import is_integer
from whence.model.terms import Call
from whence.model.types import DATE, DOUBLE, INT, NULL, STRING, TIMESTAMP, DecimalType, Type
from whence.model.types.times import midnight

# Functions of dates take a timestamp's date, and functions of the time of day a date's midnight, as in Spark.
DAY = Parameter("a DATE", lambda given: DATE if given.is_time or given == NULL else None, DATE)
MOMENT = Parameter("a TIMESTAMP", lambda given: TIMESTAMP if given.is_time or given == NULL else None, TIMESTAMP)
DAY_OR_MOMENT = Parameter(
    "a DATE or a TIMESTAMP",
    lambda given: given if given.is_time else DATE if given == NULL else None,
    DATE,
)


# A number of days. Spark reads it from a text, but takes no fraction of it.
DAYS = Parameter(
    COUNT.description,
    lambda given: INT if is_integer(given) or given == NULL or (given == STRING and implicit.are_on()) else None,
)


def shift_days(date: datetime.date, days: int) -> datetime.date:
    try:
        return date + datetime.timedelta(days=days)
    except OverflowError:
        raise out_of_calendar(f"{shown(date)} + {days} days") from None


def shift_months(date: Any, months: int) -> Any:
    """The same day of a later month, or that month's last day where it has fewer days."""
    years, month = divmod(date.year * 12 + date.month - 1 + months, 12)
    if not datetime.MINYEAR <= years <= datetime.MAXYEAR:
        raise out_of_calendar(f"{shown(date)} + {months} months")
    return date.replace(year=years, month=month + 1, day=min(date.day, monthrange(years, month + 1)[1]))


def out_of_calendar(expression: str) -> EvaluationError:
    return EvaluationError(f"{expression} is outside the years {datetime.MINYEAR} to {datetime.MAXYEAR}")


def _resolve_add_interval(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 4, 4)
    start = types[0]
    if not start.is_time:
        # In Spark a text plus an INTERVAL is a text, and NULL plus an INTERVAL an INTERVAL.
        raise TypeMismatchError(
            f"an INTERVAL is added to a DATE or a TIMESTAMP, not to {start}",
            span=call.arguments[0].span or call.span,
            hint=cast_hint(call.arguments[0], DATE),
        )
    amounts = tuple(accept(call, position, INTEGER, types[position]) for position in (1, 2, 3))
    if start == DATE and constant_integer(call.arguments[3]) != 0:
        start = TIMESTAMP
    return Resolved(start, (start, *amounts))


def _add_interval(start: Any, months: int, days: int, microseconds: int) -> Any:
    moved = shift_days(shift_months(start, months), days)
    if not microseconds:
        return moved
    try:
        return moved + datetime.timedelta(microseconds=microseconds)
    except OverflowError:
        raise out_of_calendar(f"{shown(moved)} + {microseconds} microseconds") from None


# The units of date_trunc, and other names of some.
TRUNCATIONS: dict[str, Callable[[datetime.datetime], datetime.datetime]] = {
    "year": lambda moment: midnight(moment.replace(month=1, day=1)),
    "quarter": lambda moment: midnight(moment.replace(month=moment.month - (moment.month - 1) % 3, day=1)),
    "month": lambda moment: midnight(moment.replace(day=1)),
    "week": lambda moment: midnight(shift_days(moment, -moment.weekday())),
    "day": midnight,
    "hour": lambda moment: moment.replace(minute=0, second=0, microsecond=0),
    "minute": lambda moment: moment.replace(second=0, microsecond=0),
    "second": lambda moment: moment.replace(microsecond=0),
    "millisecond": lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000),
    "microsecond": lambda moment: moment,
}
SPELLINGS = {"yyyy": "year", "yy": "year", "mon": "month", "mm": "month", "dd": "day"}


def _truncation(unit: str) -> Callable[[datetime.datetime], datetime.datetime] | None:
    name = unit.lower()
    return TRUNCATIONS.get(SPELLINGS.get(name, name))


def _resolve_date_trunc(call: Call, types: tuple[Type, ...]) -> Resolved:
    resolved = takes(TEXT, MOMENT, returns=TIMESTAMP)(call, types)
    unit = call.arguments[0]
    if is_text_constant(unit) and _truncation(str(unit.value)) is None:
        raise TypeMismatchError(
            f"date_trunc() knows no unit {shown(unit.value)}",
            span=unit.span or call.span,
            hint=did_you_mean(str(unit.value), TRUNCATIONS) or f"one of {', '.join(TRUNCATIONS)}",
        )
    return resolved


def _date_trunc(unit: str, moment: datetime.datetime) -> datetime.datetime:
    truncate = _truncation(unit)
    if truncate is None:
        raise EvaluationError(f"date_trunc() knows no unit {shown(unit)}", hint=f"one of {', '.join(TRUNCATIONS)}")
    return truncate(moment)


def _exact_second(moment: datetime.datetime) -> decimal.Decimal:
    """EXTRACT(SECOND FROM moment), which unlike second(moment) has the fraction."""
    return decimal.Decimal(moment.second * 1_000_000 + moment.microsecond).scaleb(-6)


def _names_of_day(name: str) -> tuple[str, str, str]:
    return name[:2].upper(), name[:3].upper(), name.upper()


_WEEKDAYS = {name: day for day, names in enumerate(map(_names_of_day, calendar.day_name)) for name in names}


def _last_day(date: datetime.date) -> datetime.date:
    return date.replace(day=monthrange(date.year, date.month)[1])


def _next_day(date: datetime.date, name: str) -> datetime.date:
    """The first such day of the week after the date."""
    day = _WEEKDAYS.get(name.upper())
    if day is None:
        raise EvaluationError(f"{shown(name)} is no day of the week", hint="write for example 'MON' or 'Monday'")
    return shift_days(date, (day - date.weekday() - 1) % 7 + 1)


def _months_between(end: datetime.datetime, start: datetime.datetime, rounded: bool = True) -> float:
    """Whole months between the same days or the last days of months; else with a fraction, of 31 days a month."""
    months = (end.year - start.year) * 12 + end.month - start.month
    if end.day == start.day or (_last_day(end).day == end.day and _last_day(start).day == start.day):
        return float(months)
    seconds = (end.day - start.day) * 86_400 + _second_of_day(end) - _second_of_day(start)
    difference = months + seconds / (31 * 86_400)
    return math.floor(difference * 1e8 + 0.5) / 1e8 if rounded else difference


def _second_of_day(moment: datetime.datetime) -> int:
    return moment.hour * 3600 + moment.minute * 60 + moment.second


def _trunc(date: datetime.date, unit: str) -> datetime.date | None:
    """The first day of the year, quarter, month or week; NULL for any other unit, as in Spark."""
    name = unit.lower()
    name = SPELLINGS.get(name, name)
    return TRUNCATIONS[name](midnight(date)).date() if name in ("year", "quarter", "month", "week") else None


def _part(name: str, parameter: Parameter, part: Callable[[Any], int]) -> Builtin:
    return Builtin(name, takes(parameter, returns=INT), plain(part))


DATES = (
    _part("year", DAY_OR_MOMENT, attrgetter("year")),
    _part("quarter", DAY_OR_MOMENT, lambda date: (date.month + 2) // 3),
    _part("month", DAY_OR_MOMENT, attrgetter("month")),
    _part("day", DAY_OR_MOMENT, attrgetter("day")),
    # Sunday is 1.
    _part("dayofweek", DAY_OR_MOMENT, lambda date: date.isoweekday() % 7 + 1),
    _part("hour", MOMENT, attrgetter("hour")),
    _part("minute", MOMENT, attrgetter("minute")),
    _part("second", MOMENT, attrgetter("second")),
    Builtin("extract_second", takes(MOMENT, returns=DecimalType(8, 6)), plain(_exact_second)),
    Builtin("date_add", takes(DAY, DAYS, returns=DATE), plain(shift_days)),
    Builtin("date_sub", takes(DAY, DAYS, returns=DATE), plain(lambda date, days: shift_days(date, -days))),
    Builtin("datediff", takes(DAY, DAY, returns=INT), plain(lambda end, start: (end - start).days)),
    Builtin("add_months", takes(DAY, COUNT, returns=DATE), plain(shift_months)),
    _part("dayofweek_iso", DAY_OR_MOMENT, lambda date: date.isoweekday()),
    _part("weekday", DAY_OR_MOMENT, lambda date: date.weekday()),
    _part("dayofyear", DAY_OR_MOMENT, lambda date: date.timetuple().tm_yday),
    _part("weekofyear", DAY_OR_MOMENT, lambda date: date.isocalendar().week),
    _part("yearofweek", DAY_OR_MOMENT, lambda date: date.isocalendar().year),
    Builtin("dayname", takes(DAY, returns=STRING), plain(lambda date: calendar.day_abbr[date.weekday()])),
    Builtin("monthname", takes(DAY, returns=STRING), plain(lambda date: calendar.month_abbr[date.month])),
    Builtin("last_day", takes(DAY, returns=DATE), plain(_last_day)),
    Builtin("next_day", takes(DAY, TEXT, returns=DATE), plain(_next_day)),
    Builtin("months_between", takes(MOMENT, MOMENT, TRUTH, optional=1, returns=DOUBLE), plain(_months_between)),
    Builtin("trunc", takes(DAY, TEXT, returns=DATE), plain(_trunc), nullable=always),
    Builtin("add_interval", _resolve_add_interval, plain(_add_interval)),
    Builtin("date_trunc", _resolve_date_trunc, plain(_date_trunc)),
)
