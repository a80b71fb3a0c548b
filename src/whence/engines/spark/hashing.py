"""Spark's `xxhash64` in this process: the same number for the same values of the same types.

Spark starts from 42 and goes from column to column; each hash is the seed of the next. NULL leaves it as it is.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Context, Decimal
from struct import Struct
from typing import Any, TypeAlias

from xxhash import xxh64_intdigest

from whence.model.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    Type,
    Value,
)

# From a value other than NULL and the hash before it to the hash after it.
Hasher: TypeAlias = Callable[[Any, int], int]

SEED = 42
# Decimals with more digits than a long holds are hashed by their bytes.
LONG_DIGITS = 18

_EPOCH = datetime.datetime(1970, 1, 1)  # noqa: DTZ001 - a TIMESTAMP has no time zone
_EPOCH_DAY = _EPOCH.toordinal()
_MICROSECOND = datetime.timedelta(microseconds=1)
# Enough digits for every DECIMAL, so that nothing is rounded.
_EXACT = Context(prec=100)

_int = Struct("<i").pack
_long = Struct("<q").pack
_double = Struct("<d").pack


def hasher(kind: Type) -> Hasher:
    """How Spark hashes values of that type."""
    match kind:
        case ArrayType(element=element):
            return _array(element)
        case DecimalType(precision=precision, scale=scale):
            return _decimal(precision, scale)
    return _BY_TYPE[kind]


def text_hash(text: str) -> int:
    """The hash of a string that comes first."""
    return xxh64_intdigest(text.encode(), SEED)


def signed(number: int) -> int:
    """A hash as Spark has it, in a BIGINT."""
    return number - (1 << 64) if number >> 63 else number


def hash_int(value: int, before: int) -> int:
    return xxh64_intdigest(_int(value), before)


def _hash_long(value: int, before: int) -> int:
    return xxh64_intdigest(_long(value), before)


def _decimal(precision: int, scale: int) -> Hasher:
    def unscaled(value: Decimal) -> int:
        return int(value.scaleb(scale, _EXACT))

    if precision <= LONG_DIGITS:
        return lambda value, before: xxh64_intdigest(_long(unscaled(value)), before)
    return lambda value, before: xxh64_intdigest(_two_complement(unscaled(value)), before)


def _two_complement(number: int) -> bytes:
    """As Java writes a BigInteger: the fewest bytes, the sign included."""
    return number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)


def _array(element: Type) -> Hasher:
    of_element = hasher(element)

    def hashed(values: tuple[Value, ...], before: int) -> int:
        for value in values:
            if value is not None:
                before = of_element(value, before)
        return before

    return hashed


_BY_TYPE: dict[Type, Hasher] = {
    STRING: lambda value, before: xxh64_intdigest(value.encode(), before),
    INT: hash_int,
    BOOLEAN: hash_int,
    DATE: lambda value, before: xxh64_intdigest(_int(value.toordinal() - _EPOCH_DAY), before),
    BIGINT: _hash_long,
    TIMESTAMP: lambda value, before: xxh64_intdigest(_long((value - _EPOCH) // _MICROSECOND), before),
    DOUBLE: lambda value, before: xxh64_intdigest(_double(value), before),
}
