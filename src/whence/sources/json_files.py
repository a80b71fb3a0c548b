"""JSON lines: a row is an object on a line of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

from whence.errors import DataError, EvaluationError, did_you_mean, shown
from whence.model.defaults import defaults
from whence.model.file_options import FileOptions
from whence.model.schema import Column, Relation
from whence.model.types import STRING, ArrayType, DecimalType, StructType, Value
from whence.model.types.base import converter
from whence.sources.text_files import file_text


class JsonLines:
    """A file of objects. What an object lacks is the column's default, or NULL; a number or a text is what the column
    takes it for.
    """

    def __init__(self, path: Path, options: FileOptions) -> None:
        self.path = path
        self.notices: list[str] = []
        self._drops = options.drops_bad_rows
        self._lines: list[int] = []

    def place(self, index: int) -> str:
        return f"{self.path}:{self._lines[index]}"

    def rows(self, relation: Relation) -> Iterator[Sequence[object]]:
        names = {column.name.lower(): at for at, column in enumerate(relation.columns)}
        known = defaults(relation)
        empty = [known.get(column.name) for column in relation.columns]
        dropped = 0
        for number, line in enumerate(file_text(self.path, relation).splitlines(), start=1):
            if not line.strip():
                continue
            try:
                row = self._row(line, relation, names, empty)
            except DataError as error:
                if not self._drops:
                    raise DataError(f"{self.path}:{number}: {error.message}", hint=error.hint) from None
                dropped += 1
                continue
            self._lines.append(number)
            yield row
        if dropped:
            self.notices.append(f"{dropped:,} rows of {self.path} do not fit {relation.name!r} and were left out")

    def _row(self, line: str, relation: Relation, names: dict[str, int], empty: Sequence[Value]) -> Sequence[object]:
        try:
            found = json.loads(line, parse_float=Decimal)
        except ValueError as error:
            raise DataError(f"this is no JSON: {error}") from None
        if not isinstance(found, dict):
            raise DataError(f"a row is an object, and this is {shown(found)}")
        row = list(empty)
        for name, value in found.items():
            at = names.get(name.lower())
            if at is None:
                raise DataError(
                    f"{relation.name!r} has no column {name!r}", hint=did_you_mean(name, relation.column_names)
                )
            row[at] = _value(value, relation.columns[at])
        return row


def _value(value: object, column: Column) -> object:
    """A text is read as the column's type, as in CSV: dates and large numbers come so."""
    if isinstance(value, str) and column.type != STRING:
        try:
            return converter(STRING, column.type)(value)
        except EvaluationError:
            raise _misfit(column, value) from None
    if isinstance(value, Decimal) and not isinstance(column.type, DecimalType):
        return float(value)
    if isinstance(value, list) and isinstance(column.type, ArrayType):
        element = Column(column.name, column.type.element)
        return tuple(_value(each, element) for each in value)
    if isinstance(value, dict) and isinstance(column.type, StructType):
        places = {name: column.type.place(name) for name in value}
        kinds = column.type.inner
        return {
            name: value[name] if at is None else _value(value[name], Column(column.name, kinds[at]))
            for name, at in places.items()
        }
    if isinstance(value, dict | list):
        raise _misfit(column, value)
    return value  # type: ignore[return-value]


def _misfit(column: Column, value: object) -> DataError:
    return DataError(f"column {column.name!r} must be {column.type}, not {shown(value)}")
