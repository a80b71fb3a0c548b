"""Casts between types whose values are numbers in arrays."""

from __future__ import annotations

import numpy as np

from whence.columns.arithmetic import beyond, in_limits, rescaling, scale_of, truncated, whole
from whence.columns.encoding import FLOATING, INTEGER, Array
from whence.columns.parts import UNITS, Mask, Unary, bound, either
from whence.functions.widening import is_exact, is_integer
from whence.model.types import BIGINT, BOOLEAN, DATE, DOUBLE, REAL, TIMESTAMP, DecimalType, Type

# Whole numbers up to here are DOUBLEs, and so are powers of ten up to 10**22.
_EXACT_DOUBLE, _EXACT_POWER = 2**53, 22
# Decimals of so many digits have a DOUBLE each, which no other of them has.
_DISTINCT = 1e15
_DAY = whole(86_400_000_000)


def conversion(source: Type, target: Type) -> Unary | None:
    """CAST of values other than NULL; None where arrays do not have it."""
    if source == target or (is_integer(source) and is_integer(target) and source.bits <= target.bits):
        return lambda a: (a, None)
    if (source, target) == (REAL, DOUBLE):
        return lambda a: (a, None)
    if REAL in (source, target):
        return None
    if target == DOUBLE:
        return _to_double(source) if is_exact(source) else None
    if target == BOOLEAN:
        return (lambda a: (a != 0, None)) if is_exact(source) or source == DOUBLE else None
    if (source, target) == (DATE, TIMESTAMP):
        return lambda a: (a * _DAY, None)
    if (source, target) == (TIMESTAMP, DATE):
        return lambda a: (a // _DAY, None)
    if source == BOOLEAN and is_integer(target):
        return lambda a: (a.astype(INTEGER), None)
    if source == DOUBLE:
        return _from_double(target)
    if not is_exact(source):
        return None
    if is_integer(target):
        return _to_whole(scale_of(source), in_limits(target))
    return _to_decimal(source, target) if isinstance(target, DecimalType) else None


def _to_double(source: Type) -> Unary | None:
    if is_integer(source):
        return lambda a: (a.astype(FLOATING), None)
    scale = scale_of(source)
    if scale > _EXACT_POWER:
        return None
    # The quotient of two DOUBLEs is the one next to the exact quotient, just as a decimal becomes a DOUBLE.
    divisor = np.array(10.0**scale)
    if bound(source) <= _EXACT_DOUBLE:
        return lambda a: (a / divisor, None)
    return lambda a: (a / divisor, beyond(a, _EXACT_DOUBLE))


def _to_whole(scale: int, fit: Unary) -> Unary | None:
    if not scale:
        return fit
    if scale > 18:
        return None
    ten = whole(10**scale)
    return lambda a: fit(truncated(a, ten))


def _to_decimal(source: Type, target: DecimalType) -> Unary | None:
    fit = rescaling(scale_of(source), target, bound(source))
    if fit is None or source != BIGINT:
        return fit

    def convert(a: Array) -> tuple[Array, Mask | None]:
        result, doubt = fit(a)
        return result, either(doubt, beyond(a, UNITS - 1))

    return convert


def _from_double(target: Type) -> Unary | None:
    if is_integer(target):
        return _truncating(2.0 ** (target.bits - 1))
    if isinstance(target, DecimalType) and target.scale <= _EXACT_POWER:
        return _rounding(10.0**target.scale, float(bound(target)))
    return None


def _truncating(limit: float) -> Unary:
    def convert(a: Array) -> tuple[Array, Mask | None]:
        with np.errstate(all="ignore"):
            return a.astype(INTEGER), ~((a < limit) & (a > -limit))

    return convert


def _rounding(factor: float, largest: float) -> Unary:
    """To so many units: the digits that count are those that the DOUBLE is written with."""

    def convert(a: Array) -> tuple[Array, Mask | None]:
        with np.errstate(all="ignore"):
            product = a * factor
            units = np.trunc(product + np.copysign(0.5, product))
            written = (units / factor == a) & (np.abs(units) < _DISTINCT)
            # Far enough from a half, the error of the product decides nothing.
            distance = np.abs(np.abs(product - np.trunc(product)) - 0.5)
            clear = (np.abs(product) < 2.0**30) & (distance > 2.0**-20)
            certain = (written | clear) & (np.abs(units) <= largest)
            return units.astype(INTEGER), ~certain

    return convert
