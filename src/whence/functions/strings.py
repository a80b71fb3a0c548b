"""Functions of strings. Positions count characters from 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whence.errors import EvaluationError, TypeMismatchError
from whence.functions.resolve import INTEGER, TEXT, Builtin, Parameter, Resolved, plain, takes, title
from whence.functions.widening import common_type
from whence.model.terms import Call
from whence.model.types import BOOLEAN, INT, NULL, STRING, ArrayType, Type

# A repeat count of a billion is a mistake, and would take the memory of the whole process.
LONGEST_RESULT = 2**26

TEXT_OR_ARRAY = Parameter(
    "a STRING or an ARRAY",
    lambda given: STRING if given == NULL else given if given == STRING or isinstance(given, ArrayType) else None,
    STRING,
)


def _resolve_concat(call: Call, types: tuple[Type, ...]) -> Resolved:
    """Arrays join to an array; anything else is joined as text, numbers and dates included, as in Spark."""
    if any(isinstance(kind, ArrayType) for kind in types):
        common = common_type(types)
        if common is None:
            raise TypeMismatchError(
                f"{title(call.function)} joins arrays of one element type, not {', '.join(map(str, types))}",
                span=call.span,
            )
        return Resolved(common, tuple(common for _ in types))
    return Resolved(STRING, tuple(STRING for _ in types))


def _concat(resolved: Resolved) -> Callable[..., Any]:
    if resolved.result == STRING:
        return lambda *parts: "".join(parts)
    return lambda *parts: tuple(element for part in parts for element in part)


def _substring(text: str, position: int, length: int | None = None) -> str:
    if position > 0:
        start = position - 1
    elif position < 0:
        start = len(text) + position
    else:
        start = 0
    # A start before the text counts against the length: substring('abc', -5, 3) is 'a'.
    end = len(text) if length is None else start + length
    return text[max(start, 0) : max(end, 0)]


def _left(text: str, count: int) -> str:
    return text[: max(count, 0)]


def _right(text: str, count: int) -> str:
    return text[-count:] if count > 0 else ""


def _replace(text: str, search: str, replacement: str = "") -> str:
    # Python would put the replacement between all characters.
    return text.replace(search, replacement) if search else text


def _checked_length(length: int) -> int:
    if length > LONGEST_RESULT:
        raise EvaluationError(f"a string of {length} characters is too long", hint=f"at most {LONGEST_RESULT} fit")
    return length


def _repeat(text: str, count: int) -> str:
    _checked_length(len(text) * count)
    return text * count


def _padding(text: str, length: int, pad: str) -> str:
    missing = _checked_length(length) - len(text)
    return (pad * (missing // len(pad) + 1))[:missing] if missing > 0 and pad else ""


def _lpad(text: str, length: int, pad: str = " ") -> str:
    return _padding(text, length, pad) + text[: max(length, 0)]


def _rpad(text: str, length: int, pad: str = " ") -> str:
    return text[: max(length, 0)] + _padding(text, length, pad)


def _trim(text: str, characters: str = " ") -> str:
    return text.strip(characters) if characters else text


def _ltrim(text: str, characters: str = " ") -> str:
    return text.lstrip(characters) if characters else text


def _rtrim(text: str, characters: str = " ") -> str:
    return text.rstrip(characters) if characters else text


def _instr(text: str, part: str) -> int:
    return text.find(part) + 1


def _contains(text: str, part: str) -> bool:
    return part in text


STRINGS = (
    Builtin("concat", _resolve_concat, _concat),
    Builtin("lower", takes(TEXT, returns=STRING), plain(str.lower)),
    Builtin("upper", takes(TEXT, returns=STRING), plain(str.upper)),
    Builtin("length", takes(TEXT, returns=INT), plain(len)),
    Builtin("substring", takes(TEXT, INTEGER, INTEGER, optional=1, returns=STRING), plain(_substring)),
    Builtin("left", takes(TEXT, INTEGER, returns=STRING), plain(_left)),
    Builtin("right", takes(TEXT, INTEGER, returns=STRING), plain(_right)),
    Builtin("trim", takes(TEXT, TEXT, optional=1, returns=STRING), plain(_trim)),
    Builtin("ltrim", takes(TEXT, TEXT, optional=1, returns=STRING), plain(_ltrim)),
    Builtin("rtrim", takes(TEXT, TEXT, optional=1, returns=STRING), plain(_rtrim)),
    Builtin("replace", takes(TEXT, TEXT, TEXT, optional=1, returns=STRING), plain(_replace)),
    Builtin("lpad", takes(TEXT, INTEGER, TEXT, optional=1, returns=STRING), plain(_lpad)),
    Builtin("rpad", takes(TEXT, INTEGER, TEXT, optional=1, returns=STRING), plain(_rpad)),
    Builtin("repeat", takes(TEXT, INTEGER, returns=STRING), plain(_repeat)),
    Builtin(
        "reverse",
        takes(TEXT_OR_ARRAY, returns=lambda arguments: arguments[0]),
        plain(lambda sequence: sequence[::-1]),
    ),
    Builtin("instr", takes(TEXT, TEXT, returns=INT), plain(_instr)),
    Builtin("startswith", takes(TEXT, TEXT, returns=BOOLEAN), plain(str.startswith)),
    Builtin("endswith", takes(TEXT, TEXT, returns=BOOLEAN), plain(str.endswith)),
    Builtin("contains", takes(TEXT, TEXT, returns=BOOLEAN), plain(_contains)),
)
