"""Values between the page and the database: read as their columns have them, and written as JSON, not too long."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from fastapi.responses import JSONResponse

from whence.errors import DataError, EvaluationError, UnknownNameError, did_you_mean
from whence.model.schema import Column, Relation
from whence.model.types import STRING
from whence.model.types.base import castable, converter
from whence.sources.rows import listed


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


def written(content: object) -> bytes:
    """In ASCII, so that a string with half a character in it cannot break the answer."""
    return json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()


class JsonAnswer(JSONResponse):
    def render(self, content: object) -> bytes:
        return written(content)
