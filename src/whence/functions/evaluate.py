"""Terms as Python functions of an environment: variable name -> value.

The functions run once per row and term, so those for the common shapes (a variable, a variable and a constant) are
written out instead of being composed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from operator import itemgetter
from typing import Any

from whence.errors import EvaluationError, InternalError, TypeMismatchError, UnknownNameError, shortened, shown
from whence.functions.builtin import BUILTINS
from whence.functions.resolve import Evaluator, Operand, Resolved
from whence.functions.skolem import skolem_value
from whence.functions.types import Typed, TypedTerm, annotate
from whence.model.program import Signature
from whence.model.span import Span
from whence.model.terms import Call, Cast, Constant, Lambda, Skolem, Term, Variable
from whence.model.types import NULL, MisfitError, Type, Value
from whence.model.types.base import castable, converter, unchanged


def compile_term(
    term: Term,
    types: Mapping[str, Typed],
    signatures: Mapping[str, Signature],
    implementations: Mapping[str, Callable[..., object]],
) -> Evaluator:
    """The function that computes `term`. Raises what `infer` raises; the function raises EvaluationError."""
    return compile_typed(annotate(term, types, signatures), signatures, implementations)


def compile_typed(
    node: TypedTerm,
    signatures: Mapping[str, Signature],
    implementations: Mapping[str, Callable[..., object]],
    target: Type | None = None,
    places: Mapping[str, int] | None = None,
) -> Evaluator:
    """The same for a term whose types are known, with its value converted to `target` where that is another type.

    With `places` the environment is a tuple, which has the values of variables there: a compiled term does nothing with
    its environment but look variables up in it.
    """
    if target is not None and node.typed.type not in (target, NULL):
        cast = Cast(node.term, target, span=node.term.span)
        node = TypedTerm(cast, Typed(target, node.typed.nullable), (node,), depth=node.depth + 1)
    return _compile(node, signatures, implementations, places).evaluate


def convert(value: Value, source: Type, target: Type, span: Span | None = None) -> Value:
    """CAST(value AS target); raises EvaluationError where the value does not convert."""
    if not castable(source, target):
        raise TypeMismatchError(f"there is no CAST from {source} to {target}", span=span)
    if value is None:
        return None
    try:
        return converter(source, target)(value)
    except EvaluationError as error:
        raise _placed(error, span) from None


def _compile(
    node: TypedTerm,
    signatures: Mapping[str, Signature],
    implementations: Mapping[str, Callable[..., object]],
    places: Mapping[str, int] | None,
) -> Operand:
    term = node.term
    match term:
        case Variable(name=name):
            key = name if places is None else places[name]
            return Operand(itemgetter(key), variable=key)
        case Constant():
            return _constant(term.value)
        case Lambda():
            # The function that takes it has compiled it: see lambdas.py.
            return _constant(None)
    operands = [_compile(argument, signatures, implementations, places) for argument in node.arguments]
    match term:
        case Cast():
            convert_value = converter(node.arguments[0].typed.type, term.type)
            return operands[0] if convert_value is unchanged else _strict(convert_value, operands, term.span)
        case Skolem():
            return Operand(_skolem(term.function, [operand.evaluate for operand in operands]))
        case Call() if node.resolved is not None:
            return _builtin_call(term, node.resolved, node.arguments, operands)
        case Call():
            evaluators = [operand.evaluate for operand in operands]
            signature, function = signatures[term.function], implementations.get(term.function)
            return Operand(_registered_call(signature, function, evaluators, term.span))
    raise InternalError(f"{type(term).__name__} has no value of its own", span=term.span)


def _builtin_call(term: Call, resolved: Resolved, arguments: tuple[TypedTerm, ...], operands: list[Operand]) -> Operand:
    builtin = BUILTINS[term.function]
    widened = [
        _widened(operand, argument.typed.type, target, argument.term.span or term.span)
        for operand, argument, target in zip(operands, arguments, resolved.arguments, strict=True)
    ]
    function = builtin.python(resolved)
    if not builtin.strict:
        evaluate = function(*widened)
        return Operand(_placing(evaluate, term.span) if builtin.fails else evaluate)
    simple = all(operand.constant or operand.variable for operand in widened)
    if builtin.last_first and len(widened) == 2 and not simple:
        return _strict(lambda second, first: function(first, second), widened[::-1], term.span)
    return _strict(function, widened, term.span)


def _placing(operand: Evaluator, span: Span | None) -> Evaluator:
    def evaluate(environment: Mapping[str, Value]) -> Value:
        try:
            return operand(environment)
        except EvaluationError as error:
            raise _placed(error, span) from None

    return evaluate


def _constant(value: Value) -> Operand:
    return Operand(lambda _: value, constant=True)


def _widened(operand: Operand, source: Type, target: Type, span: Span | None) -> Operand:
    convert_value = converter(source, target)
    if convert_value is unchanged:
        return operand
    if operand.constant:
        value = operand.evaluate({})
        # What does not convert is an error of the rows that need it, as it is for a variable.
        with suppress(EvaluationError):
            return _constant(None if value is None else convert_value(value))
    return _strict(convert_value, [operand], span)


def _skolem(function: str, evaluators: list[Evaluator]) -> Evaluator:
    return lambda environment: skolem_value(function, [each(environment) for each in evaluators])


def _strict(function: Callable[..., Any], operands: list[Operand], span: Span | None) -> Operand:
    """A call that is NULL when an argument is."""
    if len(operands) == 1:
        return Operand(_unary(function, operands[0].evaluate, span))
    if len(operands) == 2:
        left, right = operands
        return Operand(_binary(function, left, right, span))
    return Operand(_general(function, [operand.evaluate for operand in operands], span))


def _unary(function: Callable[[Any], Any], operand: Evaluator, span: Span | None) -> Evaluator:
    def evaluate(environment: Mapping[str, Value]) -> Value:
        value = operand(environment)
        if value is None:
            return None
        try:
            return function(value)  # type: ignore[no-any-return]
        except EvaluationError as error:
            raise _placed(error, span) from None

    return evaluate


def _binary(function: Callable[[Any, Any], Any], left: Operand, right: Operand, span: Span | None) -> Evaluator:
    if left.variable is not None and right.variable is not None:
        return _of_variables(function, left.variable, right.variable, span)
    if left.variable is not None and right.constant:
        return _of_variable_and_constant(function, left.variable, right.evaluate({}), span)
    if left.constant and right.variable is not None:
        constant = left.evaluate({})
        return (lambda _: None) if constant is None else _unary(partial(function, constant), right.evaluate, span)
    first, second = left.evaluate, right.evaluate

    def evaluate(environment: Mapping[str, Value]) -> Value:
        a = first(environment)
        if a is None:
            return None
        b = second(environment)
        if b is None:
            return None
        try:
            return function(a, b)  # type: ignore[no-any-return]
        except EvaluationError as error:
            raise _placed(error, span) from None

    return evaluate


def _of_variables(function: Callable[[Any, Any], Any], left: Any, right: Any, span: Span | None) -> Evaluator:
    def evaluate(environment: Mapping[str, Value]) -> Value:
        a = environment[left]
        b = environment[right]
        if a is None or b is None:
            return None
        try:
            return function(a, b)  # type: ignore[no-any-return]
        except EvaluationError as error:
            raise _placed(error, span) from None

    return evaluate


def _of_variable_and_constant(
    function: Callable[[Any, Any], Any], variable: Any, constant: Value, span: Span | None
) -> Evaluator:
    if constant is None:
        return lambda _: None

    def evaluate(environment: Mapping[str, Value]) -> Value:
        value = environment[variable]
        if value is None:
            return None
        try:
            return function(value, constant)  # type: ignore[no-any-return]
        except EvaluationError as error:
            raise _placed(error, span) from None

    return evaluate


def _general(function: Callable[..., Any], operands: list[Evaluator], span: Span | None) -> Evaluator:
    def evaluate(environment: Mapping[str, Value]) -> Value:
        values = []
        for operand in operands:
            value = operand(environment)
            if value is None:
                return None
            values.append(value)
        try:
            return function(*values)  # type: ignore[no-any-return]
        except EvaluationError as error:
            raise _placed(error, span) from None

    return evaluate


def _placed(error: EvaluationError, span: Span | None) -> EvaluationError:
    """Functions know no places; the call they failed in does."""
    if error.span is None:
        error.span = span
    return error


def _registered_call(
    signature: Signature,
    function: Callable[..., object] | None,
    operands: Sequence[Evaluator],
    span: Span | None,
) -> Evaluator:
    """The function gets None for NULL, and what it returns must be of the type it was registered with."""
    name, returns = signature.name, signature.returns
    if function is None:
        raise UnknownNameError(
            f"{name}() is declared, but there is no function behind it",
            span=span,
            hint="register it again, with the Python function, before it is used",
        )

    def evaluate(environment: Mapping[str, Value]) -> Value:
        arguments = [operand(environment) for operand in operands]
        try:
            result = function(*arguments)
        except Exception as error:
            raise EvaluationError(
                f"{_written(name, arguments)} failed: {type(error).__name__}: {error}", span=span
            ) from error
        if result is None:
            return None
        try:
            return returns.accept(result)
        except MisfitError as misfit:
            raise EvaluationError(
                f"{_written(name, arguments)} returned {shown(result)}, which is no {returns}: {misfit.reason}",
                span=span,
                hint=misfit.hint,
            ) from misfit

    return evaluate


def _written(name: str, arguments: Sequence[Value]) -> str:
    return f"{name}({shortened(', '.join(map(shown, arguments)))})"
