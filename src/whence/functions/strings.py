"""Functions of strings and arrays. Positions count from 1."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from whence.errors import EvaluationError, TypeMismatchError, shown
from whence.functions.resolve import (
    ARRAY,
    COUNT,
    TEXT,
    Builtin,
    Evaluator,
    Operand,
    Parameter,
    Resolved,
    accept,
    always,
    cast_hint,
    check_arity,
    never,
    plain,
    takes,
    title,
)
from whence.functions.widening import common_type, is_integer
from whence.model.terms import Call
from whence.model.types import BOOLEAN, INT, NULL, STRING, ArrayType, Type, Value


def _resolve_array(call: Call, types: tuple[Type, ...]) -> Resolved:
    element = common_type(types)
    if element is not None:
        return Resolved(ArrayType(element), tuple(element for _ in types))
    odd = next(position for position in range(1, len(types)) if common_type(types[: position + 1]) is None)
    before = common_type(types[:odd])
    raise TypeMismatchError(
        f"the elements of an array must have one type, and {types[odd]} does not go with {before}",
        span=call.arguments[odd].span or call.span,
    )


def _array(*operands: Operand) -> Evaluator:
    evaluators = [operand.evaluate for operand in operands]
    return lambda environment: tuple([each(environment) for each in evaluators])


def _resolve_contains(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 2, 2)
    array = accept(call, 0, ARRAY, types[0])
    element = _element_type((array,))
    common = common_type((element, types[1]))
    if common is None or NULL in types:
        place = "a NULL" if types[0] == NULL else f"an {array}"
        raise TypeMismatchError(
            f"array_contains() looks for a {types[1]} in {place}",
            span=call.arguments[1].span or call.span,
            hint=cast_hint(call.arguments[1], element),
        )
    return Resolved(BOOLEAN, (ArrayType(common), common))


def _array_contains(array: tuple[Value, ...], value: Value) -> bool | None:
    if value in array:
        return True
    return None if None in array else False


def _element_type(arguments: tuple[Type, ...]) -> Type:
    array = arguments[0]
    return array.element if isinstance(array, ArrayType) else NULL


def _element_at(array: tuple[Value, ...], position: int) -> Value:
    if 0 < position <= len(array):
        return array[position - 1]
    if -len(array) <= position < 0:
        return array[position]
    raise EvaluationError(
        f"there is no element {position} in {shown(array)}",
        hint="positions count from 1, and from -1 at the end",
    )


# Spark takes a NULL for other counts, but not for a place in an array.
_PLACE = Parameter(COUNT.description, lambda given: INT if is_integer(given) else None, INT)

ARRAYS = (
    Builtin("array", _resolve_array, plain(_array), strict=False, nullable=never),
    Builtin("array_contains", _resolve_contains, plain(_array_contains), nullable=always),
    Builtin("size", takes(ARRAY, returns=INT), plain(len)),
    Builtin("element_at", takes(ARRAY, _PLACE, returns=_element_type), plain(_element_at), nullable=always),
)


# A repeat count of a billion is a mistake, and would take the memory of the whole process.
LONGEST_RESULT = 2**26

LARGEST_INT = 2**31 - 1

TEXT_OR_ARRAY = Parameter(
    "a STRING or an ARRAY",
    lambda given: STRING if given == NULL else given if given == STRING or isinstance(given, ArrayType) else None,
    STRING,
)


def _resolve_concat(call: Call, types: tuple[Type, ...]) -> Resolved:
    """Arrays join to an array; anything else is joined as text, numbers and dates included, as in Spark."""
    if any(isinstance(kind, ArrayType) for kind in types):
        common = common_type(types)
        if common is None or NULL in types:
            raise TypeMismatchError(
                f"{title(call.function)} joins arrays of one element type, not {', '.join(map(str, types))}",
                span=call.span,
            )
        return Resolved(common, tuple(common for _ in types))
    return Resolved(STRING, tuple(STRING for _ in types))


def _concat(resolved: Resolved) -> Callable[..., Evaluator]:
    """NULL if a part is. All parts of a text are evaluated, also those after a NULL; those of an array are not."""

    def build(*operands: Operand) -> Evaluator:
        evaluators = [operand.evaluate for operand in operands]

        def text(environment: Mapping[str, Value]) -> Value:
            parts: list[Any] = [each(environment) for each in evaluators]
            return None if None in parts else "".join(parts)

        def array(environment: Mapping[str, Value]) -> Value:
            elements: list[Any] = []
            for each in evaluators:
                part: Any = each(environment)
                if part is None:
                    return None
                elements += part
            return tuple(elements)

        return text if resolved.result == STRING else array

    return build


def _substring(text: str, position: int, length: int = LARGEST_INT) -> str:
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


def _trimming(strip: Callable[[str, str], str]) -> Callable[..., str]:
    """With two arguments the characters come first, as in Spark: ltrim('x', 'xxa') is 'a'."""

    def trim(first: str, text: str | None = None) -> str:
        if text is None:
            return strip(first, " ")
        return strip(text, first) if first else text

    return trim


def _instr(text: str, part: str) -> int:
    return text.find(part) + 1


def _locate(part: str, text: str) -> int:
    return text.find(part) + 1


STRINGS = (
    Builtin("concat", _resolve_concat, _concat, strict=False),
    Builtin("lower", takes(TEXT, returns=STRING), plain(str.lower)),
    Builtin("upper", takes(TEXT, returns=STRING), plain(str.upper)),
    Builtin("length", takes(TEXT, returns=INT), plain(len)),
    Builtin("substring", takes(TEXT, COUNT, COUNT, optional=1, returns=STRING), plain(_substring)),
    Builtin("left", takes(TEXT, COUNT, returns=STRING), plain(_left)),
    Builtin("right", takes(TEXT, COUNT, returns=STRING), plain(_right)),
    Builtin("trim", takes(TEXT, TEXT, optional=1, returns=STRING), plain(_trimming(str.strip)), last_first=True),
    Builtin("ltrim", takes(TEXT, TEXT, optional=1, returns=STRING), plain(_trimming(str.lstrip)), last_first=True),
    Builtin("rtrim", takes(TEXT, TEXT, optional=1, returns=STRING), plain(_trimming(str.rstrip)), last_first=True),
    Builtin("replace", takes(TEXT, TEXT, TEXT, optional=1, returns=STRING), plain(_replace)),
    Builtin("lpad", takes(TEXT, COUNT, TEXT, optional=1, returns=STRING), plain(_lpad)),
    Builtin("rpad", takes(TEXT, COUNT, TEXT, optional=1, returns=STRING), plain(_rpad)),
    Builtin("repeat", takes(TEXT, COUNT, returns=STRING), plain(_repeat)),
    Builtin(
        "reverse",
        takes(TEXT_OR_ARRAY, returns=lambda arguments: arguments[0]),
        plain(lambda sequence: sequence[::-1]),
    ),
    Builtin("instr", takes(TEXT, TEXT, returns=INT), plain(_instr)),
    # What position(part IN text) means; not instr() the other way round, since the part is evaluated first.
    Builtin("locate", takes(TEXT, TEXT, returns=INT), plain(_locate)),
    Builtin("startswith", takes(TEXT, TEXT, returns=BOOLEAN), plain(str.startswith)),
    Builtin("endswith", takes(TEXT, TEXT, returns=BOOLEAN), plain(str.endswith)),
    Builtin("contains", takes(TEXT, TEXT, returns=BOOLEAN), plain(operator.contains)),
)
