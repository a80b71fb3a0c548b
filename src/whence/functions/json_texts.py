"""Functions of texts in JSON, read as Spark's parser reads them: strictly, and several values are one too many."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from whence.functions.resolve import Builtin, Parameter, always, plain, takes
from whence.model.types import DOUBLE, INT, NULL, STRING, ArrayType

# Spark casts nothing else to it here.
_TEXT = Parameter("a STRING", lambda given: STRING if given in (STRING, NULL) else None)

_STEP = re.compile(r"\.(?P<name>[^.\[\]]+)|\[(?P<place>\d+)\]|\[\s*'(?P<quoted>[^']*)'\s*\]|(?P<every>\[\*\]|\.\*)")


class JsonNumber:
    """A number by its own words, which a text gets back as they were."""

    def __init__(self, words: str) -> None:
        self.words = words


def _unknown(word: str) -> Any:
    raise ValueError(word)


class JsonObject:
    """Names and values in their order; a name may come again."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        self.pairs = pairs

    def values(self, name: str) -> list[Any]:
        return [value for each, value in self.pairs if each == name]


_READER = json.JSONDecoder(
    parse_int=JsonNumber,
    parse_float=JsonNumber,
    parse_constant=_unknown,
    object_pairs_hook=JsonObject,
    strict=False,
)
NOTHING = object()


# A text in quotes of either kind, which may hold the other one.
_QUOTED = re.compile(r""""(?:[^"\\]|\\.)*"|'((?:[^'\\]|\\.)*)'""", re.DOTALL)
_ESCAPED = re.compile(r"""\\'|\"""")


def _double_quoted(found: re.Match[str]) -> str:
    if found[1] is None:
        return found[0]
    inside = _ESCAPED.sub(lambda sign: "'" if sign[0] == "\\'" else '\\"', found[1])
    return f'"{inside}"'


def read_json(text: str) -> Any:
    """The first value in the text, or NOTHING."""
    if "'" in text:
        text = _QUOTED.sub(_double_quoted, text)
    try:
        value, _ = _READER.raw_decode(text, re.match(r"\s*", text).end())  # type: ignore[union-attr]
    except (ValueError, RecursionError):
        return NOTHING
    return value


def _array_length(text: str) -> int | None:
    value = read_json(text)
    return len(value) if isinstance(value, list) else None


def _object_keys(text: str) -> tuple[str, ...] | None:
    value = read_json(text)
    return tuple(name for name, _ in value.pairs) if isinstance(value, JsonObject) else None


def _get(text: str, path: str) -> str | None:
    """What stands at `$.a.b[0]` of a text in JSON: a text as it is, anything else in JSON again."""
    steps = _steps(path)
    value = NOTHING if steps is None else read_json(text)
    if value is NOTHING or steps is None:
        return None
    found = list(_found(value, steps))
    if not found:
        return None
    if len(found) == 1:
        only = found[0]
        # One of several texts that there could have been keeps its quotes.
        return only if isinstance(only, str) and "*" not in steps else json_text(only)
    return f"[{','.join(map(json_text, found))}]"


def _steps(path: str) -> list[str | int] | None:
    """Names, places and `*`; None for what is no path."""
    if not path.startswith("$"):
        return None
    steps: list[str | int] = []
    at = 1
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            return None
        at = step.end()
        if step["place"] is not None:
            steps.append(int(step["place"]))
        else:
            steps.append("*" if step["every"] is not None else step["name"] or step["quoted"] or "")
    return steps


def _found(value: Any, steps: list[str | int]) -> Iterator[Any]:
    if not steps:
        yield value
        return
    step, rest = steps[0], steps[1:]
    if isinstance(value, list):
        if step == "*":
            for each in value:
                yield from _found(each, rest)
        elif isinstance(step, int) and step < len(value):
            yield from _found(value[step], rest)
    elif isinstance(value, JsonObject) and isinstance(step, str) and step != "*":
        first = value.values(step)[:1]
        if first and (rest or first != [None]):
            yield from _found(first[0], rest)


def json_text(value: Any) -> str:
    if isinstance(value, JsonNumber):
        return _number(value.words)
    if isinstance(value, JsonObject):
        return f"{{{','.join(f'{json_quoted(name)}:{json_text(each)}' for name, each in value.pairs)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(json_text, value))}]"
    return json_quoted(value) if isinstance(value, str) else json.dumps(value)


def json_quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _number(words: str) -> str:
    """Whole numbers as they are, and others as the JVM writes a double."""
    if not re.search("[.eE]", words):
        return str(int(words))
    number = float(words)
    return DOUBLE.to_text(number) if math.isfinite(number) else f'"{"-" if number < 0 else ""}Infinity"'


def _field(text: str, name: str) -> str | None:
    """A field of an object: a text as it is, anything else in JSON again. Of several the last one."""
    value = read_json(text)
    found = value.values(name)[-1:] if isinstance(value, JsonObject) else []
    if not found or found[0] is None:
        return None
    return found[0] if isinstance(found[0], str) else json_text(found[0])


JSON_TEXTS = (
    Builtin("json_array_length", takes(_TEXT, returns=INT), plain(_array_length), nullable=always),
    Builtin("json_object_keys", takes(_TEXT, returns=ArrayType(STRING)), plain(_object_keys), nullable=always),
    # What json_tuple(text, a, b) has a column of for each name.
    Builtin("json_field", takes(_TEXT, _TEXT, returns=STRING), plain(_field), nullable=always),
    Builtin("get_json_object", takes(_TEXT, _TEXT, returns=STRING), plain(_get), nullable=always),
)
