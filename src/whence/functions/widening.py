"""Which types widen to which, and the least type that several widen to.

INT < BIGINT < DECIMAL < DOUBLE      DATE < TIMESTAMP      NULL < every type      arrays by their elements
"""

from __future__ import annotations

from collections.abc import Sequence

from whence.model.types import BIGINT, DATE, DOUBLE, INT, NULL, TIMESTAMP, ArrayType, DecimalType, Type

MAX_PRECISION = 38
# Spark gives up fraction digits of a product or quotient that is too wide, but never below these.
MIN_ADJUSTED_SCALE = 6

_AS_DECIMAL = {INT: DecimalType(10, 0), BIGINT: DecimalType(20, 0)}


def is_integer(kind: Type) -> bool:
    return kind in _AS_DECIMAL


def is_exact(kind: Type) -> bool:
    """INT, BIGINT or DECIMAL: numbers that Python compares with each other without rounding."""
    return is_integer(kind) or isinstance(kind, DecimalType)


def is_number(kind: Type) -> bool:
    return is_exact(kind) or kind == DOUBLE


def as_decimal(kind: Type) -> DecimalType:
    """The DECIMAL that holds every value of an exact type."""
    return kind if isinstance(kind, DecimalType) else _AS_DECIMAL[kind]


def adjusted(precision: int, scale: int) -> DecimalType:
    """Spark's rule for a result wider than 38 digits: keep the integral digits, shorten the fraction."""
    if precision <= MAX_PRECISION:
        return DecimalType(precision, scale)
    integral = precision - scale
    return DecimalType(MAX_PRECISION, max(MAX_PRECISION - integral, min(scale, MIN_ADJUSTED_SCALE)))


def common_type(types: Sequence[Type]) -> Type | None:
    """The least type that all of them widen to, or None. No types at all make NULL."""
    common: Type | None = NULL
    for kind in types:
        common = _wider(common, kind)
    return common


def fits(source: Type, target: Type) -> bool:
    """Whether a value of `source` may be stored as `target` without a CAST: never narrowing."""
    if source in (target, NULL):
        return True
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return fits(source.element, target.element)
    if target == DOUBLE:
        return is_exact(source)
    if isinstance(target, DecimalType) and is_exact(source):
        given = as_decimal(source)
        return given.scale <= target.scale and given.precision - given.scale <= target.precision - target.scale
    return (source, target) in ((INT, BIGINT), (DATE, TIMESTAMP))


def _wider(left: Type | None, right: Type) -> Type | None:
    if left is None or left == right or right == NULL:
        return left
    if left == NULL:
        return right
    if isinstance(left, ArrayType) and isinstance(right, ArrayType):
        element = _wider(left.element, right.element)
        return None if element is None else ArrayType(element)
    if is_number(left) and is_number(right):
        return _wider_number(left, right)
    return TIMESTAMP if {left, right} == {DATE, TIMESTAMP} else None


def _wider_number(left: Type, right: Type) -> Type:
    if DOUBLE in (left, right):
        return DOUBLE
    if is_integer(left) and is_integer(right):
        return BIGINT
    a, b = as_decimal(left), as_decimal(right)
    scale = max(a.scale, b.scale)
    integral = max(a.precision - a.scale, b.precision - b.scale)
    # Too wide for 38 digits: as in Spark the integral digits stay, since losing them would be an overflow.
    return DecimalType(min(MAX_PRECISION, integral + scale), min(scale, MAX_PRECISION - integral))
