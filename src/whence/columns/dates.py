"""Parts of dates in arrays, which have the days since 1970; a timestamp's date is that of its day."""

from __future__ import annotations

from collections.abc import Callable

from whence.columns.arithmetic import whole
from whence.columns.casts import conversion
from whence.columns.encoding import INTEGER, Array
from whence.columns.parts import Unary
from whence.model.types import DATE, Type

_EPOCH_YEAR = whole(1970)
_MONTHS, _DAYS_OF_WEEK, _THURSDAY = whole(12), whole(7), whole(4)


def date_part(name: str, kind: Type) -> Unary | None:
    """A part of a DATE or a TIMESTAMP; None where arrays do not have it."""
    to_date = conversion(kind, DATE)
    if to_date is None:
        return None
    part, convert = _PARTS[name], to_date
    return lambda a: (part(convert(a)[0]), None)


def _year(days: Array) -> Array:
    return _since(days, "Y") + _EPOCH_YEAR


def _month(days: Array) -> Array:
    return _since(days, "M") % _MONTHS + 1


def _day(days: Array) -> Array:
    months = days.astype("datetime64[D]").astype("datetime64[M]")
    first: Array = months.astype("datetime64[D]").astype(INTEGER)
    return days - first + 1


def _since(days: Array, unit: str) -> Array:
    """The years or months since 1970."""
    return days.astype("datetime64[D]").astype(f"datetime64[{unit}]").astype(INTEGER)


_PARTS: dict[str, Callable[[Array], Array]] = {
    "year": _year,
    "quarter": lambda days: (_month(days) + 2) // 3,
    "month": _month,
    "day": _day,
    # Sunday is 1.
    "dayofweek": lambda days: (days + _THURSDAY) % _DAYS_OF_WEEK + 1,
}
DATE_PARTS = tuple(_PARTS)


def days_between(end: Array, start: Array) -> tuple[Array, None]:
    return end - start, None
