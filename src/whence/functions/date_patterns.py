"""Patterns for dates and times, such as 'yyyy-MM-dd HH:mm:ss', as Java's DateTimeFormatter reads them.

Letters that depend on a time zone or a week of a locale are refused by name. What stands in brackets may be missing in
a text that is read, a time zone included, which then has to be.
"""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from whence.errors import EvaluationError, shown
from whence.model.types.times import midnight

DEFAULT = "yyyy-MM-dd HH:mm:ss"
_MONTHS = calendar.month_name
_DAYS = calendar.day_name
_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']", re.DOTALL)


class PatternError(EvaluationError):
    """A pattern that cannot be used, whatever the text is."""


class Field(NamedTuple):
    """Letters of a pattern, or a text that stands for itself."""

    letter: str
    repeated: int
    text: str


@lru_cache(maxsize=1024)
def fields(pattern: str) -> tuple[Field, ...]:
    found: list[Field] = []
    at = depth = 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            raise _refused(pattern, "a quote has no end")
        at = token.end()
        if token[1] is not None:
            found.append(Field("", 0, token[1].replace("''", "'") or "'"))
        elif token[2] is not None:
            if not depth or token[2] not in _ZONES:
                _check(pattern, token[2], len(token[0]))
            found.append(Field(token[2], len(token[0]), token[0]))
        elif token[0] in "[]":
            depth += 1 if token[0] == "[" else -1
            if depth < 0:
                raise _refused(pattern, "] stands without [")
            found.append(Field(token[0], 0, token[0]))
        elif token[0] in "{}#":
            raise _refused(pattern, f"{token[0]} is not supported")
        else:
            found.append(Field("", 0, token[0]))
    if depth:
        raise _refused(pattern, "[ has no end")
    return tuple(found)


_ZONES = "VzOXxZ"
# How often a letter may stand.
_LONGEST = {
    **dict.fromkeys("dhHkKms", 2),
    "y": 6,
    "M": 4,
    "L": 4,
    "E": 4,
    "D": 3,
    "S": 9,
    "a": 1,
    "Q": 4,
    "q": 2,
    "G": 4,
    "F": 1,
}


def _check(pattern: str, letter: str, count: int) -> None:
    most = _LONGEST.get(letter)
    if most is None:
        raise _refused(pattern, f"the letter {letter} is not supported")
    if count > most:
        raise _refused(pattern, f"{letter * count} is not supported")


def _refused(pattern: str, why: str) -> PatternError:
    return PatternError(
        f"{shown(pattern)} is no pattern of a date: {why}", hint="write for example 'yyyy-MM-dd HH:mm:ss'"
    )


def formatted(moment: datetime.datetime, pattern: str) -> str:
    parts: list[str] = []
    for field in fields(pattern):
        if not field.letter:
            parts.append(field.text)
        elif field.letter in _ZONES:
            raise _refused(pattern, f"the letter {field.letter} is not supported")
        elif field.letter not in "[]":
            parts.append(_FORMATS[field.letter](moment, field.repeated))
    return "".join(parts)


def _number(part: Callable[[datetime.datetime], int]) -> Callable[[datetime.datetime, int], str]:
    return lambda moment, count: str(part(moment)).rjust(count, "0")


def _year(moment: datetime.datetime, count: int) -> str:
    return f"{moment.year % 100:02d}" if count == 2 else str(moment.year).rjust(count, "0")


def _month(moment: datetime.datetime, count: int) -> str:
    if count <= 2:
        return str(moment.month).rjust(count, "0")
    name = _MONTHS[moment.month]
    return name[:3] if count == 3 else name


def _day_name(moment: datetime.datetime, count: int) -> str:
    name = _DAYS[moment.weekday()]
    return name if count == 4 else name[:3]


def _quarter(moment: datetime.datetime, count: int) -> str:
    number = (moment.month + 2) // 3
    if count <= 2:
        return str(number).rjust(count, "0")
    return f"Q{number}" if count == 3 else ("1st", "2nd", "3rd", "4th")[number - 1] + " quarter"


_FORMATS: dict[str, Callable[[datetime.datetime, int], str]] = {
    "y": _year,
    "M": _month,
    "L": _month,
    "d": _number(lambda moment: moment.day),
    "D": _number(lambda moment: moment.timetuple().tm_yday),
    "E": _day_name,
    "a": lambda moment, _: "AM" if moment.hour < 12 else "PM",
    "h": _number(lambda moment: (moment.hour + 11) % 12 + 1),
    "H": _number(lambda moment: moment.hour),
    "K": _number(lambda moment: moment.hour % 12),
    "k": _number(lambda moment: (moment.hour + 23) % 24 + 1),
    "m": _number(lambda moment: moment.minute),
    "s": _number(lambda moment: moment.second),
    "S": lambda moment, count: f"{moment.microsecond:06d}000"[:count],
    "Q": _quarter,
    "G": lambda _, count: "AD" if count < 4 else "Anno Domini",
    "F": _number(lambda moment: (moment.day - 1) % 7 + 1),
    "q": _number(lambda moment: (moment.month + 2) // 3),
}

# What a field reads: a group of a regular expression.
_READABLE = {
    "y": "year",
    "M": "month",
    "L": "month",
    "d": "day",
    "H": "hour",
    "h": "half",
    "m": "minute",
    "s": "second",
    "S": "fraction",
    "a": "noon",
    "D": "day_of_year",
}
_SHORT_MONTHS = {name[:3]: number for number, name in enumerate(_MONTHS) if name}
_LONG_MONTHS = {name: number for number, name in enumerate(_MONTHS) if name}


@lru_cache(maxsize=1024)
def _reader(pattern: str) -> re.Pattern[str]:
    parts: list[str] = []
    listed = fields(pattern)
    for place, field in enumerate(listed):
        if not field.letter:
            parts.append(re.escape(field.text))
            continue
        if field.letter in "[]":
            parts.append("(?:" if field.letter == "[" else ")?")
            continue
        if field.letter in _ZONES:
            # A moment of another zone would be another one here.
            parts.append("(?!)")
            continue
        group = _READABLE.get(field.letter)
        if group is None:
            raise _refused(pattern, f"{field.text} is not read from a text")
        # Numbers side by side have the lengths that the pattern gives them.
        digits_follow = (
            place + 1 < len(listed) and bool(listed[place + 1].letter) and listed[place + 1].letter not in "aE[]"
        )
        parts.append(f"(?P<{group}>{_readable(field, digits_follow)})")
    try:
        return re.compile("".join(parts), re.ASCII)
    except re.error:
        raise _refused(pattern, "a field stands twice") from None


def _readable(field: Field, digits_follow: bool) -> str:
    if field.letter == "y":
        return (
            r"\d{2}"
            if field.repeated == 2
            else rf"\d{{{field.repeated}}}"
            if digits_follow or field.repeated not in (1, 3)
            else rf"\d{{{field.repeated},6}}"
        )
    if field.letter in "ML" and field.repeated >= 3:
        return "|".join(_SHORT_MONTHS if field.repeated == 3 else _LONG_MONTHS)
    if field.letter == "S":
        return rf"\d{{{field.repeated}}}" if digits_follow else rf"\d{{1,{field.repeated}}}"
    if field.letter == "a":
        return "AM|PM"
    most = 3 if field.letter == "D" else 2
    return rf"\d{{{field.repeated}}}" if field.repeated > 1 or digits_follow else rf"\d{{1,{most}}}"


def parsed(text: str, pattern: str) -> datetime.datetime | None:
    """The moment, or None where the text does not follow the pattern."""
    found = _reader(pattern).fullmatch(text)
    if found is None:
        return None
    given = {name: value for name, value in found.groupdict().items() if value is not None}
    year = int(given.get("year", "1970"))
    if "year" in given and len(given["year"]) == 2 and re.search(r"(?<!y)yy(?!y)", pattern):
        year += 2000
    try:
        if "day_of_year" in given:
            date = datetime.date(year, 1, 1) + datetime.timedelta(days=int(given["day_of_year"]) - 1)
            if date.year != year or "month" in given or "day" in given:
                return None
        else:
            date = datetime.date(year, _month_number(given.get("month", "1")), int(given.get("day", "1")))
        hour = _hour(given)
        fraction = int(given.get("fraction", "0").ljust(9, "0")[:6])
        moment = midnight(date).replace(
            hour=hour, minute=int(given.get("minute", "0")), second=int(given.get("second", "0")), microsecond=fraction
        )
    except (ValueError, TypeError):
        return None
    return moment


def _month_number(text: str) -> int:
    return int(text) if text.isdecimal() else _SHORT_MONTHS[text[:3]]


def _hour(given: dict[str, str]) -> int:
    if "hour" in given or "half" not in given:
        return int(given.get("hour", "0"))
    half = int(given["half"])
    if not 1 <= half <= 12:
        raise ValueError(half)
    return half % 12 + (12 if given.get("noon") == "PM" else 0)
