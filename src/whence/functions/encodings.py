"""Text as bytes and back: character sets, and whether bytes are UTF-8 at all."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable

from whence.errors import EvaluationError
from whence.functions.digests import BYTES
from whence.functions.resolve import TEXT, Builtin, Parameter, always, plain, takes
from whence.model.types import BINARY, BOOLEAN, NULL, STRING

# What Java calls them. Its UTF-16 begins with a byte order mark, the larger byte first, and its UTF-32 has none.
_CHARSETS = {
    "US-ASCII": "ascii",
    "ISO-8859-1": "latin-1",
    "UTF-8": "utf-8",
    "UTF-16BE": "utf-16-be",
    "UTF-16LE": "utf-16-le",
    "UTF-16": "utf-16-be",
    "UTF-32": "utf-32-be",
}
_MARK = b"\xfe\xff"
_TEXT_OR_BYTES = Parameter(
    "a STRING or a BINARY",
    lambda given: given if given in (STRING, BINARY) else STRING if given == NULL else None,
    STRING,
)


def _codec(charset: str) -> str:
    found = _CHARSETS.get(charset.upper())
    if found is None:
        raise EvaluationError(
            f"there is no character set {charset!r} here", hint=f"there are {', '.join(sorted(_CHARSETS))}"
        )
    return found


def _encode(text: str, charset: str) -> bytes:
    try:
        encoded = text.encode(_codec(charset))
    except UnicodeEncodeError:
        raise EvaluationError(f"{text!r} has characters that {charset} has not") from None
    return _MARK + encoded if charset.upper() == "UTF-16" and text else encoded


def _decode(data: bytes, charset: str) -> str:
    codec = _codec(charset)
    if charset.upper() == "UTF-16" and data[:2] in (_MARK, _MARK[::-1]):
        codec = "utf-16"
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        raise EvaluationError(f"X'{data.hex().upper()}' is no text in {charset}") from None


def _unhex(text: str) -> bytes:
    try:
        if (text.isascii() and text.isalnum()) or not text:
            return bytes.fromhex(text if len(text) % 2 == 0 else f"0{text}")
    except ValueError:
        pass
    raise EvaluationError(f"{text!r} has characters other than 0-9 and A-F")


def _unbase64(text: str) -> bytes:
    """Spaces do not count; signs for filling up may be left out, and nothing follows them, not even a space."""
    if re.search(r"=\s", text):
        raise EvaluationError(f"{text!r} is not in BASE64")
    packed = "".join(text.split())
    signs = packed.rstrip("=")
    filling = len(packed) - len(signs)
    if (filling and (filling > 2 or len(packed) % 4)) or len(signs) % 4 == 1:
        raise EvaluationError(f"{text!r} is not in BASE64")
    try:
        return base64.b64decode(signs + "=" * (-len(signs) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise EvaluationError(f"{text!r} is not in BASE64") from None


_FORMATS: dict[str, Callable[[str], bytes]] = {
    "hex": _unhex,
    "utf-8": str.encode,
    "utf8": str.encode,
    "base64": _unbase64,
}


def _to_binary(text: str, written: str = "hex") -> bytes:
    read = _FORMATS.get(written.lower())
    if read is None:
        raise EvaluationError(f"to_binary() knows no format {written!r}", hint=f"there are {', '.join(_FORMATS)}")
    return read(text)


def _is_valid(value: str | bytes) -> bool:
    return isinstance(value, str) or _validated(value) is not None


def _validated(value: str | bytes) -> str | None:
    try:
        return value if isinstance(value, str) else value.decode()
    except UnicodeDecodeError:
        return None


def _validate(value: str | bytes) -> str:
    text = _validated(value)
    if text is None:
        raise EvaluationError(f"{value!r} is no text in UTF-8")
    return text


def _make_valid(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode(errors="replace")


ENCODINGS = (
    Builtin("encode", takes(TEXT, TEXT, returns=BINARY), plain(_encode)),
    Builtin("decode_bytes", takes(BYTES, TEXT, returns=STRING), plain(_decode)),
    Builtin("to_binary", takes(TEXT, TEXT, optional=1, returns=BINARY), plain(_to_binary)),
    Builtin("is_valid_utf8", takes(_TEXT_OR_BYTES, returns=BOOLEAN), plain(_is_valid)),
    Builtin("validate_utf8", takes(_TEXT_OR_BYTES, returns=STRING), plain(_validate)),
    Builtin("try_validate_utf8", takes(_TEXT_OR_BYTES, returns=STRING), plain(_validated), nullable=always),
    Builtin("make_valid_utf8", takes(_TEXT_OR_BYTES, returns=STRING), plain(_make_valid)),
)
