"""The files that `.output` writes: a row is a line, its fields between tabs, as Soufflé writes and reads them."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from whence.errors import DataError, UnsupportedError, did_you_mean
from whence.model.program import Directive
from whence.model.schema import Relation
from whence.model.types import Row, Type
from whence.sources.source import file_below

# Soufflé's.
PARAMETERS = ("IO", "filename", "delimiter", "headers", "rfc4180")
_TRUTHS = {"true": True, "false": False}


def write_output(directive: Directive, relation: Relation, rows: Iterable[Row], directory: Path) -> Path:
    """Write the rows into the file that an `.output` names, below the directory, and tell its path."""
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
    quoted, headed = (_TRUTHS.get(given.get(name, "false").lower(), False) for name in ("rfc4180", "headers"))
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
