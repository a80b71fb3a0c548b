"""How the writer spells names and constants."""

from __future__ import annotations

import datetime
import decimal
import re

from whence.functions.text import timestamp_text
from whence.lang.datalog.literals import smallest_decimal
from whence.model.types import BIGINT, DOUBLE, NULL, Type, Value

_PLAIN = re.compile(r"(?:[^\W\d]|\?)[\w?$]*")
# Words that the grammar or the dialect takes for something else in one place or another.
_RESERVED = frozenset(
    "_ true false null nil and or not as distinct nullable bag key partition ttl window property".split()
)
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]')


def name(text: str) -> str:
    return text if _PLAIN.fullmatch(text) and text.lower() not in _RESERVED else quoted_name(text)


def quoted_name(text: str) -> str:
    return f"`{text.replace('`', '``')}`"


def string(text: str) -> str:
    escaped = _ESCAPED.sub(lambda found: _ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04x}", text)
    return f'"{escaped}"'


def constant(value: Value, of: Type) -> str:
    """A constant that is read back with its type, where need be by its type's name."""
    match value:
        case None:
            return "null" if of == NULL else f"null::{of}"
        case tuple():
            return f"{_bare(value)}::{of}"
        case bool():
            return _bare(value)
        case int() if of == BIGINT and -(2**31) <= value < 2**31:
            return f'BIGINT "{value}"'
        case int() if of == DOUBLE:
            return repr(float(value))
        case decimal.Decimal() if smallest_decimal(value) != of:
            return f"{string(format(value, 'f'))}::{of}"
    return _bare(value)


def _bare(value: Value) -> str:
    """A constant as part of an array, whose type is told once for all of them."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case str():
            return string(value)
        case decimal.Decimal():
            return f'DECIMAL "{value:f}"'
        case datetime.datetime():
            return f'TIMESTAMP "{timestamp_text(value)}"'
        case datetime.date():
            return f'DATE "{value.isoformat()}"'
    return f"[{', '.join(_bare(each) for each in value)}]"
