"""The values of one encoding as those of another, for a lookup: a value that the other type lacks is not there."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np

from whence.columns.encoding import (
    FLOATING,
    INTEGER,
    LONGEST_UNITS,
    NULL,
    Array,
    DecimalEncoding,
    DictionaryEncoding,
    Encoding,
)
from whence.functions.widening import is_integer
from whence.model.types import NULL as NULL_TYPE
from whence.model.types import DecimalType

# DOUBLEs below this are whole numbers that integers have too.
_WHOLE_LIMIT = 2.0**63


def is_same_key(given: Encoding, wanted: Encoding) -> bool:
    """Whether values of one encoding are looked up as they are in a column of another."""
    return given == wanted or (is_integer(given.type) and is_integer(wanted.type))


def as_keys(values: Array, given: Encoding, wanted: Encoding) -> tuple[Array, Array | None]:
    """The values as the wanted encoding has them, and a mask of those that it has; None if it has all.

    Planning looks numbers up as other numbers where Python says that equal ones are equal.
    """
    if is_same_key(given, wanted):
        return values, None
    if given.type == NULL_TYPE:
        return np.full(len(values), wanted.null, wanted.dtype), None
    nulls = given.is_null(values)
    if wanted.dtype == FLOATING:
        numbers = np.where(nulls, np.nan, values.astype(FLOATING))
        return numbers, None
    if given.dtype == FLOATING:
        whole = (values == np.floor(values)) & (np.abs(values) < _WHOLE_LIMIT)
        numbers = np.where(whole, values, 0).astype(INTEGER)
        return np.where(nulls, NULL, numbers), nulls | whole
    steps = _scale(wanted) - _scale(given)
    largest = max((int(np.abs(values[~nulls]).max()) if not nulls.all() else 0), 1)
    if largest > LONGEST_UNITS or (steps > 0 and largest > LONGEST_UNITS // 10**steps):
        return _one_by_one(values, given, wanted)
    if steps >= 0:
        return np.where(nulls, NULL, np.where(nulls, 0, values) * 10**steps), None
    unit = 10**-steps
    quotients, rests = np.divmod(np.where(nulls, 0, values), unit)
    return np.where(nulls, NULL, quotients), nulls | (rests == 0)


def _scale(encoding: Encoding) -> int:
    return encoding.type.scale if isinstance(encoding.type, DecimalType) else 0


def _one_by_one(values: Array, given: Encoding, wanted: Encoding) -> tuple[Array, Array]:
    """Numbers that are too long to be scaled at once."""
    numbers: list[Any] = []
    fits: list[bool] = []
    for value in given.decode(values):
        assert value is None or isinstance(value, int | Decimal)
        units = None if value is None else Decimal(value).scaleb(_scale(wanted))
        is_there = units is None or (units == int(units) and _holds(wanted, int(units)))
        fits.append(is_there)
        numbers.append(None if units is None or not is_there else int(units))
    if isinstance(wanted, DecimalEncoding):
        return wanted.of_units(numbers), np.array(fits, np.bool_)
    assert not isinstance(wanted, DictionaryEncoding), "only numbers are looked up as others"
    return np.array([NULL if number is None else number for number in numbers], INTEGER), np.array(fits, np.bool_)


def _holds(wanted: Encoding, units: int) -> bool:
    if isinstance(wanted.type, DecimalType):
        return abs(units) < int(10**wanted.type.precision)
    return is_integer(wanted.type) and units in wanted.type.limits and units != NULL
