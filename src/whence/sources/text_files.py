"""CSV files, and fact files as Soufflé reads them.

In a fact file a row is a line, and a field is what stands between two delimiters. Quotes are characters like any other,
unless the file is said to follow RFC 4180, and even then a line break ends the row. Unlike in Soufflé, a line with more
fields than the relation has columns is an error.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from whence.errors import DataError, EvaluationError, WhenceError, shown
from whence.model.file_options import FileOptions
from whence.model.schema import Column, Relation, check_value
from whence.model.types import STRING, Value
from whence.model.types.base import converter
from whence.sources.rows import column_positions, listed


def decode(content: bytes, name: str, error: type[WhenceError]) -> str:
    """The content as UTF-8, without a byte order mark; raises `error` with the place of the first wrong byte."""
    try:
        return content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as wrong:
        line = content.count(b"\n", 0, wrong.start) + 1
        raise error(
            f"{name}:{line}: byte 0x{content[wrong.start]:02x} at offset {wrong.start} is not UTF-8",
            hint="save the file as UTF-8",
        ) from None


Reader: TypeAlias = Callable[[str], Value]

# How other files begin that people give for CSV.
_OTHER_FILES = {
    b"PAR1": "a Parquet file",
    b"ORC": "an ORC file",
    b"Obj\x01": "an Avro file",
    b"\x1f\x8b": "a gzip file",
}
_DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}


class FieldsFile:
    """A file of records of text fields, each of which has a line of its own."""

    def __init__(self, path: Path, delimiter: str) -> None:
        self.path = path
        self.delimiter = delimiter
        self.drops_bad_rows = False
        self.notices: list[str] = []
        # Where each row begins that was read so far.
        self._lines: list[int] = []

    def place(self, index: int) -> str:
        return f"{self.path}:{self._lines[index]}"

    def values(
        self,
        records: Iterable[tuple[int, Sequence[str]]],
        relation: Relation,
        readers: Sequence[Reader],
        positions: Sequence[int],
    ) -> Iterator[list[Value]]:
        """The values of each record, which comes with its line. `positions` says where each column's field is."""
        dropped = 0
        for line, fields in records:
            try:
                if len(fields) != relation.arity:
                    raise DataError(
                        f"{relation.name!r} has {listed(relation.column_names)}, and this row has "
                        f"{len(fields)} field{'' if len(fields) == 1 else 's'}: {shown(self.delimiter.join(fields))}"
                    )
                values = [read(fields[position]) for read, position in zip(readers, positions, strict=True)]
                if self.drops_bad_rows:
                    values = [check_value(value, each) for value, each in zip(values, relation.columns, strict=True)]
            except DataError as error:
                if not self.drops_bad_rows:
                    raise DataError(f"{self.path}:{line}: {error.message}") from None
                dropped += 1
                continue
            self._lines.append(line)
            yield values
        if dropped:
            self.notices.append(f"{dropped:,} rows of {self.path} do not fit {relation.name!r} and were left out")


class CsvFile(FieldsFile):
    """A CSV file.

    With a header the columns may come in any order, without one they come in the relation's. An empty field is NULL
    where the column can be NULL.
    """

    def __init__(self, path: Path, *, delimiter: str = ",", header: bool = True) -> None:
        super().__init__(path, delimiter)
        self._header = header
        self._quote = '"'
        self._null = ""

    @classmethod
    def with_options(cls, path: Path, options: FileOptions) -> CsvFile:
        made = cls(path, delimiter=options.sep, header=options.header)
        made._quote, made._null, made.drops_bad_rows = options.quote, options.null, options.drops_bad_rows
        return made

    def rows(self, relation: Relation) -> Iterator[Sequence[object]]:
        records = self._records(relation)
        readers = (
            [_with_null(read, self._null) for read in value_readers(relation)]
            if self._null
            else (value_readers(relation))
        )
        positions: Sequence[int] = range(relation.arity)
        if self._header:
            first = next(records, None)
            if first is None:
                columns = listed(relation.column_names)
                raise DataError(f"{self.path} is empty: it should start with a header of {columns}")
            _check_delimiter(first[1], relation, self.delimiter, self.path)
            names = [name.strip() for name in first[1]]
            positions = column_positions(names, relation, f"the header of {self.path}")
        return self.values(records, relation, readers, positions)

    def _records(self, relation: Relation) -> Iterator[tuple[int, list[str]]]:
        """The line where each record starts, and its fields. Empty lines are skipped."""
        text = file_text(self.path, relation)
        quoting = {"quotechar": self._quote} if self._quote else {"quoting": csv.QUOTE_NONE, "quotechar": None}
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=self.delimiter, strict=True, **quoting)
        while True:
            line = reader.line_num + 1
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise DataError(f"{self.path}:{line}: this is not CSV: {error}") from None
            if fields:
                yield line, fields


def file_text(path: Path, relation: Relation) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else error.strerror
        raise DataError(f"the rows of {relation.name!r} cannot be read from {path}: {reason}") from None
    for start, kind in _OTHER_FILES.items():
        if content.startswith(start):
            raise DataError(
                f"{path} is {kind}, and the rows of {relation.name!r} are read from CSV",
                hint="read it into an Arrow table or a data frame, and insert that",
            )
    return decode(content, str(path), DataError)


def value_readers(relation: Relation) -> list[Reader]:
    """For each column what makes a value of it from a field."""
    for column in relation.columns:
        if column.type.inner:
            raise DataError(f"column {column.name!r} of {relation.name!r} is {column.type}, which CSV cannot hold")
    return [_field_reader(column) for column in relation.columns]


def _with_null(read: Reader, null: str) -> Reader:
    return lambda field: None if field == null else read(field)


def misfit(column: Column, field: str) -> DataError:
    return DataError(f"column {column.name!r} must be {column.type}, not {shown(field)}")


def _check_delimiter(header: list[str], relation: Relation, delimiter: str, path: Path) -> None:
    names = {column.lower() for column in relation.column_names}
    wanted = _DELIMITERS.get(delimiter, repr(delimiter))
    for other, name in _DELIMITERS.items():
        fields = [field.strip().strip('"').lower() for field in header[0].split(other)]
        if len(header) == 1 < len(fields) and names.intersection(fields) and other != delimiter:
            raise DataError(
                f"the header of {path} is separated by {name}, and not by {wanted}",
                hint=f"save the file with {wanted} between its fields",
            )


def _field_reader(column: Column) -> Reader:
    """What makes a value of the column from a field."""
    convert = converter(STRING, column.type)
    empty_is_text = column.type == STRING and not column.nullable

    def read(field: str) -> Value:
        if not field and not empty_is_text:
            return None
        try:
            return convert(field)
        except EvaluationError:
            raise misfit(column, field) from None

    return read


# What C++ reads as a number: blanks before it, but none behind it.
_INTEGER = re.compile(r"[ \t\v\f\r]*[+-]?\d+", re.ASCII)
_DOUBLE = re.compile(r"[ \t\v\f\r]*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_NUMBERS = {int: _INTEGER, float: _DOUBLE}


class FactsFile(FieldsFile):
    """A fact file. An empty field is NULL where the column can be NULL."""

    def __init__(self, path: Path, *, delimiter: str, quoted: bool, skip_header: bool) -> None:
        super().__init__(path, delimiter)
        self._split = _quoted_fields if quoted else _bracketed_fields if delimiter == "," else str.split
        self._skip_header = skip_header

    def rows(self, relation: Relation) -> Iterator[Sequence[object]]:
        readers = list(map(_fact_reader, relation.columns, value_readers(relation)))
        return self.values(self._records(relation), relation, readers, range(relation.arity))

    def _records(self, relation: Relation) -> Iterator[tuple[int, list[str]]]:
        lines = file_text(self.path, relation).split("\n")
        if not lines[-1]:
            lines.pop()
        for number, text in enumerate(lines, start=1):
            if number == 1 and self._skip_header:
                continue
            line = text.removesuffix("\r")
            try:
                fields = self._split(line, self.delimiter)
            except ValueError as error:
                raise DataError(f"{self.path}:{number}: {error}") from None
            # A relation without columns is true if its file has a line, which is empty or says ().
            yield number, [] if relation.arity == 0 and line in ("", "()") else fields


def _bracketed_fields(line: str, delimiter: str) -> list[str]:
    """A comma within brackets is part of a record, and no delimiter."""
    if "[" not in line and "]" not in line:
        return line.split(delimiter)
    fields, start, depth = [], 0, 0
    for at, character in enumerate(line):
        depth += (character == "[") - (character == "]")
        if depth < 0:
            break
        if character == delimiter and depth == 0:
            fields.append(line[start:at])
            start = at + 1
    if depth:
        raise ValueError("the brackets in this row do not match")
    return [*fields, line[start:]]


def _quoted_fields(line: str, delimiter: str) -> list[str]:
    fields, start = [], 0
    while start <= len(line):
        if line[start : start + 1] == '"':
            found = _QUOTED.match(line, start)
            if found is None:
                raise ValueError("a quoted field does not end on its line")
            end = found.end()
            if end < len(line) and line[end] != delimiter:
                raise ValueError("a quoted field is followed by something else than a delimiter")
            fields.append(found[1].replace('""', '"'))
        else:
            end = line.find(delimiter, start)
            end = len(line) if end < 0 else end
            fields.append(line[start:end])
        start = end + 1
    return fields


_QUOTED = re.compile(r'"((?:[^"]|"")*)"(?!")')


def _fact_reader(column: Column, read: Reader) -> Reader:
    number = _NUMBERS.get(column.type.python)

    def read_number(field: str) -> Value:
        # What Spark reads as a number beyond that, with blanks or a suffix, is a mistake in a fact file.
        if field and number is not None and not number.fullmatch(field):
            raise misfit(column, field)
        return read(field)

    return read if number is None else read_number
