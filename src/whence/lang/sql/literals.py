"""Literals of the text to typed constants."""

from __future__ import annotations

import re
from decimal import Decimal

from sqlglot import exp

from whence.errors import EvaluationError, TypeMismatchError, UnsupportedError
from whence.functions.evaluate import convert
from whence.model import types
from whence.model.span import Span
from whence.model.terms import Cast, Constant, Term
from whence.model.types import DecimalType, Type

_INTERVAL_MONTHS = {"year": 12, "quarter": 3, "month": 1}
_INTERVAL_DAYS = {"week": 7, "day": 1}
_INTERVAL_MICROSECONDS = {
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}


def to_constant(literal: exp.Literal, span: Span | None, *, negative: bool = False) -> Constant:
    """A number or a text. Numbers have Spark's types: 1 INT, 10000000000 BIGINT, 1.5 DECIMAL(2,1), 1e3 DOUBLE."""
    text = str(literal.this)
    if literal.is_string:
        return Constant(text, types.STRING, span=span)
    if negative:
        text = f"-{text}"
    if re.fullmatch(r"-?\d+", text):
        return integer(int(text), span)
    if "e" in text.lower():
        value = float(text)
        if value in (float("inf"), float("-inf")):
            raise TypeMismatchError(f"{text} is too large for a DOUBLE", span=span)
        return Constant(value + 0.0, types.DOUBLE, span=span)
    return decimal(Decimal(text), span)


def integer(value: int, span: Span | None) -> Constant:
    if -(2**31) <= value < 2**31:
        return Constant(value, types.INT, span=span)
    if -(2**63) <= value < 2**63:
        return Constant(value, types.BIGINT, span=span)
    raise TypeMismatchError(
        f"{value} is too large for a BIGINT", span=span, hint="write it as a DECIMAL: CAST('...' AS DECIMAL(38,0))"
    )


def decimal(value: Decimal, span: Span | None) -> Constant:
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    precision = max(len(digits), scale)
    if precision > 38:
        raise TypeMismatchError(f"{value} has more than 38 digits", span=span)
    return Constant(value, DecimalType(precision, scale), span=span)


def cast(term: Term, target: Type, span: Span | None) -> Term:
    """The term as another type; a constant is converted at once."""
    if not isinstance(term, Constant):
        return Cast(term, target, span=span)
    if term.value is None:
        return Constant(None, target, span=span)
    try:
        return Constant(convert(term.value, term.type, target, span), target, span=span)
    except EvaluationError as error:
        raise TypeMismatchError(error.message, span=span, hint=error.hint) from None


def interval_parts(interval: exp.Interval, span: Span | None, *, negative: bool) -> tuple[int, int, int]:
    """Months, days, microseconds of an INTERVAL literal."""
    unit = interval.args.get("unit")
    number = interval.this
    sign = -1 if negative else 1
    if isinstance(number, exp.Neg):
        sign, number = -sign, number.this
    text = str(number.this) if isinstance(number, exp.Literal) else ""
    name = unit.name.lower().removesuffix("s") if isinstance(unit, exp.Var) else ""
    if re.fullmatch(r"\s*[-+]?\d+\s*", text):
        amount = sign * int(text)
        if name in _INTERVAL_MONTHS:
            return amount * _INTERVAL_MONTHS[name], 0, 0
        if name in _INTERVAL_DAYS:
            return 0, amount * _INTERVAL_DAYS[name], 0
        if name in _INTERVAL_MICROSECONDS:
            return 0, 0, amount * _INTERVAL_MICROSECONDS[name]
    raise UnsupportedError(
        "this form of INTERVAL is not supported",
        span=span,
        hint="write a whole number and one unit: INTERVAL '3' MONTH",
    )
