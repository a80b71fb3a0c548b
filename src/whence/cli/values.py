"""How values are written on the command line."""

from __future__ import annotations

import datetime
import re

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
