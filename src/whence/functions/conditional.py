"""Logic and choices: SQL's three truth values, and functions that evaluate only what they need."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from whence.errors import ArityError, EvaluationError, TypeMismatchError
from whence.functions.comparison import check_arrays, comparable
from whence.functions.resolve import (
    ANYTHING,
    APPROXIMATE,
    INTEGER,
    NUMBER,
    TRUTH,
    Builtin,
    Evaluator,
    Operand,
    Resolved,
    accept,
    always,
    check_arity,
    never,
    plain,
    takes,
    title,
)
from whence.functions.widening import common_type
from whence.model.terms import Call
from whence.model.types import BOOLEAN, DOUBLE, REAL, STRING, Type, Value
from whence.model.types.base import converter


def _resolve_chain(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 2, None)
    return Resolved(BOOLEAN, tuple(accept(call, position, TRUTH, kind) for position, kind in enumerate(types)))


def _decided_by(decisive: bool) -> Callable[..., Evaluator]:
    """`and` is decided by the first FALSE, `or` by the first TRUE; what follows it is not evaluated."""

    def build(*operands: Operand) -> Evaluator:
        evaluators = [operand.evaluate for operand in operands]
        if len(evaluators) == 2:
            return _decided_by_pair(decisive, *evaluators)

        def evaluate(environment: Mapping[str, Value]) -> Value:
            result: Value = not decisive
            for each in evaluators:
                value = each(environment)
                if value is decisive:
                    return decisive
                if value is None:
                    result = None
            return result

        return evaluate

    return build


def _decided_by_pair(decisive: bool, left: Evaluator, right: Evaluator) -> Evaluator:
    def evaluate(environment: Mapping[str, Value]) -> Value:
        first = left(environment)
        if first is decisive:
            return decisive
        second = right(environment)
        if second is decisive:
            return decisive
        return None if first is None or second is None else second

    return evaluate


def _is_null(operand: Operand) -> Evaluator:
    evaluate = operand.evaluate
    return lambda environment: evaluate(environment) is None


def _is_not_null(operand: Operand) -> Evaluator:
    evaluate = operand.evaluate
    return lambda environment: evaluate(environment) is not None


def _type_name(resolved: Resolved) -> Callable[..., Evaluator]:
    """The name of the argument's type, as Spark writes it."""
    (kind,) = resolved.arguments
    name = kind.simple_name
    return lambda _: lambda _: name


def _resolve_nanvl(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 2, 2)
    if types == (REAL, REAL):
        return Resolved(REAL, types)
    return takes(APPROXIMATE, APPROXIMATE, returns=DOUBLE)(call, types)


def _only_value(value: Operand, count: Operand) -> Evaluator:
    """The least value of a subquery that has so many rows."""

    def evaluate(environment: Mapping[str, Value]) -> Value:
        rows = count.evaluate(environment)
        if isinstance(rows, int) and rows > 1:
            raise EvaluationError(
                f"a subquery that is used as a value has {rows} rows",
                hint="aggregate it (min, max, ...), or fix every column of a key with =",
            )
        return value.evaluate(environment)

    return evaluate


LOGIC = (
    Builtin(
        "only_value",
        takes(ANYTHING, INTEGER, returns=lambda kinds: kinds[0]),
        plain(_only_value),
        strict=False,
        nullable=lambda nullable: nullable[0],
        fails=True,
    ),
    Builtin("and", _resolve_chain, plain(_decided_by(False)), strict=False),
    Builtin("or", _resolve_chain, plain(_decided_by(True)), strict=False),
    Builtin("not", takes(TRUTH, returns=BOOLEAN), plain(operator.not_)),
    Builtin("typeof", takes(ANYTHING, returns=STRING), _type_name, strict=False, nullable=never),
    # NaN is no value, so that the second argument is never needed.
    Builtin(
        "nanvl",
        _resolve_nanvl,
        plain(lambda value, _: value.evaluate),
        strict=False,
        nullable=lambda nullable: nullable[0],
    ),
    Builtin("isnan", takes(NUMBER, returns=BOOLEAN), plain(lambda _: lambda _: False), strict=False, nullable=never),
    Builtin("isnull", takes(ANYTHING, returns=BOOLEAN), plain(_is_null), strict=False, nullable=never),
    Builtin("isnotnull", takes(ANYTHING, returns=BOOLEAN), plain(_is_not_null), strict=False, nullable=never),
)


CASE = "case"


def _branches(call: Call, types: Sequence[Type]) -> Type:
    """The type that all possible results have in common."""
    common = common_type(types)
    if common is not None:
        return common
    first, second = next(pair for pair in combinations(types, 2) if common_type(pair) is None)
    raise TypeMismatchError(
        f"the results of {title(call.function)} have no type in common: {first} and {second}",
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
    check_arrays(call, types)
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
