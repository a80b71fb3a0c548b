"""Rows that are written to files: by COPY, all of them or none, and by `.output`, as Soufflé writes and reads them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from uuid import uuid4

from whence.errors import DataError, UnsupportedError, did_you_mean
from whence.model.file_options import FileOptions
from whence.model.program import Directive
from whence.model.schema import Relation
from whence.model.types import Row, Type
from whence.sources.folders import FORMATS
from whence.sources.source import TRUTHS, file_below

if TYPE_CHECKING:
    import pyarrow as pa

# Soufflé's.
PARAMETERS = ("IO", "filename", "delimiter", "headers", "rfc4180")


def write_rows(table: pa.Table, path: Path, options: FileOptions) -> None:
    """The file appears under its name when it is complete, in the place of one that was there."""
    kind = options.format or FORMATS.get(path.suffix.lower())
    if kind is None:
        raise UnsupportedError(f"what {path} should hold is not known", hint="name it .csv, .jsonl or .parquet")
    beside = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        if kind == "parquet":
            import pyarrow.parquet

            pyarrow.parquet.write_table(table, beside)
        else:
            with beside.open("w", encoding="utf-8", newline="") as file:
                (_write_csv if kind == "csv" else _write_json)(table, file, options)
        beside.replace(path)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        beside.unlink(missing_ok=True)


def _write_csv(table: pa.Table, file: IO[str], options: FileOptions) -> None:
    quoting: dict[str, Any] = {"quotechar": options.quote or None}
    if not options.quote:
        quoting["quoting"] = csv.QUOTE_NONE
    writer = csv.writer(file, delimiter=options.sep, lineterminator="\n", **quoting)
    try:
        if options.header:
            writer.writerow(table.column_names)
        for row in _rows(table):
            writer.writerow([options.null if value is None else _text(value) for value in row.values()])
    except csv.Error as error:
        raise DataError(f"these rows cannot be written as CSV: {error}", hint="give it a quote") from None


def _write_json(table: pa.Table, file: IO[str], _: FileOptions) -> None:
    for row in _rows(table):
        file.write(json.dumps(row, ensure_ascii=False, default=_text) + "\n")


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in table.to_batches(max_chunksize=10_000):
        yield from batch.to_pylist(maps_as_pydicts="strict")


def _text(value: object) -> str:
    """As a CAST to STRING writes it, and a file of rows reads it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=_text)
    return str(value)


def write_output(directive: Directive, relation: Relation, rows: Iterable[Row], directory: Path) -> Path:
    """Write the rows into the file that an `.output` names, below the directory, and tell its path.

    A row is a line, its fields between tabs.
    """
    given = {name.lower(): value for name, value in directive.parameters}
    for name in given:
        if name not in map(str.lower, PARAMETERS):
            raise UnsupportedError(
                f".output has no parameter {name!r}",
                span=directive.span,
                hint=did_you_mean(name, PARAMETERS) or f"its parameters are {', '.join(PARAMETERS)}",
            )
    if given.get("io", "file") != "file":
        raise UnsupportedError(f".output writes files only, not IO={given['io']}", span=directive.span)
    path = file_below(directory, given.get("filename", f"{relation.name}.csv"), directive, outside=False)
    quoted, headed = (TRUTHS.get(given.get(name, "false").lower(), False) for name in ("rfc4180", "headers"))
    delimiter = given.get("delimiter", "," if quoted else "\t").replace("\\t", "\t")
    writers = [_writer(column.type) for column in relation.columns]
    lines = [[write(value) for write, value in zip(writers, row, strict=True)] for row in rows]
    if headed:
        lines.insert(0, list(relation.column_names))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            if quoted:
                csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(lines)
            else:
                file.writelines(f"{_line(fields, delimiter, relation)}\n" for fields in lines)
    except OSError as error:
        raise DataError(f"the rows of {relation.name!r} cannot be written to {path}: {error.strerror}") from None
    return path


def _writer(kind: Type) -> Callable[[Any], str]:
    return lambda value: "" if value is None else kind.to_text(value)


def _line(fields: Sequence[str], delimiter: str, relation: Relation) -> str:
    for field in fields:
        if delimiter in field or "\n" in field:
            raise DataError(
                f"{field!r} of {relation.name!r} has a delimiter or the end of a line in it",
                hint="with rfc4180=true it is written in quotes",
            )
    return delimiter.join(fields) if fields else "()"
