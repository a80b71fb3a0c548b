"""Bytes that should be text."""

from __future__ import annotations

from whence.errors import WhenceError


def decode(content: bytes, name: str, error: type[WhenceError]) -> str:
    """The content as UTF-8, without a byte order mark; raises `error` with the place of the first wrong byte."""
    try:
        return content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as wrong:
        line = content.count(b"\n", 0, wrong.start) + 1
        raise error(
            f"{name}:{line}: byte 0x{content[wrong.start]:02x} at offset {wrong.start} is not UTF-8",
            hint="save the file as UTF-8",
        ) from None
