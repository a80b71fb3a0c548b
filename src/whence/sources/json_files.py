"""JSON lines: a row is an object on a line of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

from whence.errors import DataError, EvaluationError, did_you_mean, shown
from whence.model.file_options import FileOptions
from whence.model.schema import Column, Relation, defaults
from whence.model.types import STRING, ArrayType, DecimalType, MapType, StructType, Value
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
        row: list[object] = list(empty)
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
    if isinstance(value, str) and not column.type.inner and column.type != STRING:
        try:
            return converter(STRING, column.type)(value)
        except EvaluationError:
            raise _misfit(column, value) from None
    if isinstance(value, Decimal) and not isinstance(column.type, DecimalType):
        return float(value)
    inner = [Column(column.name, kind) for kind in column.type.inner]
    match column.type, value:
        case ArrayType(), list():
            return [_value(each, inner[0]) for each in value]
        case MapType(), dict():
            return [(_value(key, inner[0]), _value(each, inner[1])) for key, each in value.items()]
        case StructType() as struct, dict():
            places = {name: struct.place(name) for name in value}
            # What is no field is refused with the row.
            return {name: value[name] if at is None else _value(value[name], inner[at]) for name, at in places.items()}
    if isinstance(value, dict | list) or (inner and value is not None):
        raise _misfit(column, value)
    return value


def _misfit(column: Column, value: object) -> DataError:
    return DataError(f"column {column.name!r} must be {column.type}, not {shown(value)}")
