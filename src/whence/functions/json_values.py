"""Structs, arrays and maps as texts in JSON, as Spark writes them, and read from such texts."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from whence.errors import EvaluationError, TypeMismatchError
from whence.functions.json_texts import NOTHING, JsonNumber, JsonObject, json_quoted, json_text, read_json
from whence.functions.mathematics import finite
from whence.functions.resolve import Builtin, Evaluator, Operand, Parameter, Resolved, always, check_arity, takes
from whence.functions.widening import is_floating, is_integer, is_number
from whence.model.terms import Call
from whence.model.types import (
    BINARY,
    BOOLEAN,
    DATE,
    NULL,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    IntegerType,
    IntervalType,
    MapType,
    StructType,
    Type,
    Value,
    has_null,
)
from whence.model.types.base import cast
from whence.model.types.decimals import rescale


def _is_written(kind: Type) -> bool:
    """Whether the keys of all maps in it are told as they are."""
    if isinstance(kind, MapType) and not (kind.key in (STRING, BOOLEAN) or is_number(kind.key)):
        return False
    return all(map(_is_written, kind.inner))


_NESTED = Parameter(
    "a STRUCT, an ARRAY or a MAP, with texts or numbers for keys",
    lambda given: given if given.inner and not has_null(given) and _is_written(given) else None,
)


def _to_json(resolved: Resolved) -> Callable[[Any], str]:
    kind = resolved.arguments[0]
    return lambda value: _written(value, kind)


def _written(value: Any, kind: Type) -> str:
    """A value in JSON. A field that is NULL is left out of a struct; elsewhere it is null."""
    if value is None:
        return "null"
    match kind:
        case StructType(fields=fields):
            there = [(name, each, inner) for (name, inner), each in zip(fields, value, strict=True) if each is not None]
            return f"{{{','.join(f'{json_quoted(name)}:{_written(each, inner)}' for name, each, inner in there)}}}"
        case ArrayType(element=element):
            return f"[{','.join(_written(each, element) for each in value)}]"
        case MapType(key=key, value=inner):
            pairs = (f"{json_quoted(key.to_text(name))}:{_written(each, inner)}" for name, each in value)
            return f"{{{','.join(pairs)}}}"
        case DecimalType():
            return str(value)
    if kind == TIMESTAMP:
        return f'"{value.isoformat(timespec="milliseconds")}"'
    if kind == BINARY:
        return f'"{base64.b64encode(value).decode()}"'
    is_text = kind in (STRING, DATE) or isinstance(kind, IntervalType)
    return json_quoted(kind.to_text(value)) if is_text else kind.to_text(value)


def _resolve_from_json(call: Call, types: tuple[Type, ...]) -> Resolved:
    """from_json(x, a NULL of the type that is wanted)."""
    check_arity(call, 2, 2)
    text, wanted = types
    if text not in (STRING, NULL):
        raise TypeMismatchError(f"from_json() reads a STRING, not {text}", span=call.span)
    if not wanted.inner or not _has_text_keys(wanted):
        raise TypeMismatchError(
            f"from_json() makes a STRUCT, an ARRAY or a MAP of texts, not {wanted}", span=call.arguments[1].span
        )
    return Resolved(wanted, (STRING, wanted))


def _has_text_keys(kind: Type) -> bool:
    return (not isinstance(kind, MapType) or kind.key == STRING) and all(map(_has_text_keys, kind.inner))


class _MisfitError(Exception):
    """A value that is none of the type that is wanted."""


def _from_json(resolved: Resolved) -> Callable[..., Evaluator]:
    wanted = resolved.result

    def build(operand: Operand, _: Operand) -> Evaluator:
        def evaluate(environment: Mapping[str, Value]) -> Value:
            text: Any = operand.evaluate(environment)
            return None if text is None or not text.strip() else _whole(text, wanted)

        return evaluate

    return build


def _whole(text: str, wanted: Type) -> Value:
    """What a text says. Of a struct that is none, all fields are NULL."""
    found = read_json(text)
    if isinstance(wanted, ArrayType) and isinstance(wanted.element, StructType) and isinstance(found, JsonObject):
        found = [found]
    try:
        if found is NOTHING or found is None:
            raise _MisfitError
        return _read(found, wanted)
    except _MisfitError:
        return (None,) * len(wanted.inner) if isinstance(wanted, StructType) else None


def _read(found: Any, wanted: Type) -> Value:
    if found is None:
        return None
    match wanted, found:
        case StructType(fields=fields), JsonObject():
            return tuple(_field(found.values(name), kind) for name, kind in fields)
        case ArrayType(element=element), list():
            return tuple(_read(each, element) for each in found)
        case MapType(value=value), JsonObject():
            return tuple({name: _read(each, value) for name, each in found.pairs}.items())
    if wanted.inner:
        raise _MisfitError
    return _scalar(found, wanted)


def _field(found: list[Any], wanted: Type) -> Value:
    """The last value of a name. One that does not fit is NULL, and takes no other field with it."""
    try:
        return _read(found[-1], wanted) if found else None
    except _MisfitError:
        return None


def _scalar(found: Any, wanted: Type) -> Value:
    if wanted == STRING:
        return found if isinstance(found, str) else json_text(found)
    if wanted == BOOLEAN and isinstance(found, bool):
        return found
    if isinstance(found, JsonNumber):
        return _number(found.words, wanted)
    if not isinstance(found, str) or is_integer(wanted) or is_floating(wanted) or wanted == BOOLEAN:
        raise _MisfitError
    if wanted == BINARY:
        return _bytes(found)
    convert = cast(STRING, wanted)
    assert convert is not None
    try:
        return convert(found)
    except EvaluationError:
        raise _MisfitError from None


def _number(words: str, wanted: Type) -> Value:
    if is_floating(wanted):
        return wanted.accept(finite(float(words), lambda: words))
    if isinstance(wanted, DecimalType):
        rounded = rescale(wanted)(Decimal(words))
        if rounded is not None:
            return rounded
    elif isinstance(wanted, IntegerType) and words.lstrip("-").isdigit() and int(words) in wanted.limits:
        return int(words)
    raise _MisfitError


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise _MisfitError from None


JSON_VALUES = (
    Builtin("to_json", takes(_NESTED, returns=STRING), _to_json),
    Builtin("from_json", _resolve_from_json, _from_json, strict=False, nullable=always),
)
