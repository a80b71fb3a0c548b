"""and, or, not, isnull, isnotnull: SQL's three truth values, None being the third."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from whence.functions.resolve import (
    ANYTHING,
    TRUTH,
    Builtin,
    Evaluator,
    Operand,
    Resolved,
    accept,
    check_arity,
    never,
    plain,
    takes,
)
from whence.model.terms import Call
from whence.model.types import BOOLEAN, Type, Value


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


LOGIC = (
    Builtin("and", _resolve_chain, plain(_decided_by(False)), strict=False),
    Builtin("or", _resolve_chain, plain(_decided_by(True)), strict=False),
    Builtin("not", takes(TRUTH, returns=BOOLEAN), plain(operator.not_)),
    Builtin("isnull", takes(ANYTHING, returns=BOOLEAN), plain(_is_null), strict=False, nullable=never),
    Builtin("isnotnull", takes(ANYTHING, returns=BOOLEAN), plain(_is_not_null), strict=False, nullable=never),
)
