"""Elementary functions of DOUBLEs: logarithms, roots, angles; and counting ones of whole numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from whence.functions.arithmetic import refusing_zero, remainder_type, resolve_pair, truncated_remainder
from whence.functions.mathematics import finite, misfit, on_doubles
from whence.functions.resolve import (
    APPROXIMATE,
    COUNT,
    Builtin,
    Parameter,
    Resolved,
    always,
    never,
    plain,
    takes,
)
from whence.functions.widening import is_integer
from whence.model.types import BIGINT, DOUBLE, NULL, REAL, DecimalType, IntegerType
from whence.model.types.decimals import CONTEXT, rescale

_LONG = Parameter("a BIGINT", lambda given: BIGINT if is_integer(given) or given == NULL else None, BIGINT)


def _where_defined(function: Callable[[float], float], above: float) -> Callable[[float], float | None]:
    """Spark gives NULL, not an error, where a logarithm does not exist."""
    return lambda value: function(value) + 0.0 if value > above else None


def _logarithm(base: float, value: float | None = None) -> float | None:
    """Of one argument the natural logarithm."""
    if value is None:
        return math.log(base) + 0.0 if base > 0 else None
    if base <= 0 or value <= 0:
        return None
    divisor = math.log(base)
    if divisor == 0:
        return finite(
            math.copysign(math.inf, math.log(value)) if value != 1 else math.nan, lambda: f"log({base}, {value})"
        )
    return math.log(value) / divisor + 0.0


def _inverse(function: Callable[[float], float]) -> Callable[[float], float]:
    def inverse(value: float) -> float:
        divisor = function(value)
        return 1 / divisor if divisor else math.inf

    return inverse


def _factorial(number: int) -> int | None:
    return math.factorial(number) if 0 <= number <= 20 else None


def _width_bucket(value: float, low: float, high: float, count: int) -> int | None:
    """The number of the part of [low, high) that the value lies in, from 1; beyond it is 0 or one more."""
    if count <= 0 or count == BIGINT.limits.stop - 1 or low == high:
        return None
    if low < high:
        if value < low:
            return 0
        return count + 1 if value >= high else _part(count * (value - low) / (high - low))
    if value > low:
        return 0
    return count + 1 if value <= high else _part(count * (low - value) / (low - high))


def _part(place: float) -> int:
    return int(finite(place, lambda: "the place in width_bucket()")) + 1


def _positive_remainder(resolved: Resolved) -> Callable[..., Any]:
    """pmod: the remainder, plus the divisor where it is negative."""
    kind = resolved.result
    if isinstance(kind, DecimalType):
        fit = rescale(kind)

        def fitting(a: Decimal, b: Decimal) -> Decimal:
            rest = fit(CONTEXT.remainder(a, b))
            if rest is None:
                raise misfit(f"pmod({a}, {b})", kind)
            return rest

        return _positive(fitting, CONTEXT.add)
    if kind == REAL:
        return _positive(lambda a, b: math.fmod(a, b) + 0.0, lambda a, b: REAL.nearest(a + b))
    if kind == DOUBLE:
        return _positive(lambda a, b: math.fmod(a, b) + 0.0, lambda a, b: a + b)
    assert isinstance(kind, IntegerType)
    half = kind.limits.stop

    def wrapped(a: int, b: int) -> int:
        # As in Java, where the sum of two negative numbers may become a positive one.
        return (a + b + half) % (2 * half) - half if kind.bits >= 32 else a + b

    return _positive(truncated_remainder, wrapped)


def _positive(remainder: Callable[[Any, Any], Any], add: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def compute(a: Any, b: Any) -> Any:
        rest = remainder(a, b)
        return remainder(add(rest, b), b) if rest < 0 else rest

    return refusing_zero("pmod", compute)


# Of these Java and C may give numbers that differ in the last digit.
_OF_ONE: dict[str, Callable[[float], float]] = {
    **{name: getattr(math, name) for name in "sin cos tan asin acos atan sinh cosh tanh expm1 cbrt".split()},
    "degrees": math.degrees,
    "radians": math.radians,
    "cot": _inverse(math.tan),
    "sec": _inverse(math.cos),
    "csc": _inverse(math.sin),
    "asinh": math.asinh,
    "acosh": lambda value: math.log(value + math.sqrt(value * value - 1)),
    "atanh": lambda value: 0.5 * (math.log1p(value) - math.log1p(-value)),
    # Half to even, as rounding in binary is.
    "rint": lambda value: float(round(value)),
}

ELEMENTARY = (
    *(on_doubles(name, function) for name, function in _OF_ONE.items()),
    on_doubles("atan2", math.atan2, 2),
    on_doubles("hypot", math.hypot, 2),
    Builtin("pi", takes(returns=DOUBLE), plain(lambda: math.pi), nullable=never),
    Builtin("e", takes(returns=DOUBLE), plain(lambda: math.e), nullable=never),
    Builtin("log10", takes(APPROXIMATE, returns=DOUBLE), plain(_where_defined(math.log10, 0)), nullable=always),
    Builtin(
        "log2",
        takes(APPROXIMATE, returns=DOUBLE),
        plain(_where_defined(lambda value: math.log(value) / math.log(2), 0)),
        nullable=always,
    ),
    Builtin("log1p", takes(APPROXIMATE, returns=DOUBLE), plain(_where_defined(math.log1p, -1)), nullable=always),
    Builtin("log", takes(APPROXIMATE, APPROXIMATE, optional=1, returns=DOUBLE), plain(_logarithm), nullable=always),
    Builtin("factorial", takes(COUNT, returns=BIGINT), plain(_factorial), nullable=always),
    Builtin(
        "width_bucket",
        takes(APPROXIMATE, APPROXIMATE, APPROXIMATE, _LONG, returns=BIGINT),
        plain(_width_bucket),
        nullable=always,
    ),
    Builtin("pmod", resolve_pair(remainder_type), _positive_remainder, last_first=True),
)
