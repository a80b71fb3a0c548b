"""Comparisons, IN, greatest and least."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from whence.errors import TypeMismatchError
from whence.functions import implicit
from whence.functions.resolve import (
    Builtin,
    Evaluator,
    Operand,
    Resolved,
    cast_hint,
    check_arity,
    check_time,
    is_text_constant,
    mismatch,
    never,
    plain,
    title,
)
from whence.functions.widening import common_in_place, common_type, is_exact
from whence.model.span import Span
from whence.model.terms import Call
from whence.model.types import BOOLEAN, NULL, STRING, ArrayType, Type, Value, has_null


def comparable(call: Call, types: tuple[Type, ...]) -> Type:
    """The type that all arguments are compared as; raises TypeMismatchError where there is none.

    STRING constants among dates are read as dates, since that is how people write them: d >= '1994-01-01'.
    """
    texts = [argument for argument in call.arguments if is_text_constant(argument)]
    others = [kind for argument, kind in zip(call.arguments, types, strict=True) if not is_text_constant(argument)]
    common = common_type(others)
    if common is None or not common.is_time or (implicit.are_on() and len(texts) < types.count(STRING)):
        common = common_in_place(types)
        if common is None:
            raise _incomparable(call, types)
        check_comparable(common, f"an argument of {title(call.function)}", call.span)
        return common
    for text in texts:
        check_time(text, common)
    return common


def check_comparable(kind: Type, what: str, span: Span | None) -> None:
    """Raises for a type with a map in it, which is never compared."""
    if not kind.is_comparable:
        raise TypeMismatchError(
            f"{kind} cannot be {what}: maps are not compared", span=span, hint="map_entries(m) is an array, and can be"
        )


def _incomparable(call: Call, types: tuple[Type, ...]) -> TypeMismatchError:
    """Blames the first argument that does not go with one before it."""
    left, right = next(
        (left, right)
        for right in range(1, len(types))
        for left in range(right)
        if common_type((types[left], types[right])) is None
    )
    hint = None
    if types[left] == STRING:
        hint = cast_hint(call.arguments[left], types[right])
    elif types[right] == STRING:
        hint = cast_hint(call.arguments[right], types[left])
    # Of two sides neither is more wrong than the other; in a list it is the later one.
    span = call.span if len(types) == 2 else call.arguments[right].span or call.span
    return mismatch(call, (types[left], types[right]), span=span, hint=hint)


def check_arrays(call: Call, types: tuple[Type, ...]) -> None:
    """Raises where two arrays of different types are compared, since their elements are not converted."""
    left, right = types
    if left != right and isinstance(left, ArrayType) and not has_null(left) and not has_null(right):
        raise mismatch(call, types, hint="convert one array to the type of the other")


def _compared(call: Call, types: tuple[Type, ...]) -> tuple[Type, ...]:
    """What the arguments are widened to. Exact numbers stay as they are: Python compares them exactly."""
    common = comparable(call, types)
    if all(is_exact(kind) or kind == NULL for kind in types):
        return types
    return tuple(common for _ in types)


def _resolve_comparison(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 2, 2)
    check_arrays(call, types)
    return Resolved(BOOLEAN, _compared(call, types))


def _resolve_in(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 2, None)
    return Resolved(BOOLEAN, _compared(call, types))


def _resolve_extreme(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 2, None)
    known = {kind for kind in types if kind != NULL}
    if implicit.are_on() and STRING in known and len(known) > 1:
        # Of these alone Spark does not make numbers of texts.
        raise mismatch(call, types[:2])
    common = comparable(call, types)
    return Resolved(common, tuple(common for _ in types))


def _ordering(compare: Callable[[Any, Any], bool]) -> Callable[[Resolved], Callable[..., bool]]:
    def python(resolved: Resolved) -> Callable[..., bool]:
        key = resolved.arguments[0].sort_key
        if key is None:
            return compare
        return lambda left, right: compare(key(left), key(right))

    return python


def _same(left: Operand, right: Operand) -> Evaluator:
    first, second = left.evaluate, right.evaluate
    # None is equal to None only, which is just what <=> asks for.
    return lambda environment: first(environment) == second(environment)


def _in(needle: Operand, *options: Operand) -> Evaluator:
    value_of = needle.evaluate
    # Constants are looked up at once, unless an option before them could fail.
    simple = all(option.constant or option.variable for option in options)
    constants = {option.evaluate({}) for option in options if option.constant} if simple else set()
    others = [option.evaluate for option in options if not (simple and option.constant)]
    null_constant = None in constants
    constants.discard(None)

    def evaluate(environment: Mapping[str, Value]) -> Value:
        value = value_of(environment)
        if value is None:
            return None
        if value in constants:
            return True
        unknown = null_constant
        for option in others:
            other = option(environment)
            if other is None:
                unknown = True
            elif other == value:
                return True
        return None if unknown else False

    return evaluate


def _extreme(choose: Callable[..., Any]) -> Callable[[Resolved], Callable[..., Evaluator]]:
    """greatest and least skip NULLs, and are NULL when there is nothing else."""

    def python(resolved: Resolved) -> Callable[..., Evaluator]:
        key = resolved.result.sort_key

        def build(*operands: Operand) -> Evaluator:
            evaluators = [operand.evaluate for operand in operands]

            def evaluate(environment: Mapping[str, Value]) -> Value:
                values = [value for each in evaluators if (value := each(environment)) is not None]
                return choose(values, key=key, default=None)  # type: ignore[no-any-return]

            return evaluate

        return build

    return python


COMPARISON = (
    Builtin("=", _resolve_comparison, plain(operator.eq)),
    Builtin("!=", _resolve_comparison, plain(operator.ne)),
    Builtin("<", _resolve_comparison, _ordering(operator.lt)),
    Builtin("<=", _resolve_comparison, _ordering(operator.le)),
    Builtin(">", _resolve_comparison, _ordering(operator.gt)),
    Builtin(">=", _resolve_comparison, _ordering(operator.ge)),
    Builtin("<=>", _resolve_comparison, plain(_same), strict=False, nullable=never),
    Builtin("in", _resolve_in, plain(_in), strict=False),
    Builtin("greatest", _resolve_extreme, _extreme(max), strict=False, nullable=all),
    Builtin("least", _resolve_extreme, _extreme(min), strict=False, nullable=all),
)
