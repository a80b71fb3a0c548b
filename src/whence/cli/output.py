"""Values, tables and answers on a terminal: aligned and coloured there, plain when piped, or JSON."""

from __future__ import annotations

import datetime
import json
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Protocol

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from whence.functions.widening import is_number
from whence.model.schema import Column
from whence.model.types import Row

LONGEST_CELL = 60

# Characters that would break the line, or speak to the terminal instead of the reader.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def written(value: object) -> str:
    """A value as text, the way Spark SQL shows it.

    >>> written(None), written(True), written((1, "a"))
    ('NULL', 'true', '[1, a]')
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case datetime.datetime():
            return value.isoformat(" ")
        case tuple():
            return f"[{', '.join(map(written, value))}]"
    return str(value)


def cell(value: object) -> str:
    """A value as it fits into one cell of a table."""
    text = written(value)
    shortened = text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), shortened)


def plain(value: object) -> object:
    """A value as JSON has it. Decimals keep their digits, and times their form, as strings."""
    match value:
        case None | str() | int() | float():
            return value
        case tuple():
            return [plain(element) for element in value]
    return written(value)


INDENT = "  "
# The sign of a row that left or came, and its colour.
SIGNS = {"-": "red", "+": "green"}


def amount(number: int, noun: str) -> str:
    """`no rows`, `1 row`, `1,369 rows`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}" if number else f"no {noun}s"


def print_rows(console: Console, columns: Sequence[Column], rows: Sequence[Row]) -> None:
    header, *lines = _aligned(columns, [column.name for column in columns], rows)
    _write(console, INDENT + header, "bold")
    for line in lines:
        _write(console, INDENT + line)


def print_changes(console: Console, columns: Sequence[Column], changes: Sequence[tuple[str, Row]]) -> None:
    """A line for each row that left (-) or came (+)."""
    header, *lines = _aligned(columns, [column.name for column in columns], [row for _, row in changes])
    _write(console, f"{INDENT}  {header}", "bold")
    for (sign, _), line in zip(changes, lines, strict=True):
        _write(console, f"{INDENT}{sign} {line}", SIGNS[sign])


def print_text(console: Console, text: str) -> None:
    """A program or a statement, set apart from what is said about it."""
    for line in text.splitlines():
        _write(console, INDENT * 2 + line, "cyan")


def _write(console: Console, line: str, style: str = "") -> None:
    # Never wrapped or cut: a terminal or a pager does that better, and a pipe does not want it.
    console.print(Text(line.rstrip(), style=style), soft_wrap=True)


def _aligned(columns: Sequence[Column], header: Sequence[str], rows: Sequence[Row]) -> Iterator[str]:
    table = [header, *([cell(value) for value in row] for row in rows)]
    widths = [max(map(cell_len, texts)) for texts in zip(*table, strict=True)]
    for line in table:
        cells = []
        for text, width, column in zip(line, widths, columns, strict=True):
            padding = " " * (width - cell_len(text))
            cells.append(padding + text if is_number(column.type) else text + padding)
        yield INDENT.join(cells)


# By how a line begins, without the lines of a tree before it.
_STYLES = {
    "+ ": "green",
    "- ": "red",
    "missing: ": "yellow",
    "blocked by: ": "red",
    "is false: ": "red",
    "gives: ": "yellow",
    "holds: ": "green",
    "by ": "cyan",
    "of ": "cyan",
    "at ": "dim",
    "or ": "green",
}
_TREE = " │├└─"


class PrintedAnswer(Protocol):
    def json(self) -> dict[str, object]: ...


def show(answer: PrintedAnswer, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(answer.json(), ensure_ascii=False) + "\n")
    else:
        print_lines(Console(highlight=False, emoji=False, markup=False), str(answer))


def print_lines(console: Console, text: str) -> None:
    for line in text.splitlines():
        begin = line.lstrip(_TREE)
        style = next((style for start, style in _STYLES.items() if begin.startswith(start)), "")
        # Never wrapped or cut: a terminal or a pager does that better, and a pipe does not want it.
        console.print(Text(line, style=style), soft_wrap=True)
