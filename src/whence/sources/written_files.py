"""Rows that are written to a file: all of them, or none."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from uuid import uuid4

from whence.errors import DataError, UnsupportedError
from whence.model.file_options import FileOptions
from whence.sources.folders import FORMATS

if TYPE_CHECKING:
    import pyarrow as pa


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
