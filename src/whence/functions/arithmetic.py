"""The operators + - * / div % with Spark's result types, and ANSI errors for overflow and division by zero."""

from __future__ import annotations

import decimal
import math
import operator
from collections.abc import Callable
from typing import Any

from whence.errors import EvaluationError
from whence.functions import implicit
from whence.functions.dates import shift_days
from whence.functions.intervals import (
    added,
    divided,
    is_interval,
    is_of_intervals,
    multiplied,
    resolve_product,
    resolve_quotient,
    resolve_sum,
)
from whence.functions.mathematics import finite, infix, misfit
from whence.functions.resolve import NUMBER, Builtin, Resolved, Resolver, accept, cast_hint, check_arity, mismatch
from whence.functions.widening import adjusted, as_decimal, common_type, is_exact, is_floating, is_integer, is_number
from whence.model.terms import Call, Constant, Term
from whence.model.types import BIGINT, DATE, DOUBLE, INT, NULL, REAL, STRING, DecimalType, IntegerType, Type
from whence.model.types.decimals import CONTEXT, MAX_PRECISION, rescale

# The operators whose result in DECIMAL is not rounded, as long as its type is not too wide.
EXACT = ("+", "-", "*")
# Of the quotient that a remainder is found with, as in Spark.
_QUOTIENT_DIGITS = MAX_PRECISION + 1
_TOO_MANY_DIGITS = decimal.Decimal(10) ** _QUOTIENT_DIGITS

DecimalRule = Callable[[DecimalType, DecimalType], DecimalType]


def _sum_type(a: DecimalType, b: DecimalType) -> DecimalType:
    scale = max(a.scale, b.scale)
    return adjusted(max(a.precision - a.scale, b.precision - b.scale) + scale + 1, scale)


def _product_type(a: DecimalType, b: DecimalType) -> DecimalType:
    return adjusted(a.precision + b.precision + 1, a.scale + b.scale)


def _quotient_type(a: DecimalType, b: DecimalType) -> DecimalType:
    scale = max(6, a.scale + b.precision + 1)
    return adjusted(a.precision - a.scale + b.scale + scale, scale)


def remainder_type(a: DecimalType, b: DecimalType) -> DecimalType:
    scale = max(a.scale, b.scale)
    return adjusted(min(a.precision - a.scale, b.precision - b.scale) + scale, scale)


def operand_decimal(term: Term, kind: Type) -> DecimalType:
    """An exact operand's type as a DECIMAL. An integer literal has as many digits as it shows; a CAST its type's."""
    match term:
        case Constant(value=int() as value) if is_integer(kind):
            return DecimalType(len(str(abs(value))), 0)
    return as_decimal(kind)


def _numbers(call: Call, types: tuple[Type, ...], rule: DecimalRule) -> Resolved:
    """Two numbers of any types: DOUBLE beats DECIMAL beats BIGINT beats INT."""
    if implicit.are_on() and STRING in types:
        types = promoted_numbers(types)
    if not all(is_number(kind) or kind == NULL for kind in types):
        raise mismatch(call, types, hint=_number_hint(call, types))
    common = common_type(types)
    if common is None or common in (NULL, DOUBLE):
        return Resolved(DOUBLE, (DOUBLE, DOUBLE))
    if common == REAL and call.function in ("/", "quotient"):
        return Resolved(DOUBLE, (DOUBLE, DOUBLE))
    if isinstance(common, DecimalType):
        # Operands stay as they are: decimal arithmetic takes integers, and rounds the exact result once.
        known = tuple(common if kind == NULL else kind for kind in types)
        left, right = (operand_decimal(term, kind) for term, kind in zip(call.arguments, known, strict=True))
        return Resolved(rule(left, right), known)
    return Resolved(common, (common, common))


def promoted_numbers(types: tuple[Type, ...]) -> tuple[Type, ...]:
    """With a number for each text beside a number, as Spark adds '1' and 2."""
    others = [kind for kind in types if kind != STRING]
    if len(others) != 1 or others[0] == NULL:
        return types
    target = implicit.promoted(others[0])
    return tuple(target or kind if kind == STRING else kind for kind in types)


def _number_hint(call: Call, types: tuple[Type, ...]) -> str | None:
    for argument, kind in zip(call.arguments, types, strict=True):
        if kind == STRING:
            return "concat() or || joins text" if all(t == STRING for t in types) else cast_hint(argument, DOUBLE)
    return None


def _resolve_sum(call: Call, types: tuple[Type, ...]) -> Resolved:
    """A sum or a difference, also of a date and days, or a sign before a number."""
    check_arity(call, 1, 2)
    if is_of_intervals(call, types):
        return resolve_sum(call, types)
    if len(types) == 1:
        kind = accept(call, 0, NUMBER, types[0])
        return Resolved(kind, (kind,))
    left, right = types
    if left == DATE and is_integer(right):
        return Resolved(DATE, (DATE, INT))
    if call.function == "+" and right == DATE and is_integer(left):
        return Resolved(DATE, (INT, DATE))
    return _numbers(call, types, _sum_type)


def resolve_pair(rule: DecimalRule) -> Resolver:
    def resolve(call: Call, types: tuple[Type, ...]) -> Resolved:
        check_arity(call, 2, 2)
        if call.function == "*" and any(map(is_interval, types)):
            return resolve_product(call, types)
        return _numbers(call, types, rule)

    return resolve


def _resolve_divide(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 2, 2)
    if any(map(is_interval, types)):
        return resolve_product(call, types)
    if all(is_integer(kind) or kind == NULL for kind in types):
        # An INT divides as exactly as the DOUBLE it would become, and errors show it as it was written.
        return Resolved(DOUBLE, tuple(INT if kind == INT else DOUBLE for kind in types))
    if types[0] == NULL and is_number(types[1]):
        # Any other operator, and a division by NULL, takes the type of the DECIMAL.
        return Resolved(DOUBLE, (DOUBLE, DOUBLE))
    return _numbers(call, types, _quotient_type)


def _resolve_quotient(call: Call, types: tuple[Type, ...]) -> Resolved:
    """Datalog's division: of whole numbers a whole number, of others as in SQL."""
    check_arity(call, 2, 2)
    return _numbers(call, types, _quotient_type) if all(map(is_integer, types)) else _resolve_divide(call, types)


def _resolve_div(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 2, 2)
    if any(map(is_interval, types)):
        return resolve_quotient(call, types)
    if not all(is_exact(kind) or kind == NULL for kind in types):
        raise mismatch(call, types, hint="div takes whole numbers and DECIMALs; floor(a / b) works on DOUBLE")
    return Resolved(BIGINT, types)


def _checked(
    symbol: str,
    kind: Type,
    plain: Callable[[Any, Any], Any],
    in_decimal: Callable[[decimal.Decimal, decimal.Decimal], decimal.Decimal],
) -> Callable[..., Any]:
    """The binary operator on numbers of one type, whose result must fit `kind`."""
    if isinstance(kind, DecimalType):
        if symbol in EXACT and kind.precision < MAX_PRECISION:
            # Nothing was cut off from the type, so that it holds every result, with just the digits that it has.
            if symbol != "*":
                return in_decimal
            zero = decimal.Decimal(0).scaleb(-kind.scale)
            return lambda a, b: in_decimal(a, b) or zero  # there is no negative zero
        fit = rescale(kind)

        def on_decimals(a: decimal.Decimal, b: decimal.Decimal) -> decimal.Decimal:
            result = fit(in_decimal(a, b))
            if result is None:
                raise misfit(infix(a, symbol, b), kind)
            return result

        return on_decimals
    if kind == DOUBLE:
        return lambda a, b: finite(plain(a, b), lambda: infix(a, symbol, b))
    if kind == REAL:
        # A DOUBLE has more than twice its digits, so that rounding twice is rounding once.
        return lambda a, b: finite(REAL.nearest(plain(a, b)), lambda: infix(a, symbol, b))
    assert isinstance(kind, IntegerType)
    limits = kind.limits

    def on_integers(a: int, b: int) -> int:
        result: int = plain(a, b)
        if result in limits:
            return result
        raise misfit(infix(a, symbol, b), kind)

    return on_integers


def _works_on_intervals(resolved: Resolved) -> bool:
    return is_interval(resolved.result) or any(map(is_interval, resolved.arguments))


def _add(resolved: Resolved) -> Callable[..., Any]:
    if _works_on_intervals(resolved):
        return added(resolved, 1)
    if len(resolved.arguments) == 1:
        return lambda a: a
    if resolved.result == DATE:
        if resolved.arguments[0] == DATE:
            return shift_days
        return lambda days, date: shift_days(date, days)
    return _checked("+", resolved.result, operator.add, CONTEXT.add)


def _subtract(resolved: Resolved) -> Callable[..., Any]:
    if _works_on_intervals(resolved):
        return added(resolved, -1)
    if len(resolved.arguments) == 1:
        return _negate(resolved.result)
    if resolved.result == DATE:
        return lambda date, days: shift_days(date, -days)
    return _checked("-", resolved.result, operator.sub, CONTEXT.subtract)


def _negate(kind: Type) -> Callable[..., Any]:
    if isinstance(kind, DecimalType):
        return lambda a: CONTEXT.minus(a) if a else a
    if is_floating(kind):
        return lambda a: 0.0 - a
    assert isinstance(kind, IntegerType)
    limits = kind.limits

    def negative(a: int) -> int:
        if -a in limits:
            return -a
        raise misfit(f"-({a})", kind)

    return negative


def _multiply(resolved: Resolved) -> Callable[..., Any]:
    if is_interval(resolved.result):
        return multiplied(resolved)
    return _checked("*", resolved.result, operator.mul, CONTEXT.multiply)


def _divide(resolved: Resolved) -> Callable[..., Any]:
    if is_interval(resolved.result):
        return divided(resolved)
    return refusing_zero("/", _checked("/", resolved.result, operator.truediv, CONTEXT.divide))


def _quotient(resolved: Resolved) -> Callable[..., Any]:
    if not is_integer(resolved.result):
        return _divide(resolved)
    return refusing_zero("/", _checked("/", resolved.result, _whole_quotient, CONTEXT.divide_int))


def _remainder(resolved: Resolved) -> Callable[..., Any]:
    # Python's % takes the divisor's sign, SQL's the dividend's.
    plain = math.fmod if is_floating(resolved.result) else truncated_remainder
    return refusing_zero("%", _checked("%", resolved.result, plain, _remainder_of_decimals))


def _remainder_of_decimals(a: decimal.Decimal, b: decimal.Decimal) -> decimal.Decimal:
    quotient = CONTEXT.divide_int(a, b)
    # Zeros at its end do not count.
    if abs(quotient) >= _TOO_MANY_DIGITS and len(quotient.normalize(CONTEXT).as_tuple().digits) > _QUOTIENT_DIGITS:
        raise EvaluationError(f"the quotient of {infix(a, '%', b)} has more than {_QUOTIENT_DIGITS} digits")
    return CONTEXT.remainder(a, b)


def truncated_remainder(a: int, b: int) -> int:
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest


def _div(resolved: Resolved) -> Callable[..., Any]:
    if is_interval(resolved.arguments[0]):
        units = resolved.arguments[0].ordinal
        quotient = refusing_zero("div", _checked("div", BIGINT, _whole_quotient, CONTEXT.divide_int))
        return lambda a, b: quotient(units(a), units(b))
    if any(isinstance(kind, DecimalType) for kind in resolved.arguments):
        whole: Callable[[Any, Any], int] = _whole_quotient_of_decimals
    else:
        whole = _whole_quotient
    return refusing_zero("div", _checked("div", BIGINT, whole, CONTEXT.divide_int))


def _whole_quotient(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _whole_quotient_of_decimals(a: decimal.Decimal | int, b: decimal.Decimal | int) -> int:
    return int(CONTEXT.divide_int(a, b))


def refusing_zero(symbol: str, divide: Callable[..., Any]) -> Callable[..., Any]:
    def checked(a: Any, b: Any) -> Any:
        if b:
            return divide(a, b)
        raise EvaluationError(
            f"division by zero: {infix(a, symbol, b)}", hint="nullif(divisor, 0) makes the result NULL instead"
        )

    return checked


ARITHMETIC = (
    Builtin("+", _resolve_sum, _add),
    Builtin("-", _resolve_sum, _subtract),
    Builtin("*", resolve_pair(_product_type), _multiply),
    Builtin("/", _resolve_divide, _divide, last_first=True),
    Builtin("div", _resolve_div, _div, last_first=True),
    Builtin("quotient", _resolve_quotient, _quotient, last_first=True),
    Builtin("%", resolve_pair(remainder_type), _remainder, last_first=True),
)
