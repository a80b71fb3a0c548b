"""Arithmetic and the functions of numbers.

Spark's ANSI mode refuses what does not fit an INT, BIGINT or DECIMAL, and a division by zero. A DOUBLE that is not
finite, or a negative zero, it lets pass; neither is a value here.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable

import pyspark.sql.functions as F
from pyspark.sql import Column

from whence.engines.spark.native.casts import BEYOND_BIGINT, exact_cast, is_long
from whence.engines.spark.native.dates import date_minus, date_plus
from whence.engines.spark.native.pieces import Builder, NativeCall, Piece
from whence.functions.resolve import constant_integer
from whence.functions.widening import MAX_PRECISION, as_decimal, is_integer
from whence.model.terms import Constant, Variable
from whence.model.types import BIGINT, DATE, DOUBLE, DecimalType

# A whole quotient of so many digits is a BIGINT, whatever the digits are.
BIGINT_DIGITS = 18

Operator = Callable[[Column, Column], Column]


def _finite(call: NativeCall, column: Column, message: str) -> Piece:
    # To Spark, NaN is larger than every number.
    return call.checked(column + 0.0, F.abs(column) > sys.float_info.max, message)


def _decimals(call: NativeCall) -> tuple[Piece, Piece]:
    """The operands as DECIMALs of their own widths, from which Spark finds the result's."""
    left, right = (
        exact_cast(
            piece,
            as_decimal(piece.kind) if constant is None else DecimalType(len(str(abs(constant))), 0),
        )
        for piece, constant in zip(call.arguments, map(constant_integer, call.call.arguments), strict=True)
    )
    return left, right


def _arithmetic(sign: str, combine: Operator) -> Builder:
    def build(call: NativeCall) -> Piece | None:
        left, right = call.arguments
        if isinstance(call.resolved.result, DecimalType):
            left, right = _decimals(call)
        if call.resolved.result == DOUBLE:
            return _finite(call, combine(left.column, right.column), f"the result of {sign} is not a finite DOUBLE")
        return call.plain(combine(left.column, right.column))

    return build


def _add(call: NativeCall) -> Piece | None:
    if call.resolved.result == DATE:
        days, date = sorted(call.arguments, key=lambda piece: piece.kind == DATE)
        return date_plus(call, date, days)
    return _arithmetic("+", operator.add)(call)


def _subtract(call: NativeCall) -> Piece | None:
    if len(call.arguments) == 1:
        return _negate(call)
    left, right = call.arguments
    if call.resolved.result == DATE:
        return date_minus(call, left, right)
    if left.kind == DATE:
        return call.plain(F.datediff(left.column, right.column))
    return _arithmetic("-", operator.sub)(call)


def _negate(call: NativeCall) -> Piece | None:
    (value,) = call.arguments
    if is_long(value.kind):
        return None
    return call.plain(F.lit(0.0) - value.column if value.kind == DOUBLE else -value.column)


def _abs(call: NativeCall) -> Piece | None:
    (value,) = call.arguments
    return None if is_long(value.kind) else call.plain(F.abs(value.column))


def _dividing(build: Builder) -> Builder:
    """Spark looks at the divisor first. Ours is not computed where the dividend is NULL, and does not fail there."""

    def build_in_order(call: NativeCall) -> Piece | None:
        piece = build(call)
        if piece is None or isinstance(call.call.arguments[1], Variable | Constant):
            return piece
        return Piece(F.when(call.arguments[0].column.isNotNull(), piece.column), piece.kind, 2 * piece.size)

    return build_in_order


def _divide(call: NativeCall) -> Piece | None:
    if call.resolved.result == DOUBLE and all(is_integer(piece.kind) for piece in call.arguments):
        left, right = (piece.column.cast("double") for piece in call.arguments)
        return call.plain(left / right + 0.0)
    return _arithmetic("/", operator.truediv)(call)


def _remainder(call: NativeCall) -> Piece | None:
    left, right = call.arguments
    if call.resolved.result == DOUBLE:
        return call.plain(left.column % right.column + 0.0)
    if isinstance(call.resolved.result, DecimalType):
        left, right = _decimals(call)
        if _quotient_digits(left, right) > MAX_PRECISION:
            return None
    return call.plain(left.column % right.column)


def _div(call: NativeCall) -> Piece | None:
    left, right = call.arguments
    if all(is_integer(piece.kind) for piece in call.arguments):
        left, right = exact_cast(left, BIGINT), exact_cast(right, BIGINT)
    elif _quotient_digits(left, right) > BIGINT_DIGITS:
        return None
    return call.plain(F.call_function("div", left.column, right.column))


def _quotient_digits(left: Piece, right: Piece) -> int:
    """How many digits a whole quotient can have."""
    dividend, divisor = as_decimal(left.kind), as_decimal(right.kind)
    return dividend.precision - dividend.scale + divisor.scale


def _round(call: NativeCall) -> Piece | None:
    value = call.arguments[0]
    digits = constant_integer(call.call.arguments[1]) if len(call.arguments) > 1 else 0
    if digits is None or value.kind == DOUBLE or abs(digits) > MAX_PRECISION:
        return None
    if is_integer(value.kind):
        return call.plain(value.column) if digits >= 0 else None
    return call.plain(F.round(value.column, digits))


def _whole(name: str, function: Callable[[Column], Column]) -> Builder:
    def build(call: NativeCall) -> Piece:
        (value,) = call.arguments
        if value.kind == DOUBLE:
            too_large = (value.column >= BEYOND_BIGINT) | (value.column < -BEYOND_BIGINT)
            return call.checked(function(value.column), too_large, f"the result of {name}() does not fit BIGINT")
        return call.plain(value.column if is_integer(value.kind) else function(value.column))

    return build


def _sqrt(call: NativeCall) -> Piece:
    (value,) = call.arguments
    return call.checked(F.sqrt(value.column), value.column < 0, "there is no square root of a negative number")


NUMBERS: dict[str, Builder] = {
    "+": _add,
    "-": _subtract,
    "*": _arithmetic("*", operator.mul),
    "/": _dividing(_divide),
    "div": _dividing(_div),
    "%": _dividing(_remainder),
    "abs": _abs,
    "round": _round,
    "floor": _whole("floor", F.floor),
    "ceil": _whole("ceil", F.ceil),
    "sign": lambda call: call.plain(F.signum(call.arguments[0].column.cast("double"))),
    "sqrt": _sqrt,
}
