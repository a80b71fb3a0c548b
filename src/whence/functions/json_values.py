"""Structs, arrays and maps as texts in JSON, as Spark writes them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from whence.functions.resolve import Builtin, Parameter, Resolved, takes
from whence.model.types import (
    BINARY,
    DATE,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    StructType,
    Type,
    has_null,
)

_NESTED = Parameter("a STRUCT, an ARRAY or a MAP", lambda given: given if given.inner and not has_null(given) else None)


def _to_json(resolved: Resolved) -> Callable[[Any], str]:
    kind = resolved.arguments[0]
    return lambda value: written(value, kind)


def written(value: Any, kind: Type) -> str:
    """A value in JSON. A field that is NULL is left out of a struct; elsewhere it is null."""
    if value is None:
        return "null"
    match kind:
        case StructType(fields=fields):
            there = [(name, each, inner) for (name, inner), each in zip(fields, value, strict=True) if each is not None]
            return f"{{{','.join(f'{_quoted(name)}:{written(each, inner)}' for name, each, inner in there)}}}"
        case ArrayType(element=element):
            return f"[{','.join(written(each, element) for each in value)}]"
        case MapType(key=key, value=inner):
            pairs = (f"{_quoted(key.to_text(name))}:{written(each, inner)}" for name, each in value)
            return f"{{{','.join(pairs)}}}"
        case DecimalType():
            return f"{value:f}"
    if kind == TIMESTAMP:
        return f'"{value.isoformat(timespec="milliseconds")}"'
    if kind == BINARY:
        return f'"{base64.b64encode(value).decode()}"'
    return _quoted(kind.to_text(value)) if kind in (STRING, DATE) else kind.to_text(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


JSON_VALUES = (Builtin("to_json", takes(_NESTED, returns=STRING), _to_json),)
