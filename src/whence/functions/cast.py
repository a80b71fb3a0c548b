"""CAST: which types convert to which, and how. Spark's ANSI rules: a value that does not convert is an error."""

from __future__ import annotations

import datetime
import decimal
import math
import re
from collections.abc import Callable
from typing import Any, TypeAlias

from whence.errors import EvaluationError, InternalError
from whence.functions.numeric import CONTEXT, RANGES, exact_decimal, rescale
from whence.functions.text import double_text, shown, timestamp_text
from whence.functions.timetext import EPOCH, midnight, parse_date, parse_timestamp
from whence.model.types import NULL, STRING, ArrayType, Type, Value

Converter: TypeAlias = Callable[[Any], Value]

_MICROSECOND = datetime.timedelta(microseconds=1)
_TRUE = frozenset(("t", "true", "y", "yes", "1"))
_FALSE = frozenset(("f", "false", "n", "no", "0"))
# Three hundred digits are more than any type takes; Python refuses to read millions.
_INTEGER = re.compile(r"\s*[+-]?\d{1,300}\s*", re.ASCII)
_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,9})?\s*", re.ASCII)


def castable(source: Type, target: Type) -> bool:
    """Whether there is a CAST from `source` to `target`; a value may still fail to convert."""
    if source in (target, NULL):
        return True
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return castable(source.element, target.element)
    return target == STRING or (_kind(source), _kind(target)) in _CASTS


def converter(source: Type, target: Type) -> Converter:
    """The function that casts values other than NULL. It is `unchanged` where the value stays as it is."""
    if source in (target, NULL):
        return unchanged
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return _elementwise(converter(source.element, target.element))
    if target == STRING:
        return _to_text(source)
    make = _CASTS.get((_kind(source), _kind(target)))
    if make is None:
        raise InternalError(f"there is no cast from {source} to {target}")
    return make(target)


def unchanged(value: Any) -> Value:
    return value  # type: ignore[no-any-return]


def _kind(kind: Type) -> str:
    """The name of a type without its parameters."""
    return kind.name.partition("(")[0].partition("<")[0]


def _failure(value: object, target: Type, why: str = "") -> EvaluationError:
    return EvaluationError(f"cannot cast {shown(value)} to {target}{why}")


def _always(function: Converter) -> Callable[[Any], Converter]:
    return lambda _: function


def _elementwise(convert: Converter) -> Converter:
    if convert is unchanged:
        return unchanged
    return lambda values: tuple(None if value is None else convert(value) for value in values)


def _to_integer(whole: Callable[[Any], int]) -> Callable[[Any], Converter]:
    """Casts to INT and BIGINT that find the whole number first, then check the range."""

    def make(target: Any) -> Converter:
        limits = RANGES[target]

        def convert(value: Any) -> int:
            result = whole(value)
            if result in limits:
                return result
            raise _failure(value, target, ": it is out of range")

        return convert

    return make


def _to_decimal(exact: Callable[[Any], decimal.Decimal]) -> Callable[[Any], Converter]:
    """Casts to DECIMAL that find the exact number first, then round it half up to the scale."""

    def make(target: Any) -> Converter:
        fit = rescale(target)

        def convert(value: Any) -> decimal.Decimal:
            result = fit(exact(value))
            if result is None:
                raise _failure(value, target, ": it is out of range")
            return result

        return convert

    return make


def _from_text(read: Callable[[str], Value]) -> Callable[[Any], Converter]:
    """Casts from STRING; `read` gives None for what it cannot read."""

    def make(target: Any) -> Converter:
        def convert(text: str) -> Value:
            result = read(text)
            if result is None:
                raise _failure(text, target)
            return result

        return convert

    return make


def _integer_from_text(target: Type) -> Converter:
    limits = RANGES[target]

    def convert(text: str) -> int:
        if not _INTEGER.fullmatch(text):
            raise _failure(text, target, ": it is not a whole number")
        result = int(text)
        if result in limits:
            return result
        raise _failure(text, target, ": it is out of range")

    return convert


def _decimal_from_text(target: Type) -> Converter:
    fit = _to_decimal(lambda number: number)(target)

    def convert(text: str) -> Value:
        if not _NUMBER.fullmatch(text):
            raise _failure(text, target, ": it is not a number")
        return fit(decimal.Decimal(text.strip()))

    return convert


def _read_double(text: str) -> float | None:
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value + 0.0 if math.isfinite(value) else None


def _read_boolean(text: str) -> bool | None:
    word = text.strip().lower()
    return True if word in _TRUE else False if word in _FALSE else None


def _whole_seconds(moment: datetime.datetime) -> int:
    return (moment - EPOCH) // datetime.timedelta(seconds=1)


def _microseconds(moment: datetime.datetime) -> int:
    return (moment - EPOCH) // _MICROSECOND


def _to_timestamp(microseconds: Callable[[Any], int]) -> Callable[[Any], Converter]:
    """Casts from a number of seconds since 1970 in UTC."""

    def make(target: Any) -> Converter:
        def convert(value: Any) -> datetime.datetime:
            try:
                return EPOCH + datetime.timedelta(microseconds=microseconds(value))
            except OverflowError:
                raise _failure(value, target, ": it is out of range") from None

        return convert

    return make


def _to_text(source: Type) -> Converter:
    if isinstance(source, ArrayType):
        text = converter(source.element, STRING)
        return lambda values: f"[{', '.join('null' if v is None else str(text(v)) for v in values)}]"
    return _TEXTS[_kind(source)]


_TEXTS: dict[str, Converter] = {
    "INT": str,
    "BIGINT": str,
    "DOUBLE": double_text,
    "DECIMAL": lambda value: format(value, "f"),
    "BOOLEAN": lambda value: "true" if value else "false",
    "DATE": datetime.date.isoformat,
    "TIMESTAMP": timestamp_text,
}

_INTEGERS = ("INT", "BIGINT")
_CASTS: dict[tuple[str, str], Callable[[Any], Converter]] = {
    ("INT", "BIGINT"): _always(unchanged),
    ("BIGINT", "INT"): _to_integer(int),
    **{("STRING", target): _integer_from_text for target in _INTEGERS},
    ("STRING", "DOUBLE"): _from_text(_read_double),
    ("STRING", "DECIMAL"): _decimal_from_text,
    ("STRING", "BOOLEAN"): _from_text(_read_boolean),
    ("STRING", "DATE"): _from_text(parse_date),
    ("STRING", "TIMESTAMP"): _from_text(parse_timestamp),
    **{(source, target): _to_integer(int) for source in ("DOUBLE", "DECIMAL", "BOOLEAN") for target in _INTEGERS},
    **{("TIMESTAMP", target): _to_integer(_whole_seconds) for target in _INTEGERS},
    **{(source, "DOUBLE"): _always(float) for source in (*_INTEGERS, "DECIMAL", "BOOLEAN")},
    ("TIMESTAMP", "DOUBLE"): _always(lambda moment: _microseconds(moment) / 1_000_000),
    **{(source, "DECIMAL"): _to_decimal(decimal.Decimal) for source in (*_INTEGERS, "DECIMAL", "BOOLEAN")},
    ("DOUBLE", "DECIMAL"): _to_decimal(exact_decimal),
    ("TIMESTAMP", "DECIMAL"): _to_decimal(lambda moment: decimal.Decimal(_microseconds(moment)).scaleb(-6)),
    **{(source, "BOOLEAN"): _always(bool) for source in (*_INTEGERS, "DOUBLE", "DECIMAL")},
    ("DATE", "TIMESTAMP"): _always(midnight),
    ("TIMESTAMP", "DATE"): _always(datetime.datetime.date),
    **{(source, "TIMESTAMP"): _to_timestamp(lambda seconds: seconds * 1_000_000) for source in _INTEGERS},
    ("DOUBLE", "TIMESTAMP"): _to_timestamp(lambda seconds: int(seconds * 1_000_000)),
    ("DECIMAL", "TIMESTAMP"): _to_timestamp(lambda seconds: int(seconds.scaleb(6, CONTEXT))),
}
