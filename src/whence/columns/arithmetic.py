"""Arithmetic of numbers in arrays. What does not fit, divides by zero or may be inexact is in doubt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whence.columns.encoding import FLOATING, INTEGER, NULL, Array
from whence.columns.parts import UNITS, Binary, Mask, Part, Unary, bound, either
from whence.functions.resolve import Resolved
from whence.functions.widening import is_integer
from whence.model.types import BIGINT, DATE, DOUBLE, REAL, DecimalType, Type

Ufunc = Callable[..., Any]

# Products of this size, as a DOUBLE tells it, may not fit 64 bits, or not the units of a decimal.
_LARGE_PRODUCT, _LARGE_UNITS = np.array(9.2e18), np.array(9.9e17)
# Two numbers up to here can be added in 64 bits.
_ADDABLE = 4 * 10**18
_ZERO = np.array(0.0)
# The first and the last day of the calendar, from 1970.
_FIRST_DAY, _LAST_DAY = np.array(-719_162), np.array(2_932_896)


def whole(number: int) -> Array:
    # An array without dimensions goes into numpy's functions twice as fast as a number.
    return np.array(number, INTEGER)


def arithmetic(symbol: str, resolved: Resolved, left: Part, right: Part) -> Binary | None:
    """The operator on values of the resolved types; None where arrays do not have it."""
    result = resolved.result
    if result == DATE:
        return _shift(symbol, days_first=resolved.arguments[0] != DATE)
    if result == DOUBLE:
        return _on_doubles(symbol)
    if result == REAL:
        return None
    if isinstance(result, DecimalType):
        return _on_decimals(symbol, result, left, right)
    if not all(map(is_integer, resolved.arguments)):
        return _on_decimals(symbol, result, left, right)
    if symbol in _DIVISIONS:
        return _dividing(symbol, in_limits(result), right)
    return _ON_BIGINTS[symbol] if result == BIGINT else _on_ints(_WHOLE[symbol], _narrow(result))


def negation(kind: Type) -> Unary:
    if kind in (DOUBLE, REAL):
        return lambda a: (_ZERO - a, None)
    if is_integer(kind):
        least = whole(kind.limits.start)
        return lambda a: (-a, a == least)
    return lambda a: (-a, None)


def absolute(kind: Type) -> Unary:
    if is_integer(kind):
        least = whole(kind.limits.start)
        return lambda a: (np.abs(a), a == least)
    return lambda a: (np.abs(a), None)


def in_limits(kind: Type) -> Unary:
    """Whole numbers, in doubt where they do not fit."""
    if kind == BIGINT:
        return lambda a: (a, None)
    narrow = _narrow(kind)
    return lambda a: (a, a.astype(narrow) != a)


def _narrow(kind: Type) -> np.dtype[Any]:
    """The array type that has just the numbers of a type shorter than BIGINT."""
    assert is_integer(kind)
    return np.dtype(f"int{kind.bits}")


def _shift(symbol: str, *, days_first: bool) -> Binary:
    def shift(date: Array, days: Array) -> tuple[Array, Mask | None]:
        moved = date - days if symbol == "-" else date + days
        return moved, (moved < _FIRST_DAY) | (moved > _LAST_DAY)

    return (lambda days, date: shift(date, days)) if days_first else shift


# DOUBLE.


def _on_doubles(symbol: str) -> Binary:
    operate: Ufunc = {
        "+": np.add,
        "-": np.subtract,
        "*": np.multiply,
        "/": np.true_divide,
        "quotient": np.true_divide,
        "%": np.fmod,
    }[symbol]

    def kernel(a: Array, b: Array) -> tuple[Array, Mask | None]:
        with np.errstate(all="ignore"):
            result = operate(a, b) + _ZERO  # there is no negative zero
        finite = np.isfinite(result)
        # Whatever is divided by zero is not finite either.
        return result, None if np.count_nonzero(finite) == finite.size else ~finite

    return kernel


# INT and BIGINT.


def _on_ints(operate: Ufunc, narrow: np.dtype[Any]) -> Binary:
    """Results of numbers of 32 bits or less always fit 64 bits."""

    def kernel(a: Array, b: Array) -> tuple[Array, Mask | None]:
        result = operate(a, b)
        return result, result.astype(narrow) != result

    return kernel


def _sum(a: Array, b: Array) -> tuple[Array, Mask | None]:
    result = a + b
    return result, ((a ^ result) & (b ^ result)) < 0


def _difference(a: Array, b: Array) -> tuple[Array, Mask | None]:
    result = a - b
    return result, ((a ^ b) & (a ^ result)) < 0


def _product(a: Array, b: Array) -> tuple[Array, Mask | None]:
    return a * b, np.abs(np.multiply(a, b, dtype=FLOATING)) > _LARGE_PRODUCT


_WHOLE: dict[str, Ufunc] = {"+": np.add, "-": np.subtract, "*": np.multiply}
_ON_BIGINTS: dict[str, Binary] = {"+": _sum, "-": _difference, "*": _product}


def truncated(a: Array, b: Array) -> Array:
    """The quotient without its fraction; numpy's would be rounded down."""
    quotient: Array = (a - np.fmod(a, b)) // b
    return quotient


_DIVISIONS: dict[str, Callable[[Array, Array], Array]] = {"div": truncated, "quotient": truncated, "%": np.fmod}


def _dividing(symbol: str, fit: Unary, divisor: Part) -> Binary:
    divide = _DIVISIONS[symbol]
    if divisor.is_constant and divisor.value is not None and divisor.number not in (0, -1):
        return lambda a, b: fit(divide(a, b))

    def kernel(a: Array, b: Array) -> tuple[Array, Mask | None]:
        # The least number of 64 bits divided by -1 does not fit them.
        doubt = (b == 0) | (a == NULL)
        with np.errstate(all="ignore"):
            result, misfit = fit(divide(a, b))
        return result, either(doubt, misfit)

    return kernel


# DECIMAL: whole numbers of units, UNITS at most. A BIGINT among decimals is one of scale 0.


def _on_decimals(symbol: str, result: Type, left: Part, right: Part) -> Binary | None:
    scales = scale_of(left.kind), scale_of(right.kind)
    scale = max(scales)
    if symbol == "*":
        bounds = left.bound * right.bound
        fit = rescaling(sum(scales), result, min(bounds, UNITS - 1))
        return None if fit is None else _fitted(_product_of_units(bounds), fit, left, right)
    if symbol in ("/", "quotient"):
        return None
    factors = [10 ** (scale - each) for each in scales]
    if max(factors) > UNITS:
        return None
    sizes = left.bound * factors[0], right.bound * factors[1]
    first, second = (scaled_up(factor, size) for factor, size in zip(factors, sizes, strict=True))
    if symbol in ("+", "-"):
        fit = rescaling(scale, result, sum(sizes))
        operate: Binary = lambda a, b: (_WHOLE[symbol](a, b), None)  # noqa: E731
    else:
        fit = rescaling(scale, result, max(sizes)) if symbol == "%" else in_limits(result)
        operate = _dividing(symbol, in_limits(BIGINT), right)
    return None if fit is None else _fitted(_aligned(first, second, operate), fit, left, right)


def _product_of_units(bounds: int) -> Binary:
    if bounds < UNITS:
        return lambda a, b: (a * b, None)
    return lambda a, b: (a * b, np.abs(np.multiply(a, b, dtype=FLOATING)) > _LARGE_UNITS)


def _aligned(first: Unary | None, second: Unary | None, operate: Binary) -> Binary:
    def kernel(a: Array, b: Array) -> tuple[Array, Mask | None]:
        doubt: Mask | None = None
        if first is not None:
            a, doubt = first(a)
        if second is not None:
            b, more = second(b)
            doubt = either(doubt, more)
        result, more = operate(a, b)
        return result, either(doubt, more)

    return kernel


def _fitted(operate: Binary, fit: Unary, left: Part, right: Part) -> Binary:
    """The operator between numbers of units, with its result in the units of its type."""
    checked = [part.kind == BIGINT and part.bound >= UNITS for part in (left, right)]

    def kernel(a: Array, b: Array) -> tuple[Array, Mask | None]:
        result, doubt = operate(a, b)
        result, misfit = fit(result)
        return result, either(doubt, misfit)

    if not any(checked):
        return kernel

    def checking(a: Array, b: Array) -> tuple[Array, Mask | None]:
        result, doubt = kernel(a, b)
        for each, check in zip((a, b), checked, strict=True):
            if check:
                doubt = either(doubt, beyond(each, UNITS - 1))
        return result, doubt

    return checking


def scale_of(kind: Type) -> int:
    return kind.scale if isinstance(kind, DecimalType) else 0


def beyond(values: Array, limit: int) -> Mask:
    """Which values are outside -limit to limit."""
    mask: Mask = (values > whole(limit)) | (values < whole(-limit))
    return mask


def scaled_up(factor: int, size: int) -> Unary | None:
    """Times a power of ten, in doubt where two of the results cannot be added; None where there is nothing to do."""
    if factor == 1:
        return None
    times, limit = whole(factor), _ADDABLE // factor
    if size <= _ADDABLE:
        return lambda a: (a * times, None)
    return lambda a: (a * times, beyond(a, limit))


def rescaling(scale: int, kind: Type, size: int) -> Unary | None:
    """Numbers of this scale, and no larger than `size`, as those of a DECIMAL, rounded half up."""
    assert isinstance(kind, DecimalType)
    largest = bound(kind)
    if scale == kind.scale:
        return (lambda a: (a, None)) if size <= largest else lambda a: (a, beyond(a, largest))
    if scale < kind.scale:
        if kind.scale - scale > 18:
            return None
        factor = 10 ** (kind.scale - scale)
        times, limit = whole(factor), largest // factor
        return lambda a: (a * times, None if size <= limit else beyond(a, limit))
    if scale - kind.scale > 18:
        return None
    ten, half = whole(10 ** (scale - kind.scale)), whole(10 ** (scale - kind.scale) // 2)

    def rounded(a: Array) -> tuple[Array, Mask | None]:
        result = (np.abs(a) + half) // ten * np.sign(a)
        return result, beyond(result, largest)

    return rounded
