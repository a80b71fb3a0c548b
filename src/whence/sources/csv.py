"""Rows from CSV files: plain data, read whole or not at all."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path

from whence.errors import DataError, EvaluationError
from whence.functions.cast import converter
from whence.functions.text import shown
from whence.model.schema import Column, Relation
from whence.model.types import STRING, ArrayType, Row, Value
from whence.sources.columns import column_positions, listed
from whence.sources.rows import check_rows
from whence.sources.text import decode


def read_csv(path: Path, relation: Relation, *, delimiter: str = ",", header: bool = True) -> list[Row]:
    """The rows of the file, for the relation.

    With a header the columns may come in any order, without one they come in the relation's. An empty field is NULL
    where the column can be NULL.
    """
    for column in relation.columns:
        if isinstance(column.type, ArrayType):
            raise DataError(f"column {column.name!r} of {relation.name!r} is {column.type}, which CSV cannot hold")
    records = _records(path, relation, delimiter)
    positions = list(range(relation.arity))
    if header:
        first = next(records, None)
        if first is None:
            raise DataError(f"{path} is empty: it should start with a header of {listed(relation.column_names)}")
        positions = column_positions([name.strip() for name in first[1]], relation, f"the header of {path}")
    readers = [_reader(column) for column in relation.columns]
    places: list[int] = []

    def rows() -> Iterator[list[Value]]:
        for line, fields in records:
            if len(fields) != relation.arity:
                raise DataError(
                    f"{path}:{line}: {relation.name!r} has {listed(relation.column_names)}, and this row has "
                    f"{len(fields)} field{'' if len(fields) == 1 else 's'}: {shown(delimiter.join(fields))}"
                )
            places.append(line)
            try:
                yield [read(fields[position]) for read, position in zip(readers, positions, strict=True)]
            except DataError as error:
                raise DataError(f"{path}:{line}: {error.message}") from None

    return check_rows(rows(), relation, lambda index: f"{path}:{places[index]}")


def _records(path: Path, relation: Relation, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The line where each record starts, and its fields. Empty lines are skipped."""
    try:
        content = path.read_bytes()
    except OSError as error:
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else error.strerror
        raise DataError(f"the rows of {relation.name!r} cannot be read from {path}: {reason}") from None
    text = decode(content, str(path), DataError)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(f"{path}:{line}: this is not CSV: {error}") from None
        if fields:
            yield line, fields


def _reader(column: Column) -> Callable[[str], Value]:
    """What makes a value of the column from a field."""
    convert = converter(STRING, column.type)
    empty_is_text = column.type == STRING and not column.nullable

    def read(field: str) -> Value:
        if not field and not empty_is_text:
            return None
        try:
            return convert(field)
        except EvaluationError:
            raise DataError(f"column {column.name!r} must be {column.type}, not {shown(field)}") from None

    return read
