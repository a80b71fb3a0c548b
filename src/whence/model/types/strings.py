"""STRING and BOOLEAN."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from whence.model.types.base import NUMERIC, Converter, MisfitError, Type, Value, a_class, reading

_DATALOG_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}
_DATALOG_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]')
_SQL_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r"})

_TRUE = frozenset(("t", "true", "y", "yes", "1"))
_FALSE = frozenset(("f", "false", "n", "no", "0"))


class StringType(Type):
    def check(self, value: object) -> str:
        if not isinstance(value, str):
            hint = "decode() it" if isinstance(value, bytes) else "str() makes it one"
            raise MisfitError(f"it is {a_class(value)}, not a string", hint)
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise MisfitError("it contains half of a surrogate pair, which is no character") from None
        # A subclass, such as an enumeration, may print itself as something else than it is.
        return value if type(value) is str else str.__str__(value)

    def is_plain(self, value: object) -> bool:
        return type(value) is str and value.isascii()

    def are_plain(self, values: Sequence[str]) -> bool:
        return all(map(str.isascii, values))

    def from_literal(self, text: str) -> str:
        return text

    def to_sql(self, value: str) -> str:
        return f"'{value.translate(_SQL_ESCAPES)}'"

    def to_datalog_element(self, value: str) -> str:
        return datalog_string(value)

    def cast_from(self, source: Type) -> Converter:
        return source.to_text

    def spark_bytes(self, value: str) -> bytes:
        return value.encode()


class BooleanType(Type):
    has_ordinal = True

    def check(self, value: object) -> bool:
        if isinstance(value, bool):
            return value
        raise MisfitError(f"it is {a_class(value)}, not True or False")

    def is_plain(self, value: object) -> bool:
        return type(value) is bool

    def are_plain(self, values: Sequence[bool]) -> bool:  # noqa: ARG002 - a bool is a bool
        return True

    def to_text(self, value: bool) -> str:
        return "true" if value else "false"

    def from_literal(self, text: str) -> bool | None:
        return {"true": True, "false": False}.get(text.lower())

    def to_sql(self, value: bool) -> str:
        return "TRUE" if value else "FALSE"

    def to_datalog_element(self, value: bool) -> str:
        return self.to_text(value)

    def cast_from(self, source: Type) -> Converter | None:
        if source.python is str:
            return reading(_read_boolean, self)
        return bool if source.python in NUMERIC else None

    def ordinal(self, value: bool) -> int:
        return int(value)

    def to_sqlite(self, value: bool) -> int:
        return int(value)

    def from_sqlite(self, value: Any) -> bool:
        return bool(value)

    def spark_bytes(self, value: bool) -> bytes:
        return value.to_bytes(4, "little")


def datalog_string(text: str) -> str:
    escaped = _DATALOG_ESCAPED.sub(lambda found: _DATALOG_ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04x}", text)
    return f'"{escaped}"'


def _read_boolean(text: str) -> Value:
    word = text.lower()
    return True if word in _TRUE else False if word in _FALSE else None


STRING = StringType(
    "STRING",
    python=str,
    arrow_name="string",
    spark_name="StringType",
    sqlglot=("TEXT",),
    souffle=("SYMBOL",),
    stands_for=("VARCHAR", "CHAR"),
    cast_functions=("string",),
)
BOOLEAN = BooleanType(
    "BOOLEAN",
    python=bool,
    arrow_name="bool_",
    spark_name="BooleanType",
    sqlite="INTEGER",
    sqlglot=("BOOLEAN",),
    cast_functions=("boolean",),
    literal_hint="true or false",
)
