"""Whole numbers as rows of bits: the operators & | ^ ~, shifts, and numbers in other bases."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from whence.errors import EvaluationError, TypeMismatchError
from whence.functions import implicit
from whence.functions.resolve import (
    COUNT,
    INTEGER,
    TEXT,
    Builtin,
    Parameter,
    Resolved,
    accept,
    always,
    check_arity,
    plain,
    takes,
)
from whence.functions.widening import common_type, is_integer
from whence.model.terms import Call
from whence.model.types import BIGINT, BOOLEAN, INT, NULL, STRING, TINYINT, IntegerType, Type

_LONG = 1 << 64
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# What conv() gives for a number that has no place in 64 bits.
_ALL_BITS = _LONG - 1

BITS_OR_TRUTH = Parameter(
    "a whole number or a BOOLEAN",
    lambda given: given if is_integer(given) or given == BOOLEAN else INT if given == NULL else None,
)
# Of these Spark casts nothing.
_WHOLE = Parameter(INTEGER.description, INTEGER.accept)
# Spark shifts an INT or a BIGINT, and what is shorter as an INT.
_SHIFTED = Parameter(
    "a whole number",
    lambda given: BIGINT if given == BIGINT else INT if is_integer(given) or given == NULL else None,
    INT,
)


def _resolve_pair(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 2, 2)
    is_text = [
        implicit.are_on() and kind == STRING and is_integer(other)
        for kind, other in zip(types, reversed(types), strict=True)
    ]
    given = tuple(
        BIGINT if is_text[position] else accept(call, position, _WHOLE, kind) for position, kind in enumerate(types)
    )
    known = tuple(kind for kind, written in zip(given, types, strict=True) if written != NULL)
    common = common_type(known)
    if common is None or common == NULL:
        common = INT
    return Resolved(common, (common, common))


def _signed(number: int, bits: int) -> int:
    """The number that these bits are in two's complement."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def _bits(kind: Type) -> int:
    assert isinstance(kind, IntegerType)
    return kind.bits


def _shift_left(resolved: Resolved) -> Callable[..., int]:
    bits = _bits(resolved.result)
    # As in Java, only the last bits of the distance count.
    return lambda number, distance: _signed(number << (distance % bits), bits)


def _shift_right(resolved: Resolved) -> Callable[..., int]:
    bits = _bits(resolved.result)
    return lambda number, distance: number >> (distance % bits)


def _shift_unsigned(resolved: Resolved) -> Callable[..., int]:
    bits = _bits(resolved.result)
    return lambda number, distance: _signed((number % (1 << bits)) >> (distance % bits), bits)


def _bit_count(number: int) -> int:
    # Spark widens a negative number to 64 bits, whatever its type.
    return (int(number) % _LONG).bit_count()


def _get_bit(resolved: Resolved) -> Callable[..., int]:
    kind = resolved.arguments[0]
    bits = _bits(kind)

    def bit(number: int, position: int) -> int:
        if not 0 <= position < bits:
            raise EvaluationError(f"a {kind} has no bit {position}", hint=f"they count from 0 to {bits - 1}")
        return number >> position & 1

    return bit


def _binary(number: int) -> str:
    return f"{number % _LONG:b}"


def _resolve_conv(call: Call, types: tuple[Type, ...]) -> Resolved:
    return takes(TEXT, COUNT, COUNT, returns=STRING)(call, types)


def _conv(text: str, source: int, target: int) -> str | None:
    """The digits of a number in another base, as 64 bits; with a negative `target` they have a sign."""
    if not 2 <= source <= 36 or not 2 <= abs(target) <= 36:
        return None
    stripped = text.strip(" ")
    if not stripped:
        return None
    negative = stripped.startswith("-")
    number = 0
    for sign in stripped[negative:].upper():
        digit = _DIGITS.find(sign) if sign.isascii() else -1
        if not 0 <= digit < source:
            break
        number = number * source + digit
        if number > _ALL_BITS:
            raise EvaluationError(f"conv() makes a number of 64 bits, and {stripped[:40]} is larger")
    if negative and target > 0:
        # A sign that has nowhere to go stays in the bits.
        number = -number % _LONG if number < 1 << 63 else _ALL_BITS
        negative = False
    if target < 0:
        if not negative and number >= 1 << 63:
            number, negative = _LONG - number, True
        elif negative and number >= 1 << 63:
            number = 1
    return ("-" if negative and target < 0 and number else "") + _in_base(number, abs(target))


def _in_base(number: int, base: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, base)
        digits = _DIGITS[digit] + digits
    return digits or "0"


def _refuse_truth(call: Call, types: tuple[Type, ...]) -> Resolved:
    """getbit() of a whole number."""
    if types and types[0] == BOOLEAN:
        raise TypeMismatchError("getbit() takes a whole number", span=call.span)
    return takes(_WHOLE, COUNT, returns=TINYINT)(call, types)


def _shift(name: str, python: Callable[[Resolved], Callable[..., Any]]) -> Builtin:
    return Builtin(name, takes(_SHIFTED, COUNT, returns=lambda arguments: arguments[0]), python)


BITS = (
    Builtin("&", _resolve_pair, plain(operator.and_)),
    Builtin("|", _resolve_pair, plain(operator.or_)),
    Builtin("^", _resolve_pair, plain(operator.xor)),
    Builtin("~", takes(_WHOLE, returns=lambda arguments: arguments[0]), plain(operator.invert)),
    _shift("shiftleft", _shift_left),
    _shift("shiftright", _shift_right),
    _shift("shiftrightunsigned", _shift_unsigned),
    Builtin("bit_count", takes(BITS_OR_TRUTH, returns=INT), plain(_bit_count)),
    Builtin("getbit", _refuse_truth, _get_bit),
    Builtin(
        "bin",
        takes(
            Parameter("a BIGINT", lambda given: BIGINT if is_integer(given) or given == NULL else None, BIGINT),
            returns=STRING,
        ),
        plain(_binary),
    ),
    Builtin("conv", _resolve_conv, plain(_conv), nullable=always),
)
