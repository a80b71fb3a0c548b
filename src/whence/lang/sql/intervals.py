"""INTERVAL literals and types: '1-2' YEAR TO MONTH, 3 DAYS, '1 day 2 hours', and those of weeks and the like.

An interval of weeks, quarters, milliseconds or microseconds has no type of its own: it is only added to a time.
"""

from __future__ import annotations

import re
from decimal import Decimal

from sqlglot import exp

from whence.errors import TypeMismatchError, UnsupportedError
from whence.model.schema import DURATION_UNITS
from whence.model.span import Span
from whence.model.terms import Constant
from whence.model.types import BY_NAME, IntervalType, Type
from whence.model.types.intervals import DayTimeType, YearMonthType

_MONTHS = {"year": 12, "quarter": 3, "month": 1}
_DAYS = {"week": 7, "day": 1}
_MICROSECONDS = {unit: size for unit, size in DURATION_UNITS.items() if unit not in _DAYS}
_AMOUNT = r"[-+]?\s*(?:\d+(?:\.\d*)?|\.\d+)"
_PARTS = re.compile(rf"\s*(?:interval\s)?\s*((?:{_AMOUNT}\s*[a-z]+\s*)+)", re.IGNORECASE)
_PART = re.compile(rf"({_AMOUNT})\s*([a-z]+)", re.IGNORECASE)


def interval_type(node: exp.Interval, span: Span | None) -> Type:
    """The type that is written INTERVAL and a range of units."""
    unit = node.args.get("unit")
    words = (
        [unit.this.name, unit.expression.name] if isinstance(unit, exp.IntervalSpan) else [unit.name if unit else ""]
    )
    name = f"INTERVAL {' TO '.join(dict.fromkeys(word.upper() for word in words))}"
    if name not in BY_NAME:
        raise UnsupportedError(
            f"the type {name.strip()} is not supported",
            span=span,
            hint="use INTERVAL YEAR TO MONTH or INTERVAL DAY TO SECOND, or a shorter range of their units",
        )
    return BY_NAME[name]


def interval_constant(node: exp.Interval, span: Span | None) -> Constant | None:
    """The value of a literal; None if it is one of weeks and the like, or of both months and days."""
    unit, text, negative = _written(node, span)
    if isinstance(unit, exp.IntervalSpan):
        kind = interval_type(node, span)
        value = kind.from_literal(text)
        if value is None:
            raise TypeMismatchError(
                f"{text!r} is no {kind}", span=span, hint=f"write it {kind.literal_hint}".replace('"', "'")
            )
        assert isinstance(kind, IntervalType)
        return Constant(kind.of_units(-kind.units(value) if negative else kind.units(value)), kind, span=span)
    parts = _amounts(unit, text, span)
    names = {name.upper() for name, _ in parts}
    for make in (YearMonthType, DayTimeType):
        known = list(make.UNITS)
        if names <= set(known):
            places = sorted(known.index(name) for name in names)
            kind = make(known[places[0]], known[places[-1]])
            number = sum(_exact(amount, kind.UNITS[name.upper()], name, span) for name, amount in parts)
            number = -number if negative else number
            if number not in kind.LIMITS:
                raise TypeMismatchError("this INTERVAL is too long", span=span)
            return Constant(kind.of_units(number), kind, span=span)
    return None


def interval_parts(node: exp.Interval, span: Span | None, *, negative: bool) -> tuple[int, int, int]:
    """Months, days and microseconds of any literal."""
    unit, text, is_negative = _written(node, span)
    sign = -1 if is_negative != negative else 1
    if isinstance(unit, exp.IntervalSpan):
        constant = interval_constant(node, span)
        assert constant is not None and isinstance(constant.type, IntervalType)
        number = constant.type.units(constant.value) * (-1 if negative else 1)
        return (number, 0, 0) if isinstance(constant.type, YearMonthType) else (0, 0, number)
    months = days = microseconds = 0
    for name, amount in _amounts(unit, text, span):
        if name in _MONTHS:
            months += _exact(amount, _MONTHS[name], name, span)
        elif name in _DAYS:
            days += _exact(amount, _DAYS[name], name, span)
        else:
            microseconds += _exact(amount, _MICROSECONDS[name], name, span)
    return sign * months, sign * days, sign * microseconds


def _written(node: exp.Interval, span: Span | None) -> tuple[exp.Expr | None, str, bool]:
    """The unit, the text, and whether a minus stands before it."""
    number, negative = node.this, False
    while isinstance(number, exp.Neg):
        number, negative = number.this, not negative
    if not isinstance(number, exp.Literal):
        raise UnsupportedError(
            "an INTERVAL of a computed number is not supported, as in Spark",
            span=span,
            hint="multiply: n * INTERVAL '1' DAY",
        )
    return node.args.get("unit"), str(number.this), negative


def _amounts(unit: exp.Expr | None, text: str, span: Span | None) -> list[tuple[str, Decimal]]:
    """The units of a literal in the singular, and how many of each."""
    whole = text if unit is None else f"{text} {unit.name}"
    if unit is not None and not re.fullmatch(rf"\s*{_AMOUNT}\s*", text):
        raise _unreadable(text, span)
    found = _PARTS.fullmatch(whole)
    if found is None:
        raise _unreadable(text, span)
    parts = [
        (name.lower().removesuffix("s"), Decimal(re.sub(r"\s", "", amount))) for amount, name in _PART.findall(found[1])
    ]
    for name, _ in parts:
        if name not in _MONTHS and name not in _DAYS and name not in _MICROSECONDS:
            raise UnsupportedError(
                f"INTERVAL knows no unit {name!r}", span=span, hint="use YEAR, MONTH, WEEK, DAY, HOUR, MINUTE, SECOND"
            )
    return parts


def _exact(amount: Decimal, size: int, name: str, span: Span | None) -> int:
    number = amount * size
    if name != "second" and amount != amount.to_integral_value():
        raise TypeMismatchError(f"an INTERVAL has whole {name}s", span=span, hint="only seconds have a fraction")
    return int(number)


def _unreadable(text: str, span: Span | None) -> UnsupportedError:
    return UnsupportedError(
        f"{text!r} is no INTERVAL that can be read",
        span=span,
        hint="write INTERVAL '3' MONTH or INTERVAL '1-2' YEAR TO MONTH",
    )
