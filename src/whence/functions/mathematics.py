"""Numbers that stay within their type: ranges, DECIMAL rounding, and the errors for what does not fit."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from typing import Any

from whence.errors import EvaluationError, TypeMismatchError, shown
from whence.functions.resolve import (
    APPROXIMATE,
    COUNT,
    NUMBER,
    Builtin,
    Parameter,
    Resolved,
    accept,
    always,
    check_arity,
    constant_integer,
    plain,
    takes,
)
from whence.functions.widening import as_decimal, is_floating, is_integer
from whence.model.terms import Call
from whence.model.types import BIGINT, DOUBLE, INT, REAL, DecimalType, IntegerType, IntervalType, Type, Value
from whence.model.types.decimals import CONTEXT, MAX_PRECISION, exact_decimal, rescale


def finite(result: float, expression: Callable[[], str]) -> float:
    """`result` without a negative zero; NaN and Infinity are errors."""
    if math.isfinite(result):
        return result + 0.0
    raise EvaluationError(f"{expression()} is not a finite DOUBLE")


def misfit(expression: str, kind: Type) -> EvaluationError:
    """The error for a result outside its type."""
    hint = (
        "convert an operand to BIGINT first"
        if kind == INT
        else "convert an operand to DOUBLE for an approximate result"
    )
    return EvaluationError(f"{expression} does not fit {kind}", hint=hint)


def infix(left: object, operator: str, right: object) -> str:
    return f"{shown(left)} {operator} {shown(right)}"


# Every number rounds to 0 here, since no DOUBLE has as many digits before the point.
_NOTHING_LEFT = -400


# What abs() and sign() take.
_AMOUNT = Parameter(
    "a number", lambda given: given if isinstance(given, IntervalType) else NUMBER.accept(given), NUMBER.cast
)


def _abs(resolved: Resolved) -> Callable[..., Any]:
    kind = resolved.result
    if isinstance(kind, IntervalType):
        return lambda value: kind.of_units(abs(kind.units(value)))
    if isinstance(resolved.result, DecimalType):
        # The built-in abs() rounds to 28 digits.
        return decimal.Decimal.copy_abs
    if not isinstance(resolved.result, IntegerType):
        return abs
    limits = resolved.result.limits

    def absolute(value: int) -> int:
        if -value in limits:
            return abs(value)
        raise misfit(f"abs({value})", resolved.result)

    return absolute


def _round_type(kind: Type, digits: int) -> Type:
    if not isinstance(kind, DecimalType):
        return kind
    # Rounding 9.9 up to 10 takes one more digit before the point.
    integral = kind.precision - kind.scale + 1
    if digits < 0:
        return DecimalType(min(MAX_PRECISION, max(integral, 1 - digits)), 0)
    scale = min(kind.scale, digits)
    return DecimalType(min(MAX_PRECISION, integral + scale), scale)


def _resolve_round(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 1, 2)
    kind = accept(call, 0, NUMBER, types[0])
    if len(types) == 1:
        return Resolved(_round_type(kind, 0), (kind,))
    return _rounded_to_digits(call, types, kind)


def _rounded_to_digits(call: Call, types: tuple[Type, ...], kind: Type) -> Resolved:
    count = accept(call, 1, COUNT, types[1])
    digits = constant_integer(call.arguments[1])
    if digits is None:
        # The number of digits decides the type of the result, so it cannot differ from row to row.
        raise TypeMismatchError(
            f"argument 2 of {call.function}() must be a constant integer", span=call.arguments[1].span or call.span
        )
    if digits not in INT.limits:
        raise TypeMismatchError(
            f"argument 2 of {call.function}() must be an INT, which {digits} is not",
            span=call.arguments[1].span or call.span,
        )
    return Resolved(_round_type(kind, digits), (kind, count))


def _rounding(name: str, mode: str) -> Callable[[Resolved], Callable[..., Any]]:
    """To so many digits after the point, in one of decimal's modes."""
    context = CONTEXT.copy()
    context.rounding = mode
    return lambda resolved: _rounded(name, context, resolved)


def _rounded(name: str, context: decimal.Context, resolved: Resolved) -> Callable[..., Any]:
    kind = resolved.result
    if isinstance(kind, DecimalType):
        fit = rescale(kind)
    limits = kind.limits if isinstance(kind, IntegerType) else None

    def rounded_value(value: Any, digits: int = 0) -> Value:
        digits = max(digits, _NOTHING_LEFT)
        number = exact_decimal(value) if is_floating(kind) else decimal.Decimal(value)
        exponent = int(number.as_tuple().exponent)
        # There is nothing to round, and quantize would only append zeros.
        rounded = number if exponent >= -digits else context.quantize(number, decimal.Decimal((0, (1,), -digits)))
        if kind == REAL:
            return finite(REAL.nearest(float(rounded)), lambda: f"{name}({shown(value)}, {digits})")
        if kind == DOUBLE:
            return finite(float(rounded), lambda: f"{name}({shown(value)}, {digits})")
        result = int(rounded) if limits is not None else fit(rounded)
        if result is None or (limits is not None and result not in limits):
            raise misfit(f"{name}({shown(value)}, {digits})", kind)
        return result

    return rounded_value


def _resolve_whole_digits(call: Call, types: tuple[Type, ...]) -> Resolved:
    """floor(x, digits) computes with DECIMALs, whatever it is given."""
    check_arity(call, 2, 2)
    given = accept(call, 0, NUMBER, types[0])
    if types[1] == BIGINT:
        raise TypeMismatchError("the number of digits is an INT", span=call.arguments[1].span or call.span)
    return _rounded_to_digits(call, types, _AS_DECIMAL[given] if given in _AS_DECIMAL else as_decimal(given))


# What Spark takes a FLOAT and a DOUBLE for where it needs a DECIMAL.
_AS_DECIMAL: dict[Type, DecimalType] = {REAL: DecimalType(14, 7), DOUBLE: DecimalType(30, 15)}


def _whole_type(arguments: tuple[Type, ...]) -> Type:
    (kind,) = arguments
    if isinstance(kind, DecimalType):
        return DecimalType(min(MAX_PRECISION, kind.precision - kind.scale + 1), 0) if kind.scale else kind
    return BIGINT


def _whole(name: str, function: Callable[[Any], int]) -> Builtin:
    """floor and ceil: DECIMAL stays DECIMAL, everything else becomes BIGINT."""

    def python(resolved: Resolved) -> Callable[..., Any]:
        if is_integer(resolved.arguments[0]):
            return int
        if isinstance(resolved.result, DecimalType):
            return lambda value: decimal.Decimal(function(value))
        limits = BIGINT.limits

        def whole(value: float) -> int:
            result = function(value)
            if result in limits:
                return result
            raise misfit(f"{name}({shown(value)})", BIGINT)

        return whole

    return Builtin(name, takes(NUMBER, returns=_whole_type), python)


def _sign_of(resolved: Resolved) -> Callable[..., Any]:
    kind = resolved.arguments[0]
    return (lambda value: _sign(kind.units(value))) if isinstance(kind, IntervalType) else _sign


def _sign(value: Any) -> float:
    return float((value > 0) - (value < 0))


def _natural_logarithm(value: float) -> float | None:
    # Spark gives NULL, not an error, where the logarithm does not exist.
    return math.log(value) + 0.0 if value > 0 else None


def on_doubles(name: str, function: Callable[..., float], parameters: int = 1) -> Builtin:
    def compute(*values: float) -> float:
        try:
            return finite(function(*values), lambda: _written(name, values))
        except (ValueError, OverflowError):
            raise EvaluationError(f"{_written(name, values)} is not a finite DOUBLE") from None

    return Builtin(name, takes(*[APPROXIMATE] * parameters, returns=DOUBLE), plain(compute))


def _resolve_exponent(call: Call, types: tuple[Type, ...]) -> Resolved:
    """Soufflé's `^`: a whole number to the power of another one is a whole number."""
    if len(types) == 2 and all(map(is_integer, types)):
        return Resolved(BIGINT, (BIGINT, BIGINT))
    return takes(APPROXIMATE, APPROXIMATE, returns=DOUBLE)(call, types)


def _exponent(resolved: Resolved) -> Callable[..., Any]:
    return _whole_power if resolved.result == BIGINT else _double_power


def _whole_power(base: int, exponent: int) -> int:
    """Towards 0 where the exponent is negative. No power of 64 bits or more is computed to be refused."""
    if base == 0 and exponent < 0:
        raise EvaluationError(f"{infix(base, '^', exponent)} is not a finite number")
    if base in (0, 1, -1):
        return 1 if exponent % 2 == 0 and (base or not exponent) else base
    if exponent < 0:
        return 0
    result = int(base**exponent) if exponent < 64 else 2**64
    if result not in BIGINT.limits:
        raise misfit(infix(base, "^", exponent), BIGINT)
    return result


def _double_power(base: float, exponent: float) -> float:
    try:
        return finite(math.pow(base, exponent), lambda: infix(base, "^", exponent))
    except (ValueError, OverflowError):
        raise EvaluationError(f"{infix(base, '^', exponent)} is not a finite DOUBLE") from None


def _written(name: str, values: tuple[float, ...]) -> str:
    return f"{name}({', '.join(map(shown, values))})"


MATHEMATICS = (
    Builtin("abs", takes(_AMOUNT, returns=lambda arguments: arguments[0]), _abs),
    Builtin("round", _resolve_round, _rounding("round", decimal.ROUND_HALF_UP)),
    Builtin("bround", _resolve_round, _rounding("bround", decimal.ROUND_HALF_EVEN)),
    Builtin("truncate", _resolve_round, _rounding("truncate", decimal.ROUND_DOWN)),
    Builtin("floor_digits", _resolve_whole_digits, _rounding("floor", decimal.ROUND_FLOOR)),
    Builtin("ceil_digits", _resolve_whole_digits, _rounding("ceil", decimal.ROUND_CEILING)),
    _whole("floor", math.floor),
    _whole("ceil", math.ceil),
    Builtin("sign", takes(_AMOUNT, returns=DOUBLE), _sign_of),
    Builtin("ln", takes(APPROXIMATE, returns=DOUBLE), plain(_natural_logarithm), nullable=always),
    on_doubles("sqrt", math.sqrt),
    on_doubles("exp", math.exp),
    on_doubles("power", math.pow, 2),
    Builtin("**", _resolve_exponent, _exponent),
)
