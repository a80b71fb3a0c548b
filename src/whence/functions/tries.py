"""try_ functions: NULL where the function they are named after has no value. Errors in arguments mostly stay errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from whence.errors import EvaluationError, TypeMismatchError
from whence.functions.arithmetic import ARITHMETIC
from whence.functions.date_patterns import PatternError
from whence.functions.elementary import ELEMENTARY
from whence.functions.encodings import ENCODINGS
from whence.functions.epochs import EPOCHS
from whence.functions.number_formats import NUMBER_FORMATS
from whence.functions.resolve import Builtin, Evaluator, Operand, Resolved, always, check_arity
from whence.functions.urls import URLS
from whence.model.terms import Call
from whence.model.types import Type, Value
from whence.model.types.base import cast, castable

_BY_NAME = {
    each.name: each for family in (ARITHMETIC, ELEMENTARY, ENCODINGS, EPOCHS, NUMBER_FORMATS, URLS) for each in family
}
# What Spark has a try_ function of, by our names.
_TRIED = {
    "try_add": "+",
    "try_subtract": "-",
    "try_multiply": "*",
    "try_divide": "/",
    "try_mod": "%",
    "try_make_timestamp": "make_timestamp",
    "try_parse_timestamp": "parse_timestamp",
    "try_parse_date": "parse_date",
    "try_to_binary": "to_binary",
    "try_to_number": "to_number",
    "try_parse_url": "parse_url",
    "try_url_decode": "url_decode",
}


def _trying(name: str, tried: Builtin) -> Builtin:
    def resolve(call: Call, types: tuple[Type, ...]) -> Resolved:
        # An operator with one side is another one.
        check_arity(call, 1 if name[4:] == tried.name else 2, None)
        return tried.resolve(Call(tried.name, call.arguments, span=call.span), types)

    def python(resolved: Resolved) -> Callable[..., Evaluator]:
        function = tried.python(resolved)
        # Of these two Spark tries the whole, arguments included.
        tries_arguments = tried.name == "to_binary" or any(kind.is_time for kind in resolved.arguments[:2])

        def build(*operands: Operand) -> Evaluator:
            evaluators = [operand.evaluate for operand in operands]

            def evaluate(environment: Mapping[str, Value]) -> Value:
                is_begun = tries_arguments
                try:
                    values = []
                    for each in evaluators:
                        value = each(environment)
                        if value is None:
                            return None
                        values.append(value)
                    is_begun = True
                    return function(*values)  # type: ignore[no-any-return]
                except EvaluationError as error:
                    if is_begun and not isinstance(error, PatternError):
                        return None
                    raise

            return evaluate

        return build

    return Builtin(name, resolve, python, strict=False, nullable=always)


def _resolve_cast(call: Call, types: tuple[Type, ...]) -> Resolved:
    """try_cast(x, a NULL of the type that is wanted)."""
    check_arity(call, 2, 2)
    source, target = types
    if not castable(source, target):
        raise TypeMismatchError(f"there is no cast from {source} to {target}", span=call.span)
    return Resolved(target, (source, target))


def _try_cast(resolved: Resolved) -> Callable[..., Evaluator]:
    convert = cast(*resolved.arguments)
    assert convert is not None

    def build(operand: Operand, _: Operand) -> Evaluator:
        inner = operand.evaluate

        def evaluate(environment: Mapping[str, Value]) -> Value:
            value: Any = inner(environment)
            if value is None:
                return None
            try:
                return convert(value)
            except EvaluationError:
                return None

        return evaluate

    return build


TRIES = (
    *(_trying(name, _BY_NAME[tried]) for name, tried in _TRIED.items()),
    Builtin("try_cast", _resolve_cast, _try_cast, strict=False, nullable=always),
)
