"""BINARY: bytes, in the order of their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whence.model.types.base import Converter, MisfitError, Type, a_class, cast_failure


class BinaryType(Type):
    def check(self, value: object) -> bytes:
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value)
        hint = "encode() it" if isinstance(value, str) else None
        raise MisfitError(f"it is {a_class(value)}, not bytes", hint)

    def is_plain(self, value: object) -> bool:
        return type(value) is bytes

    def are_plain(self, values: Sequence[bytes]) -> bool:  # noqa: ARG002 - bytes are bytes
        return True

    def to_text(self, value: bytes) -> str:
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise cast_failure(value, self, " as a STRING: it is no text in UTF-8") from None

    def from_literal(self, text: str) -> bytes | None:
        try:
            return bytes.fromhex(text)
        except ValueError:
            return None

    def to_sql(self, value: bytes) -> str:
        return f"X'{value.hex().upper()}'"

    def to_datalog_element(self, value: bytes) -> str:
        return f'BINARY "{value.hex().upper()}"'

    def cast_from(self, source: Type) -> Converter | None:
        return str.encode if source.python is str else None

    def to_sqlite(self, value: bytes) -> str:
        return value.hex()

    def from_sqlite(self, value: Any) -> bytes:
        return bytes.fromhex(value)

    def spark_bytes(self, value: bytes) -> bytes:
        return value


BINARY = BinaryType(
    "BINARY",
    python=bytes,
    arrow_name="binary",
    spark_name="BinaryType",
    sqlglot=("BINARY",),
    cast_functions=("binary",),
    literal_hint='like BINARY "1F8B"',
)
