"""The text of a program as it is handed over."""

from __future__ import annotations

from whence.errors import ParseError, TypeMismatchError
from whence.sources.text_files import decode


def program_text(text: object, name: str) -> str:
    """The text of a program, which must not be empty."""
    if isinstance(text, bytes):
        text = decode(text, name, ParseError)
    if not isinstance(text, str):
        raise TypeMismatchError(f"a program is text, not a {type(text).__name__}")
    if not text.strip():
        raise ParseError("the program is empty")
    return text
