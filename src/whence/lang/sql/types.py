"""SQL type names to types, and the numbers and durations in table properties."""

from __future__ import annotations

import re

from sqlglot import exp

from whence.errors import TypeMismatchError, UnsupportedError
from whence.model import types
from whence.model.span import Span
from whence.model.types import ArrayType, DecimalType, Type

_SIMPLE = {
    exp.DataType.Type.TEXT: types.STRING,
    exp.DataType.Type.INT: types.INT,
    exp.DataType.Type.BIGINT: types.BIGINT,
    exp.DataType.Type.DOUBLE: types.DOUBLE,
    exp.DataType.Type.BOOLEAN: types.BOOLEAN,
    exp.DataType.Type.DATE: types.DATE,
    exp.DataType.Type.TIMESTAMP: types.TIMESTAMP,
    exp.DataType.Type.TIMESTAMPTZ: types.TIMESTAMP,
    exp.DataType.Type.TIMESTAMPNTZ: types.TIMESTAMP,
}
_INSTEAD = {
    "VARCHAR": "STRING",
    "CHAR": "STRING",
    "TINYINT": "INT",
    "SMALLINT": "INT",
    "FLOAT": "DOUBLE",
    "BINARY": "STRING",
}
MAX_PRECISION = 38

_UNIT = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}


def to_type(kind: exp.DataType, span: Span | None) -> Type:
    """The model's type for a type in the text."""
    if kind.this in _SIMPLE:
        return _SIMPLE[kind.this]
    if kind.this is exp.DataType.Type.VARCHAR and not kind.expressions:
        return types.STRING
    if kind.this is exp.DataType.Type.DECIMAL:
        numbers = [int(p.this.this) for p in kind.expressions]
        precision, scale = (*numbers, 10, 0)[:2] if len(numbers) != 1 else (numbers[0], 0)
        if not 0 < precision <= MAX_PRECISION or not 0 <= scale <= precision:
            raise TypeMismatchError(
                f"DECIMAL({precision},{scale}) is not a type",
                span=span,
                hint=f"it has 1 to {MAX_PRECISION} digits, and at most as many of them after the point",
            )
        return DecimalType(precision, scale)
    if kind.this is exp.DataType.Type.ARRAY and len(kind.expressions) == 1:
        return ArrayType(to_type(kind.expressions[0], span))
    name = kind.sql("spark").upper()
    instead = _INSTEAD.get(name.partition("(")[0])
    raise UnsupportedError(
        f"the type {name} is not supported",
        span=span,
        hint=f"use {instead}" if instead else f"types are {', '.join(types.BY_NAME)}, DECIMAL(p,s) and ARRAY<type>",
    )


def to_microseconds(text: str, span: Span | None) -> int:
    """`10 minutes`, `1 hour 30 minutes`, `500 milliseconds`."""
    parts = re.findall(r"(\d+)\s*([a-zA-Z]+)", text)
    total = sum(int(number) * _UNIT.get(unit.lower().removesuffix("s"), 0) for number, unit in parts)
    if (
        total <= 0
        or re.sub(r"\d+\s*[a-zA-Z]+", "", text).strip()
        or any(unit.lower().removesuffix("s") not in _UNIT for _, unit in parts)
    ):
        raise TypeMismatchError(
            f"{text!r} is not a length of time",
            span=span,
            hint="write for example '90 seconds', '10 minutes' or '7 days'",
        )
    return total


def to_number_of_rows(text: str, span: Span | None) -> int:
    if not re.fullmatch(r"\s*[0-9]{1,18}\s*", text):
        raise TypeMismatchError(f"{text!r} is not a number of rows", span=span, hint="write for example '100'")
    return int(text)


def to_duration(microseconds: int) -> str:
    """The text that to_microseconds reads back."""
    for unit, size in reversed(_UNIT.items()):
        if microseconds % size == 0:
            count = microseconds // size
            return f"{count} {unit}{'' if count == 1 else 's'}"
    raise AssertionError("every length of time is a number of microseconds")
