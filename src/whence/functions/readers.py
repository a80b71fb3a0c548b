"""Checking many values of one column: most are already as the column holds them, and that is quick to see."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import repeat
from typing import Any, TypeAlias

from whence.functions.numeric import CONTEXT
from whence.functions.values import check_value
from whence.model import types
from whence.model.schema import Column
from whence.model.types import DecimalType, Value

# Whether values are, without doubt, the column's own as they stand. They are of one class, and there is at least one.
ArePlain: TypeAlias = Callable[[Sequence[Any]], bool]


def reader(column: Column) -> Callable[[object], Value]:
    """What `check_value` does for this column, quicker for values that need no change."""
    is_plain = _is_plain(column)

    def read(value: object) -> Value:
        return value if is_plain(value) else check_value(value, column)  # type: ignore[return-value]

    return read


def column_reader(column: Column) -> Callable[[Sequence[object]], Sequence[Value]]:
    """What `check_value` does, for many values at once. Values of which none needs a change come back as they are."""
    read = reader(column)
    plain, are_plain = _all_plain(column)
    with_null = {plain, type(None)}

    def read_all(values: Sequence[Any]) -> Sequence[Value]:
        classes = set(map(type, values))
        some = values
        if column.nullable and classes == with_null:
            some = [value for value in values if value is not None]
            classes = {plain}
        if classes == {plain} and are_plain(some):
            return values
        return [read(value) for value in values]

    return read_all


def _is_plain(column: Column) -> Callable[[object], bool]:
    """Whether a value is, without doubt, one of the column's as it stands. Subclasses are left to the full check."""
    match column.type:
        case types.STRING:
            return lambda v: type(v) is str and v.isascii()
        case types.INT:
            return lambda v: type(v) is int and -(2**31) <= v < 2**31
        case types.BIGINT:
            return lambda v: type(v) is int and -(2**63) <= v < 2**63
        case types.DOUBLE:
            # Neither NaN nor an infinity, and no zero, which may be a negative one.
            return lambda v: type(v) is float and (0 < v < _INFINITE or -_INFINITE < v < 0)
        case types.BOOLEAN:
            return lambda v: type(v) is bool
        case types.DATE:
            return lambda v: type(v) is datetime.date
        case types.TIMESTAMP:
            # A fold, which tells two times of one night apart, has no place in a TIMESTAMP.
            return lambda v: type(v) is datetime.datetime and v.tzinfo is None and not v.fold
        case DecimalType(precision=precision, scale=scale):
            unit, limit = Decimal(1).scaleb(-scale), Decimal(10) ** (precision - scale)
            return lambda v: type(v) is Decimal and v.same_quantum(unit) and -limit < v < limit and bool(v)
    return lambda _: False


def _all_plain(column: Column) -> tuple[type, ArePlain]:
    """The class of plain values, and whether all of some values of that class are plain."""
    match column.type:
        case types.STRING:
            return str, lambda vs: all(map(str.isascii, vs))
        case types.INT:
            return int, lambda vs: min(vs) >= -(2**31) and max(vs) < 2**31
        case types.BIGINT:
            return int, lambda vs: min(vs) >= -(2**63) and max(vs) < 2**63
        case types.DOUBLE:
            return float, lambda vs: all(vs) and all(map(math.isfinite, vs))
        case types.BOOLEAN:
            return bool, lambda _: True
        case types.DATE:
            return datetime.date, lambda _: True
        case types.TIMESTAMP:
            return datetime.datetime, lambda vs: all(v.tzinfo is None and not v.fold for v in vs)
        case DecimalType(precision=precision, scale=scale):
            return Decimal, _plain_decimals(Decimal(1).scaleb(-scale), Decimal(10) ** (precision - scale))
    return object, lambda _: False


def _plain_decimals(unit: Decimal, limit: Decimal) -> ArePlain:
    def are_plain(values: Sequence[Decimal]) -> bool:
        # The first test comes first, because NaN, which has no place in the order, fails it.
        if not all(map(CONTEXT.same_quantum, values, repeat(unit))):
            return False
        least = min(values)
        if not (-limit < least and max(values) < limit):
            return False
        # A zero may be a negative one.
        return least > 0 or not any(map(Decimal.is_signed, values)) or all(values)

    return are_plain


_INFINITE = float("inf")
