"""array, array_contains, size, element_at."""

from __future__ import annotations

from whence.errors import EvaluationError, TypeMismatchError
from whence.functions.resolve import (
    ARRAY,
    INTEGER,
    Builtin,
    Evaluator,
    Operand,
    Resolved,
    accept,
    always,
    cast_hint,
    check_arity,
    never,
    plain,
    takes,
)
from whence.functions.text import shown
from whence.functions.widening import common_type
from whence.model.terms import Call
from whence.model.types import BOOLEAN, INT, NULL, ArrayType, Type, Value


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
    if common is None:
        raise TypeMismatchError(
            f"array_contains() looks for a {types[1]} in an {array}",
            span=call.arguments[1].span or call.span,
            hint=cast_hint(call.arguments[1], element),
        )
    return Resolved(BOOLEAN, (ArrayType(common), common))


def _contains(array: tuple[Value, ...], value: Value) -> bool | None:
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


ARRAYS = (
    Builtin("array", _resolve_array, plain(_array), strict=False, nullable=never),
    Builtin("array_contains", _resolve_contains, plain(_contains), nullable=always),
    Builtin("size", takes(ARRAY, returns=INT), plain(len)),
    Builtin("element_at", takes(ARRAY, INTEGER, returns=_element_type), plain(_element_at), nullable=always),
)
