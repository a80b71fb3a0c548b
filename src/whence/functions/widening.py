"""Which types widen to which, and the least type that several widen to.

TINYINT < SMALLINT < INT < BIGINT < DECIMAL < REAL < DOUBLE      DATE < TIMESTAMP      NULL < every type
Arrays go by their elements, and structs by their fields. Only where implicit casts are on, a STRING meets other types
as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeGuard

from whence.functions import implicit
from whence.model.types import (
    BY_NAME,
    DOUBLE,
    NULL,
    REAL,
    STRING,
    DecimalType,
    IntegerType,
    StructType,
    Type,
)
from whence.model.types.decimals import MAX_PRECISION
from whence.model.types.intervals import IntervalType

# Spark gives up fraction digits of a product or quotient that is too wide, but never below these.
MIN_ADJUSTED_SCALE = 6


def is_integer(kind: Type) -> TypeGuard[IntegerType]:
    return isinstance(kind, IntegerType)


def is_exact(kind: Type) -> bool:
    """INT, BIGINT or DECIMAL: numbers that Python compares with each other without rounding."""
    return is_integer(kind) or isinstance(kind, DecimalType)


def is_number(kind: Type) -> bool:
    return is_exact(kind) or kind in (DOUBLE, REAL)


def is_floating(kind: Type) -> bool:
    return kind in (DOUBLE, REAL)


def as_decimal(kind: Type) -> DecimalType:
    """The DECIMAL that holds every value of an exact type."""
    if isinstance(kind, DecimalType):
        return kind
    assert isinstance(kind, IntegerType)
    return DecimalType(kind.digits, 0)


def adjusted(precision: int, scale: int) -> DecimalType:
    """Spark's rule for a result wider than 38 digits: keep the integral digits, shorten the fraction."""
    if precision <= MAX_PRECISION:
        return DecimalType(precision, scale)
    integral = precision - scale
    return DecimalType(MAX_PRECISION, max(MAX_PRECISION - integral, min(scale, MIN_ADJUSTED_SCALE)))


def common_type(types: Sequence[Type]) -> Type | None:
    """The least type that all of them widen to, or None. No types at all make NULL."""
    common: Type | None = NULL
    if implicit.are_on():
        # Texts come first, as in Spark: with each further type they become something else.
        types = sorted(types, key=lambda kind: kind != STRING)
    for kind in types:
        common = _wider(common, kind)
    return common


def common_in_place(types: Sequence[Type]) -> Type | None:
    """The same where fields of structs meet by their places, whatever they are called: in comparisons, in UNION."""
    common = common_type(types)
    known = [kind for kind in types if kind != NULL]
    return known[0] if common is None and all(_by_place(kind) == _by_place(known[0]) for kind in known) else common


def _by_place(kind: Type) -> Type:
    inner = [_by_place(each) for each in kind.inner]
    if isinstance(kind, StructType):
        return StructType([(f"col{place}", each) for place, each in enumerate(inner)])
    return kind.with_inner(inner)


def fits(source: Type, target: Type) -> bool:
    """Whether a value of `source` may be stored as `target` without a CAST: never narrowing."""
    if source in (target, NULL):
        return True
    if source.inner and type(source) is type(target):
        # Fields go by their places, as in a row.
        return len(source.inner) == len(target.inner) and all(map(fits, source.inner, target.inner))
    if target == DOUBLE:
        return is_number(source)
    if isinstance(target, DecimalType) and is_exact(source):
        given = as_decimal(source)
        return given.scale <= target.scale and given.precision - given.scale <= target.precision - target.scale
    if isinstance(target, IntervalType) and isinstance(source, IntervalType):
        return source.family == target.family and source.with_range(target) == target
    return target in _chain(source)


def _are_alike(left: Type, right: Type) -> bool:
    """Whether both are arrays or maps, or structs whose fields have the same names, one after the other."""
    if not left.inner or type(left) is not type(right):
        return False
    names = [[name.lower() for name, _ in kind.fields] for kind in (left, right) if isinstance(kind, StructType)]
    return not names or names[0] == names[1]


def _chain(kind: Type) -> Iterator[Type]:
    """The type, and those that hold all of its values, one after the other."""
    yield kind
    while kind.wider is not None:
        kind = BY_NAME[kind.wider]
        yield kind


def _longer(left: Type, right: Type) -> Type | None:
    """The one of them whose values include those of the other."""
    return right if right in _chain(left) else left if left in _chain(right) else None


def _wider(left: Type | None, right: Type) -> Type | None:
    if left is None or left == right or right == NULL:
        return left
    if left == NULL:
        return right
    if implicit.are_on() and STRING in (left, right):
        return implicit.promoted(right if left == STRING else left)
    if _are_alike(left, right):
        found = [_wider(*pair) for pair in zip(left.inner, right.inner, strict=True)]
        kinds = [kind for kind in found if kind is not None]
        return left.with_inner(kinds) if len(kinds) == len(found) else None
    if is_number(left) and is_number(right):
        return _wider_number(left, right)
    if isinstance(left, IntervalType) and isinstance(right, IntervalType) and left.family == right.family:
        return left.with_range(right)
    return _longer(left, right)


def _wider_number(left: Type, right: Type) -> Type:
    if is_floating(left) or is_floating(right):
        # Of a FLOAT and a whole number, neither holds all values of the other.
        return left if left == right else DOUBLE
    if is_integer(left) and is_integer(right):
        longer = _longer(left, right)
        assert longer is not None
        return longer
    a, b = as_decimal(left), as_decimal(right)
    scale = max(a.scale, b.scale)
    integral = max(a.precision - a.scale, b.precision - b.scale)
    # Too wide for 38 digits: as in Spark the integral digits stay, since losing them would be an overflow.
    return DecimalType(min(MAX_PRECISION, integral + scale), min(scale, MAX_PRECISION - integral))
