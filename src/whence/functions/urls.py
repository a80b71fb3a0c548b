"""Parts of URLs, and texts as they are written in one."""

from __future__ import annotations

import re
from urllib.parse import quote_plus, unquote_to_bytes

from whence.errors import EvaluationError, shown
from whence.functions.resolve import TEXT, Builtin, always, plain, takes
from whence.model.types import STRING

# As in RFC 2396: scheme, authority, path, query, fragment.
_URL = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?")
_AUTHORITY = re.compile(r"(?:(.*)@)?(\[[^\]]*\]|[^:]*)(?::(\d*))?")
# What may stand in a URL as it is. Others, save letters beyond ASCII, are an error.
_LEGAL = re.compile(r"(?:[A-Za-z0-9;/?:@&=+$,_.!~*'()#\[\]-]|%[0-9A-Fa-f]{2}|[^\x00-\xa0\s])*")
_ESCAPED = re.compile(r"%(?![0-9A-Fa-f]{2})")


def _encode(text: str) -> str:
    # Java's URLEncoder keeps * and escapes ~.
    return quote_plus(text, safe="*").replace("~", "%7E")


def _decode(text: str) -> str:
    if _ESCAPED.search(text):
        raise EvaluationError(f"{shown(text)} is not encoded as in a URL")
    return unquote_to_bytes(text.replace("+", " ")).decode(errors="replace")


def _parse(url: str, part: str, key: str | None = None) -> str | None:
    found = _URL.fullmatch(url) if _LEGAL.fullmatch(url) else None
    if found is None:
        raise EvaluationError(f"{shown(url)} is no URL", hint="try_parse_url() gives NULL")
    scheme, authority, path, query, fragment = found.groups()
    if scheme is not None and authority is None and not path.startswith("/"):
        # mailto:me@host has no path, nor what follows one.
        path = query = None
    if key is not None and part != "QUERY":
        return None
    if key is not None:
        match = re.search(rf"(?:^|&){re.escape(key)}=([^&]*)", query or "")
        return match[1] if match else None
    inside = _AUTHORITY.fullmatch(authority) if authority else None
    user, host = (inside[1], inside[2]) if inside is not None else (None, None)
    return {
        "HOST": host,
        "PATH": path,
        "QUERY": query,
        "REF": fragment,
        "PROTOCOL": scheme,
        "FILE": path if query is None else f"{path}?{query}",
        "AUTHORITY": authority,
        "USERINFO": user,
    }.get(part)


URLS = (
    Builtin("url_encode", takes(TEXT, returns=STRING), plain(_encode)),
    Builtin("url_decode", takes(TEXT, returns=STRING), plain(_decode)),
    Builtin("parse_url", takes(TEXT, TEXT, TEXT, optional=1, returns=STRING), plain(_parse), nullable=always),
)
