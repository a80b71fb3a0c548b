"""The door for user data: Python values as they come, normalized to what a column holds, or refused."""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Callable

from whence.errors import DataError
from whence.functions.numeric import RANGES, rescale
from whence.functions.text import shown
from whence.functions.timetext import midnight, parse_date, parse_timestamp
from whence.model.schema import Column
from whence.model.types import BIGINT, INT, ArrayType, DecimalType, Type, Value


class MisfitError(ValueError):
    """Why a value is not one of a type."""

    def __init__(self, reason: str, hint: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


def check_value(value: object, column: Column) -> Value:
    """The value as the column holds it; raises DataError where it does not fit."""
    if value is None:
        if column.nullable:
            return None
        raise DataError(f"column {column.name!r} is NOT NULL, and the value is NULL")
    try:
        return normalize(value, column.type)
    except MisfitError as misfit:
        raise DataError(
            f"column {column.name!r} is {column.type}, and {shown(value)} does not fit: {misfit.reason}",
            hint=misfit.hint,
        ) from None


def normalize(value: object, kind: Type) -> Value:
    """A value other than None as one of `kind`; raises Misfit."""
    if isinstance(kind, DecimalType):
        return _decimal(_unwrapped(value), kind)
    if isinstance(kind, ArrayType):
        return _array(value, kind)
    return _READERS[kind.name](_unwrapped(value))


def _unwrapped(value: object) -> object:
    """A numpy scalar as the Python value it holds."""
    if isinstance(value, (str, int, float, decimal.Decimal, datetime.date)):
        return value
    astype = getattr(value, "astype", None)
    if astype is not None and type(value).__name__ == "datetime64":
        # Its nanoseconds would come out as a bare integer.
        return astype("datetime64[us]").item()
    item = getattr(value, "item", None)
    return value if item is None else item()


def _string(value: object) -> str:
    if not isinstance(value, str):
        hint = "decode() it" if isinstance(value, bytes) else "str() makes it one"
        raise MisfitError(f"it is {_article(value)}, not a string", hint)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise MisfitError("it contains half of a surrogate pair, which is no character") from None
    # A subclass, such as an enumeration, may print itself as something else than it is.
    return value if type(value) is str else str.__str__(value)


def _integer(kind: Type) -> Callable[[object], int]:
    limits = RANGES[kind]

    def read(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            hint = "int() makes it one" if isinstance(value, (str, float, decimal.Decimal, bool)) else None
            raise MisfitError(f"it is {_article(value)}, not an integer", hint)
        # For a subclass, such as an enumeration, `in` would go through the whole range one by one.
        number = value if type(value) is int else int.__int__(value)
        if number not in limits:
            raise MisfitError(f"it is not between {limits.start} and {limits.stop - 1}")
        return number

    return read


def _double(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (float, int, decimal.Decimal)):
        hint = "float() makes it one" if isinstance(value, str) else None
        raise MisfitError(f"it is {_article(value)}, not a number", hint)
    try:
        number = float(value)
    except (OverflowError, ValueError):
        raise MisfitError("it is too large") from None
    if not math.isfinite(number):
        raise MisfitError("NaN and Infinity are no values", "use None for what is not known")
    if isinstance(value, int) and number != value:
        raise MisfitError("no DOUBLE is exactly this integer", "float() rounds it")
    return number + 0.0  # there is no negative zero


def _decimal(value: object, kind: DecimalType) -> decimal.Decimal:
    if isinstance(value, bool) or not isinstance(value, (decimal.Decimal, int)):
        hint = f"decimal.Decimal({str(value)!r}) is exact" if isinstance(value, (float, str)) else None
        raise MisfitError(f"it is {_article(value)}, not a Decimal", hint)
    number = decimal.Decimal(value)
    if not number.is_finite():
        raise MisfitError("NaN and Infinity are no values", "use None for what is not known")
    result = rescale(kind)(number)
    if result is None:
        raise MisfitError(f"it has more than {kind.precision - kind.scale} digits before the point")
    if result != number:
        raise MisfitError(f"it has more than {kind.scale} digits after the point", "round it first")
    return result


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise MisfitError(f"it is {_article(value)}, not True or False")


def _date(value: object) -> datetime.date:
    if isinstance(value, str):
        date = parse_date(value)
        if date is None:
            raise MisfitError("it is not a date", "write it like '2026-01-31'")
        return date
    if isinstance(value, datetime.datetime):
        moment = _timestamp(value)
        if moment != midnight(moment):
            raise MisfitError("it has a time of day", "date() leaves it out")
        return moment.date()
    if isinstance(value, datetime.date):
        return datetime.date(value.year, value.month, value.day)
    raise MisfitError(f"it is {_article(value)}, not a date")


def _timestamp(value: object) -> datetime.datetime:
    if isinstance(value, str):
        moment = parse_timestamp(value)
        if moment is None:
            raise MisfitError("it is not a timestamp", "write it like '2026-01-31 12:00:00'")
        return moment
    if isinstance(value, datetime.datetime):
        # pandas has its own datetime: one that is no time at all, and one that is finer than a microsecond.
        if value != value:
            raise MisfitError("it is not a time", "use None for what is not known")
        if getattr(value, "nanosecond", 0):
            raise MisfitError("it has nanoseconds, and a TIMESTAMP has microseconds")
        if value.tzinfo is not None:
            try:
                value = value.astimezone(datetime.UTC)
            except OverflowError:
                raise MisfitError("it is outside the years 1 to 9999 in UTC") from None
        return datetime.datetime.combine(value.date(), value.time().replace(fold=0))
    if isinstance(value, datetime.date):
        return midnight(value)
    raise MisfitError(f"it is {_article(value)}, not a timestamp")


def _array(value: object, kind: ArrayType) -> tuple[Value, ...]:
    tolist = getattr(value, "tolist", None)
    elements = value if tolist is None else tolist()
    if not isinstance(elements, (list, tuple)):
        raise MisfitError(f"it is {_article(elements)}, not a list")
    result: list[Value] = []
    for position, element in enumerate(elements, start=1):
        try:
            result.append(None if element is None else normalize(element, kind.element))
        except MisfitError as misfit:
            raise MisfitError(f"element {position} is {shown(element)}: {misfit.reason}", misfit.hint) from None
    return tuple(result)


def _article(value: object) -> str:
    """What a value is, in a sentence: `a str`, `an int`."""
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeio" else f"a {name}"


_READERS: dict[str, Callable[[object], Value]] = {
    "STRING": _string,
    "INT": _integer(INT),
    "BIGINT": _integer(BIGINT),
    "DOUBLE": _double,
    "BOOLEAN": _boolean,
    "DATE": _date,
    "TIMESTAMP": _timestamp,
}
