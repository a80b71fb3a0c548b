"""if, coalesce, nullif: functions that evaluate only the arguments they need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from whence.errors import ArityError, TypeMismatchError
from whence.functions.cast import converter
from whence.functions.comparison import comparable
from whence.functions.resolve import (
    TRUTH,
    Builtin,
    Evaluator,
    Operand,
    Resolved,
    accept,
    always,
    check_arity,
    plain,
    title,
)
from whence.functions.widening import common_type
from whence.model.terms import Call
from whence.model.types import Type, Value

CASE = "case"


def _branches(call: Call, types: Sequence[Type]) -> Type:
    """The type that all possible results have in common."""
    common = common_type(types)
    if common is not None:
        return common
    first = next(kind for kind in types if common_type((types[0], kind)) is None)
    raise TypeMismatchError(
        f"the results of {title(call.function)} have no type in common: {types[0]} and {first}",
        span=call.span,
        hint="convert them all to one type",
    )


def _resolve_if(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 3, 3)
    return _resolve_case(call, types)


def _resolve_case(call: Call, types: tuple[Type, ...]) -> Resolved:
    """Condition, result, condition, result, ..., and the result otherwise."""
    check_arity(call, 3, None)
    if len(types) % 2 == 0:
        raise ArityError(f"{title(call.function)} takes pairs and a last result, not {len(types)}", span=call.span)
    last = len(types) - 1
    result = _branches(call, [*types[1:last:2], types[last]])
    return Resolved(
        result,
        tuple(
            accept(call, position, TRUTH, kind) if position % 2 == 0 and position < last else result
            for position, kind in enumerate(types)
        ),
    )


def _case(*operands: Operand) -> Evaluator:
    *pairs, last = (operand.evaluate for operand in operands)
    otherwise = last
    if len(pairs) == 2:
        condition, then = pairs
        return lambda environment: then(environment) if condition(environment) else otherwise(environment)
    branches = list(zip(pairs[::2], pairs[1::2], strict=True))

    def evaluate(environment: Mapping[str, Value]) -> Value:
        for condition, then in branches:
            if condition(environment):
                return then(environment)
        return otherwise(environment)

    return evaluate


def _case_nullable(nullable: Sequence[bool]) -> bool:
    *pairs, otherwise = nullable
    return otherwise or any(pairs[1::2])


def _resolve_coalesce(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 1, None)
    result = _branches(call, types)
    return Resolved(result, tuple(result for _ in types))


def _coalesce(*operands: Operand) -> Evaluator:
    evaluators = [operand.evaluate for operand in operands]

    def evaluate(environment: Mapping[str, Value]) -> Value:
        for each in evaluators:
            value = each(environment)
            if value is not None:
                return value
        return None

    return evaluate


def _resolve_nullif(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 2, 2)
    # The result is the first argument as it is; only for the comparison both become the common type.
    return Resolved(types[0], (types[0], comparable(call, types)))


def _nullif(resolved: Resolved) -> Callable[..., Evaluator]:
    widen = converter(*resolved.arguments)

    def build(left: Operand, right: Operand) -> Evaluator:
        first, second = left.evaluate, right.evaluate

        def evaluate(environment: Mapping[str, Value]) -> Value:
            value = first(environment)
            return None if value is None or widen(value) == second(environment) else value

        return evaluate

    return build


CONDITIONAL = (
    Builtin("if", _resolve_if, plain(_case), strict=False, nullable=_case_nullable),
    # What a chain of ifs is taken as, so that a CASE of a thousand branches is not a thousand calls deep.
    Builtin(CASE, _resolve_case, plain(_case), strict=False, nullable=_case_nullable),
    Builtin("coalesce", _resolve_coalesce, plain(_coalesce), strict=False, nullable=all),
    Builtin("nullif", _resolve_nullif, _nullif, strict=False, nullable=always),
)
