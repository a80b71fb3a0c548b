"""Digests, checksums and other ways to write bytes."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import zlib

from whence.errors import EvaluationError, shown
from whence.functions.resolve import COUNT, Builtin, Parameter, always, plain, takes
from whence.functions.widening import is_integer
from whence.model.types import BIGINT, BINARY, NULL, STRING, Type

BYTES = Parameter("a BINARY or a STRING", lambda given: BINARY if given in (BINARY, STRING, NULL) else None, BINARY)
_LENGTHS = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}


def _hex_argument(given: Type) -> Type | None:
    if is_integer(given):
        return BIGINT
    return given if given in (STRING, BINARY) else STRING if given == NULL else None


def _hex(value: int | str | bytes) -> str:
    if isinstance(value, int):
        return f"{value % (1 << 64):X}"
    return (value.encode() if isinstance(value, str) else value).hex().upper()


def _unhex(text: str) -> bytes | None:
    """An odd number of digits has a zero before it. What is no number at all is NULL, as in Spark."""
    try:
        return binascii.unhexlify(text if len(text) % 2 == 0 else f"0{text}")
    except (binascii.Error, ValueError):
        return None


def _sha2(data: bytes, bits: int) -> str | None:
    name = _LENGTHS.get(bits)
    return None if name is None else hashlib.new(name, data).hexdigest()


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _sha1(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


_HMAC = {"SHA-1": "sha1", "SHA-224": "sha224", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512"}
_HMAC["MD5"] = "md5"
_HMAC |= {name.replace("-", ""): digest for name, digest in _HMAC.items()}


def _hmac(key: bytes, message: bytes, algorithm: str = "SHA-256") -> bytes:
    if not key:
        raise EvaluationError("hmac() takes a key of at least one byte")
    digest = _HMAC.get(algorithm.upper())
    if digest is None:
        raise EvaluationError(f"hmac() knows no {shown(algorithm)}", hint=f"there are {', '.join(list(_HMAC)[:6])}")
    return hmac.digest(key, message, digest)


def _from_base64(text: str) -> bytes:
    """As MIME has it: characters that are none of the alphabet's do not count, and signs at the end may be missing."""
    data, ending, rest = re.sub("[^A-Za-z0-9+/=]", "", text).partition("=")
    if len(data) % 4 == 1 or rest.strip("=") or (ending and (len(data) + 1 + len(rest)) % 4):
        raise EvaluationError(f"{shown(text)} is not in base 64")
    return base64.b64decode(data + "=" * (-len(data) % 4))


_TEXT = Parameter("a STRING", lambda given: STRING if given in (STRING, NULL) else None, STRING)

DIGESTS = (
    Builtin(
        "hex", takes(Parameter("a number, a STRING or a BINARY", _hex_argument, BIGINT), returns=STRING), plain(_hex)
    ),
    Builtin("unhex", takes(_TEXT, returns=BINARY), plain(_unhex), nullable=always),
    Builtin("md5", takes(BYTES, returns=STRING), plain(_md5)),
    Builtin("sha1", takes(BYTES, returns=STRING), plain(_sha1)),
    Builtin("sha2", takes(BYTES, COUNT, returns=STRING), plain(_sha2), nullable=always),
    Builtin("hmac", takes(BYTES, BYTES, _TEXT, optional=1, returns=BINARY), plain(_hmac)),
    Builtin("crc32", takes(BYTES, returns=BIGINT), plain(zlib.crc32)),
    Builtin("base64", takes(BYTES, returns=STRING), plain(lambda data: base64.b64encode(data).decode())),
    Builtin("unbase64", takes(_TEXT, returns=BINARY), plain(_from_base64)),
)
