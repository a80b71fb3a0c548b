"""Names, strings, numbers and typed literals: from their text to their value."""

from __future__ import annotations

import decimal
import re

from lark import Token

from whence.errors import ParseError, UnsupportedError
from whence.functions.timetext import parse_date, parse_timestamp
from whence.model.span import Span
from whence.model.terms import Constant
from whence.model.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    DecimalType,
    Type,
    Value,
)

LONGEST_DECIMAL = 38
# Enough for every 64-bit number in base two; Python refuses to read far longer ones.
LONGEST_INTEGER = 80

_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)", re.ASCII)
_DOUBLE = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def is_quoted(name: Token) -> bool:
    return name.startswith("`")


def name_text(name: Token, span: Span) -> str:
    """The name a token stands for. One that starts with $ is a branch of a type of Soufflé's."""
    if is_quoted(name):
        return name[1:-1].replace("``", "`")
    if name.startswith("$"):
        raise UnsupportedError(
            f"{name} is a branch of an algebraic data type, and whence has none",
            span=span,
            hint="keep the branch's name and its fields in columns of their own",
        )
    return str(name)


def string_value(token: Token, span: Span) -> str:
    inside = token[1:-1]
    if "\\" not in inside:
        return str(inside)

    def unescape(found: re.Match[str]) -> str:
        code, letter = found.groups()
        place = Span(span.source, span.start + 1 + found.start(), span.start + 1 + found.end())
        if code is not None:
            if 0xD800 <= int(code, 16) <= 0xDFFF:
                raise ParseError(
                    f"\\u{code} is half of a surrogate pair", span=place, hint="write the character itself"
                )
            return chr(int(code, 16))
        if letter not in _ESCAPES:
            raise ParseError(
                f"a string has no escape \\{letter}",
                span=place,
                hint=f"write \\\\{letter} for a backslash and {letter}",
            )
        return _ESCAPES[letter]

    return _ESCAPE.sub(unescape, inside)


def integer(token: str, span: Span, *, negative: bool = False) -> Constant:
    """INT where it fits, else BIGINT."""
    digits = token.lower()
    base = {"0x": 16, "0b": 2}.get(digits[:2], 10)
    value = int(digits[2:] if base != 10 else digits, base) if len(digits) <= LONGEST_INTEGER else 2**64
    if negative:
        value = -value
    for candidate, bits in ((INT, 31), (BIGINT, 63)):
        if -(2**bits) <= value < 2**bits:
            return Constant(value, candidate, span=span)
    raise ParseError("this number does not fit in 64 bits", span=span, hint='write DECIMAL "..." for a larger one')


def double(token: str, span: Span, *, negative: bool = False) -> Constant:
    value = float(token)
    if value == float("inf"):
        raise ParseError("this number is too large for a DOUBLE", span=span)
    return Constant(-value if negative and value else value, DOUBLE, span=span)


def typed(target: Type, text: str, span: Span) -> Constant:
    """`DATE "2026-01-01"`. A DECIMAL without parameters takes them from its text."""
    value = _value(target, text)
    if value is None:
        raise ParseError(f"{text!r} is no {target}", span=span, hint=_EXAMPLES.get(target))
    if target == DECIMAL_OF_TEXT:
        assert isinstance(value, decimal.Decimal)
        target = smallest_decimal(value)
        if target.precision > LONGEST_DECIMAL:
            digits = target.precision
            raise ParseError(f"a DECIMAL has at most {LONGEST_DECIMAL} digits, and this has {digits}", span=span)
    return Constant(value, target, span=span)


# Stands for the type that a DECIMAL's text gives it.
DECIMAL_OF_TEXT = Type("DECIMAL")

_EXAMPLES = {
    DATE: 'like DATE "2026-01-31"',
    TIMESTAMP: 'like TIMESTAMP "2026-01-31 12:00:00"',
    DECIMAL_OF_TEXT: 'like DECIMAL "3.50"',
    BOOLEAN: "true or false",
}


def _value(target: Type, text: str) -> Value:
    match target:
        case Type(name="STRING"):
            return text
        case Type(name="INT") | Type(name="BIGINT"):
            bits = 31 if target == INT else 63
            number = int(text) if _INTEGER.fullmatch(text) and len(text) <= LONGEST_INTEGER else 2**64
            return number if -(2**bits) <= number < 2**bits else None
        case Type(name="DOUBLE"):
            double_value = float(text) if _DOUBLE.fullmatch(text) else float("inf")
            # Adding 0.0 turns -0.0 into 0.0.
            return double_value + 0.0 if abs(double_value) != float("inf") else None
        case Type(name="BOOLEAN"):
            return {"true": True, "false": False}.get(text.lower())
        case Type(name="DATE"):
            return parse_date(text)
        case Type(name="TIMESTAMP"):
            return parse_timestamp(text)
        case DecimalType() | Type(name="DECIMAL"):
            value = decimal.Decimal(text) if _DECIMAL.fullmatch(text) else None
            fits = value is None or target == DECIMAL_OF_TEXT or fits_decimal(value, target)
            return value if fits else None
    return None


def fits_decimal(value: decimal.Decimal, target: Type) -> bool:
    """Whether the type holds the value without rounding it."""
    needed = _parameters(value)
    return (
        isinstance(target, DecimalType)
        and needed[1] <= target.scale
        and needed[0] - needed[1] <= target.precision - target.scale
    )


def smallest_decimal(value: decimal.Decimal) -> DecimalType:
    """The smallest type that holds a value as it is written: DECIMAL(3,2) for 3.50."""
    return DecimalType(*_parameters(value))


def _parameters(value: decimal.Decimal) -> tuple[int, int]:
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    return max(len(digits) + max(0, exponent), scale, 1), scale


def ascribed(constant: Constant, target: Type) -> Constant | None:
    """The constant with that type (`null::INT`, `"1.5"::DECIMAL(10,2)`), or None where it does not fit."""
    value = _retyped(constant.value, constant.type, target)
    return None if value is None and constant.value is not None else Constant(value, target)


def _retyped(value: Value, source: Type, target: Type) -> Value:
    if value is None or source == target:
        return value
    if source == STRING:
        assert isinstance(value, str)
        return _value(target, value)
    if isinstance(value, int) and not isinstance(value, bool):
        return (
            _value(target, str(value)) if target in (INT, BIGINT, DOUBLE) or isinstance(target, DecimalType) else None
        )
    if isinstance(value, decimal.Decimal) and isinstance(target, DecimalType):
        return value if fits_decimal(value, target) else None
    return None
