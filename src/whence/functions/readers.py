"""Checking many values of one column: most are already as the column holds them, and that is quick to see."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal

from whence.functions.values import check_value
from whence.model import types
from whence.model.schema import Column
from whence.model.types import DecimalType, Value


def reader(column: Column) -> Callable[[object], Value]:
    """What `check_value` does for this column, quicker for values that need no change."""
    is_plain = _plain(column)

    def read(value: object) -> Value:
        return value if is_plain(value) else check_value(value, column)  # type: ignore[return-value]

    return read


def _plain(column: Column) -> Callable[[object], bool]:
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


_INFINITE = float("inf")
