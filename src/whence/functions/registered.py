"""Calls of functions that the user registered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from whence.errors import EvaluationError, UnknownNameError
from whence.functions.resolve import Evaluator
from whence.functions.text import shortened, shown
from whence.functions.values import MisfitError, normalize
from whence.model.program import Signature
from whence.model.span import Span
from whence.model.types import Value


def registered_call(
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
            return normalize(result, returns)
        except MisfitError as misfit:
            raise EvaluationError(
                f"{_written(name, arguments)} returned {shown(result)}, which is no {returns}: {misfit.reason}",
                span=span,
                hint=misfit.hint,
            ) from misfit

    return evaluate


def _written(name: str, arguments: Sequence[Value]) -> str:
    return f"{name}({shortened(', '.join(map(shown, arguments)))})"
