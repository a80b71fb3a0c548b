"""Functions of numbers, dates, timestamps, strings and arrays that Spark computes itself.

Spark's ANSI mode refuses what does not fit an INT, BIGINT or DECIMAL, and a division by zero. A DOUBLE that is not
finite, or a negative zero, it lets pass; neither is a value here.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable

import pyspark.sql.functions as F
from pyspark.sql import Column

from whence.engines.spark.native.columns import (
    BEYOND_BIGINT,
    Builder,
    ColumnExpression,
    NativeCall,
    exact_cast,
    is_long,
    literal,
    spark_function,
)
from whence.functions.arithmetic import operand_decimal
from whence.functions.dates import SPELLINGS, TRUNCATIONS
from whence.functions.resolve import constant_integer
from whence.functions.widening import as_decimal, is_integer
from whence.model.types import BIGINT, DATE, DOUBLE, REAL, TIMESTAMP, DecimalType, MapType, StructType, Type
from whence.model.types.decimals import MAX_PRECISION

# A whole quotient of so many digits is a BIGINT, whatever the digits are.
BIGINT_DIGITS = 18

_LAST = {DATE: "9999-12-31", TIMESTAMP: "9999-12-31 23:59:59.999999"}
# The units of date_trunc, by all their names. A week can begin before the year 1.
_UNITS = {unit: unit for unit in TRUNCATIONS if unit != "week"} | SPELLINGS

Operator = Callable[[Column, Column], Column]


def _finite(call: NativeCall, column: Column, message: str) -> ColumnExpression:
    # To Spark, NaN is larger than every number.
    return call.checked(column + 0.0, F.abs(column) > sys.float_info.max, message)


def _decimals(call: NativeCall) -> tuple[ColumnExpression, ColumnExpression]:
    """The operands as DECIMALs of their own widths, from which Spark finds the result's."""
    left, right = (
        exact_cast(piece, operand_decimal(argument, piece.kind))
        for piece, argument in zip(call.arguments, call.call.arguments, strict=True)
    )
    return left, right


def _arithmetic(sign: str, combine: Operator) -> Builder:
    def build(call: NativeCall) -> ColumnExpression | None:
        left, right = call.arguments
        if isinstance(call.resolved.result, DecimalType):
            left, right = _decimals(call)
        if call.resolved.result == DOUBLE:
            return _finite(call, combine(left.column, right.column), f"the result of {sign} is not a finite DOUBLE")
        return call.plain(combine(left.column, right.column))

    return build


def _add(call: NativeCall) -> ColumnExpression | None:
    if len(call.arguments) == 1:
        return call.plain(call.arguments[0].column)
    if call.resolved.result == DATE:
        days, date = sorted(call.arguments, key=lambda piece: piece.kind == DATE)
        return _date_plus(call, date, days)
    return _arithmetic("+", operator.add)(call)


def _subtract(call: NativeCall) -> ColumnExpression | None:
    if len(call.arguments) == 1:
        return _negate(call)
    left, right = call.arguments
    if call.resolved.result == DATE:
        return _date_minus(call, left, right)
    return _arithmetic("-", operator.sub)(call)


def _negate(call: NativeCall) -> ColumnExpression | None:
    (value,) = call.arguments
    if is_long(value.kind):
        return None
    return call.plain(F.lit(0.0) - value.column if value.kind == DOUBLE else -value.column)


def _abs(call: NativeCall) -> ColumnExpression | None:
    (value,) = call.arguments
    return None if is_long(value.kind) else call.plain(F.abs(value.column))


def _divide(call: NativeCall) -> ColumnExpression | None:
    if call.resolved.result == DOUBLE and all(is_integer(piece.kind) for piece in call.arguments):
        left, right = (piece.column.cast("double") for piece in call.arguments)
        return call.plain(left / right + 0.0)
    return _arithmetic("/", operator.truediv)(call)


def _remainder(call: NativeCall) -> ColumnExpression | None:
    left, right = call.arguments
    if call.resolved.result == DOUBLE:
        return call.plain(left.column % right.column + 0.0)
    if isinstance(call.resolved.result, DecimalType):
        left, right = _decimals(call)
        if _quotient_digits(left, right) > MAX_PRECISION:
            return None
    return call.plain(left.column % right.column)


def _div(call: NativeCall) -> ColumnExpression | None:
    left, right = call.arguments
    if all(is_integer(piece.kind) for piece in call.arguments):
        left, right = exact_cast(left, BIGINT), exact_cast(right, BIGINT)
    elif _quotient_digits(left, right) > BIGINT_DIGITS:
        return None
    return call.plain(F.call_function("div", left.column, right.column))


def _quotient(call: NativeCall) -> ColumnExpression | None:
    if not is_integer(call.resolved.result):
        return _divide(call)
    whole = F.call_function("div", *(exact_cast(piece, BIGINT).column for piece in call.arguments))
    return call.plain(whole.cast(call.resolved.result.name))


def _quotient_digits(left: ColumnExpression, right: ColumnExpression) -> int:
    """How many digits a whole quotient can have."""
    dividend, divisor = as_decimal(left.kind), as_decimal(right.kind)
    return dividend.precision - dividend.scale + divisor.scale


def _round(call: NativeCall) -> ColumnExpression | None:
    value = call.arguments[0]
    digits = constant_integer(call.call.arguments[1]) if len(call.arguments) > 1 else 0
    if digits is None or value.kind == DOUBLE or abs(digits) > MAX_PRECISION:
        return None
    if is_integer(value.kind):
        return call.plain(value.column) if digits >= 0 else None
    return call.plain(F.round(value.column, digits))


def _whole(name: str, function: Callable[[Column], Column]) -> Builder:
    def build(call: NativeCall) -> ColumnExpression:
        (value,) = call.arguments
        if value.kind == DOUBLE:
            too_large = (value.column >= BEYOND_BIGINT) | (value.column < -BEYOND_BIGINT)
            return call.checked(function(value.column), too_large, f"the result of {name}() does not fit BIGINT")
        return call.plain(value.column if is_integer(value.kind) else function(value.column))

    return build


def _sqrt(call: NativeCall) -> ColumnExpression:
    (value,) = call.arguments
    return call.checked(F.sqrt(value.column), value.column < 0, "there is no square root of a negative number")


def _in_calendar(call: NativeCall, column: Column, kind: Type) -> ColumnExpression:
    first, last = (F.lit(text).cast(kind.name) for text in ("0001-01-01", _LAST[kind]))
    return call.checked(column, ~column.between(first, last), "a date is outside the years 1 to 9999")


def _date_plus(call: NativeCall, date: ColumnExpression, days: ColumnExpression) -> ColumnExpression:
    return _in_calendar(call, F.date_add(date.column, days.column), DATE)


def _date_minus(call: NativeCall, date: ColumnExpression, days: ColumnExpression) -> ColumnExpression:
    return _in_calendar(call, F.date_sub(date.column, days.column), DATE)


def _add_months(call: NativeCall) -> ColumnExpression:
    date, months = call.arguments
    return _in_calendar(call, F.add_months(date.column, months.column), DATE)


def _add_interval(call: NativeCall) -> ColumnExpression | None:
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


def _timestamp_micros(call: NativeCall) -> ColumnExpression:
    return _in_calendar(call, F.timestamp_micros(call.arguments[0].column), TIMESTAMP)


def _pmod(call: NativeCall) -> ColumnExpression | None:
    """Of whole numbers, and by a positive constant: by other numbers the sign is another matter."""
    divisor = constant_integer(call.call.arguments[1])
    whole = all(is_integer(piece.kind) for piece in call.arguments)
    if not whole or divisor is None or divisor <= 0:
        return None
    return call.plain(F.pmod(*(piece.column for piece in call.arguments)))


def _date_trunc(call: NativeCall) -> ColumnExpression | None:
    constant = call.constant(0)
    unit = None if constant is None else _UNITS.get(str(constant.value).lower())
    return None if unit is None else call.plain(F.date_trunc(unit, call.arguments[1].column))


def _trim(function: Callable[[Column], Column]) -> Builder:
    return lambda call: call.plain(function(call.arguments[0].column)) if len(call.arguments) == 1 else None


def _like(call: NativeCall) -> ColumnExpression | None:
    """With a constant pattern, which has been checked when the program was read."""
    constants = [call.constant(position) for position in range(1, len(call.arguments))]
    if any(constant is None or constant.value is None for constant in constants):
        return None
    return call.plain(F.like(*(piece.column for piece in call.arguments)))


def _of_other_types(builder: Builder) -> Builder:
    """Left to Python where a REAL takes part: Spark lets pass what is not finite."""

    def build(call: NativeCall) -> ColumnExpression | None:
        kinds = (call.resolved.result, *(piece.kind for piece in call.arguments))
        return None if REAL in kinds else builder(call)

    return build


_ARITHMETIC: dict[str, Builder] = {
    "+": _add,
    "-": _subtract,
    "*": _arithmetic("*", operator.mul),
    "/": _divide,
    "div": _div,
    "quotient": _quotient,
    "%": _remainder,
    "abs": _abs,
    "round": _round,
    "floor": _whole("floor", F.floor),
    "ceil": _whole("ceil", F.ceil),
}


def _of_array(function: Callable[..., Column]) -> Builder:
    """What is another function of a map, or another value for a NULL."""
    build = spark_function(function)
    return lambda call: None if isinstance(call.arguments[0].kind, MapType) else build(call)


def _struct(call: NativeCall) -> ColumnExpression:
    kind = call.resolved.result
    assert isinstance(kind, StructType)
    fields = zip(kind.fields, call.arguments[1::2], strict=True)
    return call.plain(F.struct(*(piece.column.alias(name) for (name, _), piece in fields)))


def _field(call: NativeCall) -> ColumnExpression | None:
    name = call.constant(1)
    return None if name is None else call.plain(call.arguments[0].column.getField(str(name.value)))


FUNCTIONS: dict[str, Builder] = {
    "named_struct": _struct,
    "struct_field": _field,
    **{name: _of_other_types(builder) for name, builder in _ARITHMETIC.items()},
    "sign": lambda call: call.plain(F.signum(call.arguments[0].column.cast("double"))),
    "sqrt": _sqrt,
    "year": spark_function(F.year),
    "quarter": spark_function(F.quarter),
    "month": spark_function(F.month),
    "day": spark_function(F.day),
    "dayofweek": spark_function(F.dayofweek),
    "hour": spark_function(F.hour),
    "minute": spark_function(F.minute),
    "second": spark_function(F.second),
    "date_add": lambda call: _date_plus(call, *call.arguments),
    "date_sub": lambda call: _date_minus(call, *call.arguments),
    "datediff": spark_function(F.datediff),
    "add_months": _add_months,
    "add_interval": _add_interval,
    "date_trunc": _date_trunc,
    "unix_micros": spark_function(F.unix_micros),
    "timestamp_micros": _timestamp_micros,
    "pmod": _pmod,
    "concat": spark_function(F.concat),
    "length": spark_function(F.length),
    "substring": spark_function(F.substr),
    "left": spark_function(F.left),
    "right": spark_function(F.right),
    "trim": _trim(F.trim),
    "ltrim": _trim(F.ltrim),
    "rtrim": _trim(F.rtrim),
    "replace": spark_function(F.replace),
    "reverse": spark_function(F.reverse),
    "instr": spark_function(F.instr),
    "locate": spark_function(F.position),
    "startswith": spark_function(F.startswith),
    "endswith": spark_function(F.endswith),
    "contains": spark_function(F.contains),
    "like": _like,
    "array": spark_function(F.array),
    "array_contains": spark_function(F.array_contains),
    "size": _of_array(F.array_size),
    "element_at": _of_array(F.element_at),
}
