"""Functions of strings. Positions count from 1."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, AnyStr

from whence.errors import EvaluationError, TypeMismatchError
from whence.functions.resolve import (
    COUNT,
    TEXT,
    Builtin,
    Evaluator,
    Operand,
    Parameter,
    Resolved,
    exactly,
    plain,
    takes,
    title,
)
from whence.functions.widening import common_type
from whence.model.terms import Call
from whence.model.types import BINARY, BOOLEAN, INT, NULL, STRING, ArrayType, Type, Value

# A repeat count of a billion is a mistake, and would take the memory of the whole process.
LONGEST_RESULT = 2**26

LARGEST_INT = 2**31 - 1

TEXT_OR_ARRAY = Parameter(
    "a STRING or an ARRAY",
    lambda given: STRING if given == NULL else given if given == STRING or isinstance(given, ArrayType) else None,
    STRING,
)


_BYTES = exactly(BINARY)


def text_or_bytes(
    *parameters: Parameter, optional: int = 0, returns: Type | None = None
) -> Callable[[Call, tuple[Type, ...]], Resolved]:
    """The resolver of a function that takes bytes wherever it takes texts, but not both. It gives the like, or the
    type `returns`.
    """
    of_texts = takes(*parameters, optional=optional, returns=returns or STRING)
    of_bytes = takes(
        *(_BYTES if each is TEXT else each for each in parameters), optional=optional, returns=returns or BINARY
    )

    def resolve(call: Call, types: tuple[Type, ...]) -> Resolved:
        texts = {kind for kind, parameter in zip(types, parameters, strict=False) if parameter is TEXT}
        return (of_bytes if BINARY in texts and texts <= {BINARY, NULL} else of_texts)(call, types)

    return resolve


def _resolve_concat(call: Call, types: tuple[Type, ...]) -> Resolved:
    """Arrays join to an array, and bytes to bytes; anything else is joined as text, numbers and dates included, as in
    Spark.
    """
    if BINARY in types and set(types) <= {BINARY, NULL}:
        return Resolved(BINARY, tuple(BINARY for _ in types))
    if any(isinstance(kind, ArrayType) for kind in types):
        common = common_type(types)
        if common is None or NULL in types:
            raise TypeMismatchError(
                f"{title(call.function)} joins arrays of one element type, not {', '.join(map(str, types))}",
                span=call.span,
            )
        return Resolved(common, tuple(common for _ in types))
    odd = next((kind for kind in types if kind.inner), None)
    if odd is not None:
        raise TypeMismatchError(f"{title(call.function)} joins texts, bytes and arrays, not {odd}", span=call.span)
    return Resolved(STRING, tuple(STRING for _ in types))


def _concat(resolved: Resolved) -> Callable[..., Evaluator]:
    """NULL if a part is. All parts of a text are evaluated, also those after a NULL; those of an array are not."""

    def build(*operands: Operand) -> Evaluator:
        evaluators = [operand.evaluate for operand in operands]

        def text(environment: Mapping[str, Value]) -> Value:
            parts: list[Any] = [each(environment) for each in evaluators]
            return None if None in parts else "".join(parts)

        def joined(environment: Mapping[str, Value]) -> Value:
            parts: list[Any] = [each(environment) for each in evaluators]
            return None if None in parts else b"".join(parts)

        def array(environment: Mapping[str, Value]) -> Value:
            elements: list[Any] = []
            for each in evaluators:
                part: Any = each(environment)
                if part is None:
                    return None
                elements += part
            return tuple(elements)

        return {STRING: text, BINARY: joined}.get(resolved.result, array)

    return build


def substring(text: str, position: int, length: int = LARGEST_INT) -> str:
    if position > 0:
        start = position - 1
    elif position < 0:
        start = len(text) + position
    else:
        start = 0
    # A start before the text counts against the length: substring('abc', -5, 3) is 'a'.
    end = start + length
    return text[max(start, 0) : max(end, 0)]


def _left(text: str, count: int) -> str:
    return text[: max(count, 0)]


def _right(text: str, count: int) -> str:
    return text[-count:] if count > 0 else text[:0]


def _replace(text: str, search: str, replacement: str = "") -> str:
    # Python would put the replacement between all characters.
    return text.replace(search, replacement) if search else text


def checked_length(length: int) -> int:
    if length > LONGEST_RESULT:
        raise EvaluationError(f"a string of {length} characters is too long", hint=f"at most {LONGEST_RESULT} fit")
    return length


def _repeat(text: str, count: int) -> str:
    checked_length(len(text) * count)
    return text * count


def _padding(text: AnyStr, length: int, pad: AnyStr) -> AnyStr:
    missing = checked_length(length) - len(text)
    return (pad * (missing // len(pad) + 1))[:missing] if missing > 0 and pad else text[:0]


def _padded(left: bool) -> Callable[[Resolved], Callable[..., Any]]:
    """Texts are filled up with blanks, and bytes with zeros."""

    def python(resolved: Resolved) -> Callable[..., Any]:
        blank: Any = b"\0" if resolved.result == BINARY else " "

        def pad(text: AnyStr, length: int, filling: AnyStr = blank) -> AnyStr:
            kept, added = text[: max(length, 0)], _padding(text, length, filling)
            return added + kept if left else kept + added

        return pad

    return python


def _trimming(strip: Callable[[str, str], str]) -> Callable[..., str]:
    """With two arguments the characters come first, as in Spark: ltrim('x', 'xxa') is 'a'."""

    def trim(first: str, text: str | None = None) -> str:
        if text is None:
            return strip(first, " ")
        return strip(text, first) if first else text

    return trim


def _instr(text: str, part: str, start: int = 1, occurrence: int = 1) -> int:
    """Where the part stands, from 1. From a negative start on it is looked for backwards."""
    if occurrence < 1:
        raise EvaluationError(f"instr() counts occurrences from 1, and there is none {occurrence}")
    if start == 0:
        return 0
    if not part:
        return 1
    at = start - 2 if start > 0 else len(text) + start + 1
    for _ in range(occurrence):
        at = text.find(part, at + 1) if start > 0 else text.rfind(part, 0, max(at - 1 + len(part), 0))
        if at < 0:
            return 0
    return at + 1


STRINGS = (
    Builtin("concat", _resolve_concat, _concat, strict=False),
    Builtin("lower", takes(TEXT, returns=STRING), plain(str.lower)),
    Builtin("upper", takes(TEXT, returns=STRING), plain(str.upper)),
    Builtin("length", text_or_bytes(TEXT, returns=INT), plain(len)),
    Builtin("substring", text_or_bytes(TEXT, COUNT, COUNT, optional=1), plain(substring)),
    Builtin("left", text_or_bytes(TEXT, COUNT), plain(_left)),
    Builtin("right", takes(TEXT, COUNT, returns=STRING), plain(_right)),
    Builtin("trim", takes(TEXT, TEXT, optional=1, returns=STRING), plain(_trimming(str.strip)), last_first=True),
    Builtin("ltrim", takes(TEXT, TEXT, optional=1, returns=STRING), plain(_trimming(str.lstrip)), last_first=True),
    Builtin("rtrim", takes(TEXT, TEXT, optional=1, returns=STRING), plain(_trimming(str.rstrip)), last_first=True),
    Builtin("replace", takes(TEXT, TEXT, TEXT, optional=1, returns=STRING), plain(_replace)),
    Builtin("lpad", text_or_bytes(TEXT, COUNT, TEXT, optional=1), _padded(left=True)),
    Builtin("rpad", text_or_bytes(TEXT, COUNT, TEXT, optional=1), _padded(left=False)),
    Builtin("repeat", takes(TEXT, COUNT, returns=STRING), plain(_repeat)),
    Builtin(
        "reverse",
        takes(TEXT_OR_ARRAY, returns=lambda arguments: arguments[0]),
        plain(lambda sequence: sequence[::-1]),
    ),
    Builtin("instr", takes(TEXT, TEXT, COUNT, COUNT, optional=2, returns=INT), plain(_instr)),
    Builtin("startswith", text_or_bytes(TEXT, TEXT, returns=BOOLEAN), plain(lambda text, part: text.startswith(part))),
    Builtin("endswith", text_or_bytes(TEXT, TEXT, returns=BOOLEAN), plain(lambda text, part: text.endswith(part))),
    Builtin("contains", text_or_bytes(TEXT, TEXT, returns=BOOLEAN), plain(operator.contains)),
)
