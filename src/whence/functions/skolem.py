"""Skolem values: `#f(a,"b c",3)`, a string that shows what it was made from.

Different functions or arguments give different strings, so the string is the identity of what it stands for.
"""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Iterable

from whence.model.types import DOUBLE, Value
from whence.model.types.times import timestamp_text

_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*", re.ASCII)
_RESERVED = frozenset(("NULL", "true", "false"))
_OPENING = re.compile(r"#\w+\(")
_QUOTED_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|["()]', re.DOTALL)


def skolem_value(function: str, arguments: Iterable[Value]) -> str:
    return f"#{function}({','.join(map(_written, arguments))})"


def _written(value: Value) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case str():
            return value if _stands_unquoted(value) else _quoted(value)
        case float():
            return DOUBLE.to_text(value)
        case decimal.Decimal():
            # Marked as Spark marks decimals; 1.5 and 1.50 are the same value and must be the same text.
            return f"{format(value.normalize(_EXACT), 'f')}BD"
        case datetime.datetime():
            return timestamp_text(value)
        case datetime.date():
            return value.isoformat()
        case tuple():
            return f"[{','.join(map(_written, value))}]"
    return str(value)


_EXACT = decimal.Context(prec=100)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _stands_unquoted(text: str) -> bool:
    """Words do, and Skolem values in Skolem values: quoting those would double their length at every level."""
    if _WORD.fullmatch(text):
        return text not in _RESERVED
    return _OPENING.match(text) is not None and _closes_at_end(text)


def _closes_at_end(text: str) -> bool:
    """Whether the first bracket outside of quotes is closed by the last character, and by none before."""
    depth = 0
    for found in _QUOTED_OR_BRACKET.finditer(text):
        part = found.group()
        if part == "(":
            depth += 1
        elif part == ")":
            depth -= 1
            if depth == 0:
                return found.end() == len(text)
        elif part == '"':
            return False  # a quote that is never closed
    return False
