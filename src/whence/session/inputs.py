"""`.input` directives: which file a relation's rows come from, and how it is written."""

from __future__ import annotations

from pathlib import Path

from whence.errors import UnsupportedError, did_you_mean
from whence.model.program import Directive
from whence.model.schema import Relation
from whence.model.types import Row
from whence.sources.csv import read_csv

# `header` is ours, the others are Soufflé's.
PARAMETERS = ("IO", "filename", "delimiter", "header", "headers", "rfc4180")
TRUTHS = {"true": True, "false": False}


def load_input(directive: Directive, relation: Relation, directory: Path) -> list[Row]:
    """The rows of the file that the directive names.

    As in Soufflé, the file is `<relation>.facts`, separated by tabs, without a header, unless the directive says
    otherwise; a `.csv` file is separated by commas.
    """
    given = {name.lower(): value for name, value in directive.parameters}
    for name, value in directive.parameters:
        if name.lower() not in map(str.lower, PARAMETERS):
            raise UnsupportedError(
                f".input has no parameter {name!r}",
                span=directive.span,
                hint=did_you_mean(name, PARAMETERS) or f"its parameters are {', '.join(PARAMETERS)}",
            )
        if name.lower() == "io" and value != "file":
            raise UnsupportedError(f".input reads files only, not IO={value}", span=directive.span)
    path = directory / given.get("filename", f"{relation.name}.facts")
    delimiter = given.get("delimiter", "," if path.suffix.lower() == ".csv" else "\t")
    if delimiter == "\\t":
        delimiter = "\t"
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise UnsupportedError(f"a delimiter is one character, not {delimiter!r}", span=directive.span)
    header = given.get("header", given.get("headers", "false")).lower()
    if header not in TRUTHS:
        raise UnsupportedError(f"header is true or false, not {header!r}", span=directive.span)
    return read_csv(path, relation, delimiter=delimiter, header=TRUTHS[header])
