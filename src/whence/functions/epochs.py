"""Times as numbers since 1970, as parts put together, and as texts in a pattern."""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Callable
from typing import Any

from whence.errors import EvaluationError, UnsupportedError, shown
from whence.functions.date_patterns import DEFAULT, fields, formatted, parsed
from whence.functions.dates import MOMENT, out_of_calendar, shift_days, shift_months
from whence.functions.patterns import checking_constants
from whence.functions.resolve import (
    COUNT,
    TEXT,
    Builtin,
    Parameter,
    Resolved,
    Resolver,
    accept,
    check_arity,
    plain,
    takes,
    uncast,
)
from whence.functions.widening import is_exact, is_integer, is_number
from whence.model.terms import Call
from whence.model.types import BIGINT, DATE, DOUBLE, INT, NULL, STRING, TIMESTAMP, DecimalType, Type
from whence.model.types.times import EPOCH, midnight

_MICROSECOND = datetime.timedelta(microseconds=1)
_SECONDS = DecimalType(16, 6)
_LONG = Parameter("a BIGINT", lambda given: BIGINT if is_integer(given) or given == NULL else None, BIGINT)
# Of these Spark casts nothing.
_WHOLE = Parameter(_LONG.description, _LONG.accept)
_FRACTION = Parameter(
    "a number", lambda given: _SECONDS if is_exact(given) or given in (NULL, DOUBLE) else None, _SECONDS
)
_COUNTED = Parameter("a number", lambda given: given if is_number(given) else BIGINT if given == NULL else None, BIGINT)


def _microseconds(moment: datetime.datetime) -> int:
    return (moment - EPOCH) // _MICROSECOND


def _after_epoch(microseconds: int) -> datetime.datetime:
    try:
        return EPOCH + datetime.timedelta(microseconds=microseconds)
    except OverflowError:
        raise out_of_calendar(f"{microseconds} microseconds after 1970") from None


def _resolve_seconds(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 1, 1)
    kind = accept(call, 0, _COUNTED, types[0])
    return Resolved(TIMESTAMP, (kind,))


def _from_seconds(seconds: Any) -> datetime.datetime:
    if isinstance(seconds, float):
        micros = seconds * 1_000_000
        if math.isinf(micros):
            raise out_of_calendar(f"{seconds} seconds after 1970")
        return _after_epoch(int(micros))
    exact = decimal.Decimal(seconds) * 1_000_000
    if exact != int(exact):
        raise EvaluationError(f"{shown(seconds)} seconds are no whole number of microseconds")
    return _after_epoch(int(exact))


def _resolve_unix(call: Call, types: tuple[Type, ...]) -> Resolved:
    """Of a time its seconds; of a text the seconds of the time that it is in a pattern."""
    check_arity(call, 1, 2)
    patterns = tuple(accept(call, position, TEXT, kind) for position, kind in enumerate(types[1:], start=1))
    given = STRING if types[0] == STRING else accept(call, 0, MOMENT, types[0])
    return Resolved(BIGINT, (given, *patterns))


def _unix_timestamp(given: Any, pattern: str = DEFAULT) -> int:
    moment = read(given, pattern) if isinstance(given, str) else given
    # Unlike unix_seconds() this one rounds towards 1970.
    micros = _microseconds(moment)
    return micros // 1_000_000 if micros >= 0 else -(-micros // 1_000_000)


def _from_unixtime(seconds: int, pattern: str = DEFAULT) -> str:
    return formatted(_after_epoch(seconds * 1_000_000), pattern)


def read(text: str, pattern: str) -> datetime.datetime:
    """The text as a moment. What does not follow the pattern is an error."""
    moment = parsed(text, pattern)
    if moment is None:
        raise EvaluationError(f"{shown(text)} is no time like {shown(pattern)}")
    return moment


def _checked(resolve: Resolver) -> Resolver:
    return checking_constants(resolve, fields)


def _make_date(year: int, month: int, day: int) -> datetime.date:
    try:
        return datetime.date(year, month, day)
    except ValueError:
        if not datetime.MINYEAR <= year <= datetime.MAXYEAR:
            raise out_of_calendar(f"{year}-{month}-{day}") from None
        raise EvaluationError(f"there is no date {year}-{month}-{day}") from None


def _make_timestamp(
    year: int, month: int, day: int, hour: int, minute: int, second: decimal.Decimal
) -> datetime.datetime:
    whole, micros = divmod(int(second * 1_000_000), 1_000_000)
    # Second 60 is the next minute's first, as long as it has no fraction.
    later = whole == 60 and not micros
    try:
        made = midnight(_make_date(year, month, day)).replace(
            hour=hour, minute=minute, second=0 if later else whole, microsecond=micros
        )
        return made + datetime.timedelta(minutes=1) if later else made
    except (ValueError, OverflowError):
        raise EvaluationError(f"there is no time {year}-{month}-{day} {hour}:{minute}:{second}") from None


# What timestampdiff() counts: so many microseconds, or so many months.
_UNITS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 7 * 86_400_000_000,
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
UNITS = (*_UNITS, *_MONTHS)


def _check_unit(unit: str) -> None:
    """SQL knows units as words; rules have any text there."""
    if unit not in UNITS:
        raise EvaluationError(f"{shown(unit)} is no unit of time", hint=f"it can be {', '.join(UNITS)}")


def _difference(unit: str, start: datetime.datetime, end: datetime.datetime) -> int:
    """How many whole units lie between two moments."""
    _check_unit(unit)
    if unit in _UNITS:
        micros = (end - start) // _MICROSECOND
        whole = abs(micros) // _UNITS[unit]
        return whole if micros >= 0 else -whole
    months = (end.year - start.year) * 12 + end.month - start.month
    first, second = ((each.day, each.time()) for each in (start, end))
    if months > 0 and second < first:
        months -= 1
    elif months < 0 and second > first:
        months += 1
    whole = abs(months) // _MONTHS[unit]
    return whole if months >= 0 else -whole


def _added(unit: str, amount: int, start: datetime.datetime) -> datetime.datetime:
    _check_unit(unit)
    if unit in _MONTHS:
        moved: datetime.datetime = shift_months(start, amount * _MONTHS[unit])
        return moved
    days, micros = divmod(amount * _UNITS[unit], _UNITS["day"])
    shifted: Any = shift_days(start, days)
    return _after_epoch(_microseconds(shifted) + micros)


def _of_moment(name: str, function: Callable[[datetime.datetime], int]) -> Builtin:
    # Unlike others, these do not take a date's midnight, and no text.
    return Builtin(name, takes(uncast(TIMESTAMP), returns=BIGINT), plain(function))


def _resolve_to_char(call: Call, types: tuple[Type, ...]) -> Resolved:
    """Dates and times by a pattern. Numbers have patterns of another kind."""
    if types and not types[0].is_time and types[0] != NULL:
        raise UnsupportedError(
            f"to_char() of {types[0]} is not supported", span=call.span, hint="it takes a DATE or a TIMESTAMP"
        )
    return _checked(takes(MOMENT, TEXT, returns=STRING))(call, types)


EPOCHS = (
    _of_moment("unix_seconds", lambda moment: _microseconds(moment) // 1_000_000),
    _of_moment("unix_millis", lambda moment: _microseconds(moment) // 1_000),
    _of_moment("unix_micros", _microseconds),
    Builtin("timestamp_seconds", _resolve_seconds, plain(_from_seconds)),
    Builtin("timestamp_millis", takes(_WHOLE, returns=TIMESTAMP), plain(lambda count: _after_epoch(count * 1000))),
    Builtin("timestamp_micros", takes(_WHOLE, returns=TIMESTAMP), plain(_after_epoch)),
    Builtin("unix_date", takes(uncast(DATE), returns=INT), plain(lambda date: (date - EPOCH.date()).days)),
    Builtin("date_from_unix_date", takes(COUNT, returns=DATE), plain(lambda days: shift_days(EPOCH.date(), days))),
    Builtin("unix_timestamp", _checked(_resolve_unix), plain(_unix_timestamp)),
    Builtin("from_unixtime", _checked(takes(_LONG, TEXT, optional=1, returns=STRING)), plain(_from_unixtime)),
    Builtin("date_format", _checked(takes(MOMENT, TEXT, returns=STRING)), plain(formatted)),
    Builtin("to_char", _resolve_to_char, plain(formatted)),
    Builtin(
        "parse_date", _checked(takes(TEXT, TEXT, returns=DATE)), plain(lambda text, pattern: read(text, pattern).date())
    ),
    Builtin("parse_timestamp", _checked(takes(TEXT, TEXT, returns=TIMESTAMP)), plain(read)),
    Builtin("make_date", takes(COUNT, COUNT, COUNT, returns=DATE), plain(_make_date)),
    Builtin(
        "make_timestamp",
        takes(COUNT, COUNT, COUNT, COUNT, COUNT, _FRACTION, returns=TIMESTAMP),
        plain(_make_timestamp),
    ),
    Builtin("timestampdiff", takes(TEXT, MOMENT, MOMENT, returns=BIGINT), plain(_difference)),
    Builtin("timestampadd", takes(TEXT, COUNT, MOMENT, returns=TIMESTAMP), plain(_added)),
)
