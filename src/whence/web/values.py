"""Values on their way to the page and back."""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Mapping, Sequence

from whence.errors import DataError, EvaluationError, UnknownNameError, did_you_mean
from whence.functions.cast import castable, converter
from whence.functions.text import timestamp_text
from whence.model.schema import Column, Relation
from whence.model.types import STRING, Row
from whence.sources.columns import listed

# A browser's numbers are exact up to here.
_EXACT = 2**53
# Nobody reads a longer text in a cell.
_LONGEST = 10_000


def plain(value: object) -> object:
    """A value as JSON has it. What a browser's numbers cannot hold keeps its digits, as a string."""
    match value:
        case None | bool():
            return value
        case str():
            return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"
        case float():
            return value if math.isfinite(value) else str(value)
        case int():
            return value if -_EXACT <= value <= _EXACT else str(value)
        case decimal.Decimal():
            return format(value, "f")
        case datetime.datetime():
            return timestamp_text(value.replace(tzinfo=None))
        case tuple() | list():
            return [plain(element) for element in value]
    return str(value)


def plain_row(row: Row) -> list[object]:
    return [plain(value) for value in row]


def read_values(given: Mapping[str, object], relation: Relation) -> dict[str, object]:
    """Values by column, with what was typed as text read as its column has it."""
    columns = {column.name.lower(): column for column in relation.columns}
    values: dict[str, object] = {}
    for name, value in given.items():
        column = columns.get(name.lower())
        if column is None:
            raise UnknownNameError(
                f"{relation.name!r} has no column {name!r}",
                hint=did_you_mean(name, relation.column_names) or f"it has {listed(relation.column_names)}",
            )
        values[column.name] = _read(value, column)
    return values


def read_row(given: Sequence[object] | Mapping[str, object], relation: Relation) -> tuple[object, ...]:
    """A row in the order of the columns. A column that is not mentioned is None."""
    if isinstance(given, Mapping):
        values = read_values(given, relation)
        return tuple([values.get(name) for name in relation.column_names])
    if len(given) != relation.arity:
        raise DataError(
            f"{relation.name!r} has {listed(relation.column_names)}, and the row has "
            f"{len(given)} value{'' if len(given) == 1 else 's'}"
        )
    return tuple([_read(value, column) for value, column in zip(given, relation.columns, strict=True)])


def _read(value: object, column: Column) -> object:
    if isinstance(value, list):
        return tuple(value)
    if not isinstance(value, str) or column.type == STRING or not castable(STRING, column.type):
        return value
    try:
        return converter(STRING, column.type)(value)
    except EvaluationError as error:
        raise DataError(f"{error.message}, for column {column.name!r}") from None
