"""Values as SQLite holds them: typed, exact, and one form for each value.

STRING text   INT, BIGINT integer   DOUBLE real   BOOLEAN 0 or 1   DECIMAL, DATE, TIMESTAMP text   ARRAY JSON text
"""

from __future__ import annotations

import datetime
import decimal
import json
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from whence.model.schema import Column
from whence.model.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, TIMESTAMP, ArrayType, DecimalType, Row, Type

Stored: TypeAlias = tuple[str | int | float | None, ...]

AFFINITIES = {INT: "INTEGER", BIGINT: "INTEGER", BOOLEAN: "INTEGER", DOUBLE: "REAL"}


def time_text(moment: datetime.datetime) -> str:
    return moment.isoformat(sep=" ")


_WRITERS: dict[Type, Callable[[Any], Any]] = {BOOLEAN: int, DATE: datetime.date.isoformat, TIMESTAMP: time_text}
_READERS: dict[Type, Callable[[Any], Any]] = {
    BOOLEAN: bool,
    DATE: datetime.date.fromisoformat,
    TIMESTAMP: datetime.datetime.fromisoformat,
}


def affinity(kind: Type) -> str:
    """What SQLite calls the type of a column."""
    return AFFINITIES.get(kind, "TEXT")


def row_writer(columns: Sequence[Column]) -> Callable[[Row], Stored]:
    """What turns a row into its stored form."""
    return _by_column([_writer(column.type) for column in columns])


def row_reader(columns: Sequence[Column]) -> Callable[[Stored], Row]:
    """What turns a stored row into the row it was."""
    return _by_column([_reader(column.type) for column in columns])


def _by_column(converters: list[Callable[[Any], Any] | None]) -> Callable[[Any], Any]:
    if not any(converters):
        return lambda row: row
    found = [(at, convert) for at, convert in enumerate(converters) if convert is not None]

    def convert_row(row: tuple[Any, ...]) -> tuple[Any, ...]:
        cells = list(row)
        for at, convert in found:
            if cells[at] is not None:
                cells[at] = convert(cells[at])
        return tuple(cells)

    return convert_row


def _writer(kind: Type) -> Callable[[Any], Any] | None:
    """What SQLite takes for a value other than NULL; None where it takes the value itself."""
    match kind:
        case DecimalType():
            return lambda value: format(value, "f")
        case ArrayType():
            element = _writer(kind.element) if not isinstance(kind.element, ArrayType) else _elements(kind.element)
            return lambda value: json.dumps(_mapped(element, value), ensure_ascii=False, separators=(",", ":"))
    return _WRITERS.get(kind)


def _elements(kind: ArrayType) -> Callable[[Any], Any]:
    """An array inside of an array is a list, and not text again."""
    element = _elements(kind.element) if isinstance(kind.element, ArrayType) else _writer(kind.element)
    return lambda value: _mapped(element, value)


def _reader(kind: Type) -> Callable[[Any], Any] | None:
    if isinstance(kind, ArrayType):
        whole = _tuples(kind)
        return lambda value: whole(json.loads(value))
    if isinstance(kind, DecimalType):
        return decimal.Decimal
    return _READERS.get(kind)


def _tuples(kind: ArrayType) -> Callable[[Any], Any]:
    element = _tuples(kind.element) if isinstance(kind.element, ArrayType) else _reader(kind.element)
    return lambda value: tuple(_mapped(element, value))


def _mapped(convert: Callable[[Any], Any] | None, values: Sequence[Any]) -> list[Any]:
    if convert is None:
        return list(values)
    return [None if value is None else convert(value) for value in values]
