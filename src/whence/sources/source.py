"""Where rows come from: what a source is, and the registry that finds the source of what a user hands over.

A new kind of rows is a file with a class, and a line in one of the two tables here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from whence.errors import UnsupportedError, did_you_mean
from whence.model.file_options import OPTIONS, FileOptions, file_options
from whence.model.program import Directive
from whence.model.schema import Relation
from whence.model.types import Row
from whence.sources.folders import FORMATS, ParquetFile, file_source
from whence.sources.rows import Frame, RowSource, check_rows, frame_source, no_rows, row_source
from whence.sources.text_files import CsvFile, FactsFile


class Source(Protocol):
    """Rows that come from outside."""

    def rows(self, relation: Relation) -> Iterable[Sequence[object]]:
        """Them, in the order of the relation's columns. Whether the values fit is checked by others."""

    def place(self, index: int) -> str:
        """What a message calls the row at that index: `rows[3]`, `people.csv:7`."""


# What makes a source of an object that a program hands over, or None: the first that can, does.
OBJECTS: list[Callable[[object], Source | None]] = [frame_source, row_source]

# What reads a file whose name ends so, beside those that are known: CSV, Parquet, JSON lines, and Soufflé's facts.
FILES: dict[str, Callable[[Path], Source]] = {}

# The table property that names a file to load the first rows from.
PROPERTY = "source"
# Of `.input`: `header` is ours, the others are Soufflé's.
PARAMETERS = ("IO", "filename", "delimiter", "header", "headers", "rfc4180")
TRUTHS = {"true": True, "false": False}
# Said of the input of relations that have rules as well; nobody writes it.
OPTIONAL = "$optional"


def read_source(source: Source, relation: Relation) -> Sequence[Row]:
    """The rows, each of them checked; raises DataError for the first that does not fit."""
    if isinstance(source, ParquetFile):
        return read_rows(source.table(relation), relation)
    return check_rows(source.rows(relation), relation, source.place)


def read_rows(rows: object, relation: Relation) -> Sequence[Row]:
    """The rows of an object that a program hands over, each of them checked."""
    for make in OBJECTS:
        source = make(rows)
        if source is not None:
            whole = source.whole(relation) if isinstance(source, Frame | RowSource) else None
            return read_source(source, relation) if whole is None else whole
    raise no_rows(rows, relation)


def table_source(relation: Relation, directory: Path) -> Source | None:
    """The file that a table's property names, if it has one."""
    name = dict(relation.properties).get(PROPERTY)
    if name is None:
        return None
    path = directory / name
    if path.suffix.lower() in FILES:
        return FILES[path.suffix.lower()](path)
    given = {key: value for key, value in relation.properties if key in OPTIONS}
    return file_source(path, file_options(given))


def notices_of(source: Source) -> Sequence[str]:
    """What a source left out of its rows, after they were read."""
    found: Sequence[str] = getattr(source, "notices", ())
    return found


def input_source(directive: Directive, relation: Relation, directory: Path, *, outside: bool) -> Source | None:
    """The file that an `.input` names, below the directory unless others are allowed.

    None where the file is not there and need not be, since the relation has rows from its rules.

    As in Soufflé, the file is `<relation>.facts`, separated by tabs, without a header, unless the directive says
    otherwise. With `header` it is CSV as tables in SQL read it: a `.csv` file is separated by commas, fields may be
    quoted, and the header says which column is which. With Soufflé's `headers` the first line is passed over.
    """
    given = {name.lower(): value for name, value in directive.parameters}
    for name, value in directive.parameters:
        if name.lower() not in (*map(str.lower, PARAMETERS), OPTIONAL):
            raise UnsupportedError(
                f".input has no parameter {name!r}",
                span=directive.span,
                hint=did_you_mean(name, PARAMETERS) or f"its parameters are {', '.join(PARAMETERS)}",
            )
        if name.lower() == "io" and value != "file":
            raise UnsupportedError(f".input reads files only, not IO={value}", span=directive.span)
    path = file_below(directory, given.get("filename", f"{relation.name}.facts"), directive, outside=outside)
    if _is_true(given.get(OPTIONAL)) and not path.exists():
        return None
    if path.suffix.lower() in FILES:
        if given.keys() - {"io", "filename"}:
            raise UnsupportedError(f"of a {path.suffix} file .input takes only the name", span=directive.span)
        return FILES[path.suffix.lower()](path)
    if path.suffix.lower() in FORMATS and path.suffix.lower() != ".csv":
        if given.keys() - {"io", "filename"}:
            raise UnsupportedError(f"of a {path.suffix} file .input takes only the name", span=directive.span)
        return file_source(path, FileOptions())
    header, skip_header, quoted = (_truth(directive, given, name) for name in ("header", "headers", "rfc4180"))
    commas = quoted or (header and path.suffix.lower() == ".csv")
    delimiter = given.get("delimiter", "," if commas else "\t")
    if delimiter == "\\t":
        delimiter = "\t"
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise UnsupportedError(f"a delimiter is one character, not {delimiter!r}", span=directive.span)
    if header:
        return CsvFile(path, delimiter=delimiter)
    return FactsFile(path, delimiter=delimiter, quoted=quoted, skip_header=skip_header)


def file_below(directory: Path, name: str, directive: Directive, *, outside: bool) -> Path:
    """A file that a program reads or writes; raises where it must not."""
    path = directory / name
    if not outside and not path.resolve().is_relative_to(directory.resolve()):
        raise UnsupportedError(
            f"{name} is not below {directory}, where files of this program are",
            span=directive.span,
            hint="db.rules(..., outside=True) allows other places",
        )
    if path.exists() and not path.is_file():
        raise UnsupportedError(f"{path} is a directory or a device, and no file", span=directive.span)
    return path


def _is_true(value: str | None) -> bool:
    return value == "true"


def _truth(directive: Directive, given: Mapping[str, str], name: str) -> bool:
    value = given.get(name, "false").lower()
    if value not in TRUTHS:
        raise UnsupportedError(f"{name} is true or false, not {value!r}", span=directive.span)
    return TRUTHS[value]
