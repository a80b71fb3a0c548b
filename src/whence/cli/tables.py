"""Relations and their changes as aligned text: coloured on a terminal, plain when piped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from whence.cli.values import cell
from whence.model.schema import Column
from whence.model.types import BIGINT, DOUBLE, INT, DecimalType, Row

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
            cells.append(padding + text if _is_number(column) else text + padding)
        yield INDENT.join(cells)


def _is_number(column: Column) -> bool:
    return column.type in (INT, BIGINT, DOUBLE) or isinstance(column.type, DecimalType)
