"""Implicit casts: which type a value is taken for where another one is wanted, as Spark's ANSI mode decides.

Rules say all casts. SQL does not: where the types of a call do not go together as they are, Spark may still find
types that do, and then those casts are written into the term. A text becomes what it is compared with or added to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from whence.model.types import BIGINT, BINARY, BOOLEAN, DOUBLE, STRING, DecimalType, IntegerType, IntervalType, Type
from whence.model.types.numbers import FloatingType

_NUMBERS = (IntegerType, DecimalType, FloatingType)
_ON: ContextVar[bool] = ContextVar("implicit casts", default=False)


@contextmanager
def implicit_casts() -> Iterator[None]:
    """Inside, calls are resolved as Spark resolves them, and not strictly."""
    token = _ON.set(True)
    try:
        yield
    finally:
        _ON.reset(token)


def are_on() -> bool:
    return _ON.get()


def promoted(other: Type) -> Type | None:
    """The type in which a STRING meets a value of another type; None where it does not."""
    if other.inner or isinstance(other, IntervalType):
        return None
    if isinstance(other, IntegerType):
        return BIGINT
    return DOUBLE if isinstance(other, DecimalType | FloatingType) else other


def argument_type(given: Type, wanted: Type) -> Type | None:
    """What an argument is cast to where a function takes values of `wanted`."""
    if given.inner or wanted.inner or wanted == BINARY:
        return None
    if given == BINARY:
        return wanted if wanted == STRING else None
    if given == STRING or wanted == STRING:
        return None if wanted == BOOLEAN else wanted
    if isinstance(given, _NUMBERS) and isinstance(wanted, _NUMBERS):
        return wanted
    if given.is_time and wanted.is_time:
        return wanted
    return None
