"""Functions that the user registered."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from whence.errors import EvaluationError, UnknownNameError
from whence.functions.evaluate import compile_term
from whence.functions.types import Typed, infer
from whence.model.program import Signature
from whence.model.span import SourceText, Span
from whence.model.terms import Call, Constant, Variable
from whence.model.types import DOUBLE, INT, STRING, Type, Value

TYPES = {"x": Typed(INT, False)}
CALL = Call("f", (Variable("x"), Constant("a", STRING)), span=Span(SourceText("<rules>", 'f(x, "a")'), 0, 9))


def run(function: Callable[..., object], returns: Type, x: int | None = 1) -> Value:
    return compile_term(CALL, TYPES, {"f": Signature("f", returns)}, {"f": function})({"x": x})


def test_results_are_normalized() -> None:
    assert run(lambda x, a: f"{x}{a}", STRING) == "1a"
    assert run(lambda x, a: np.int64(x), INT) == 1
    assert type(run(lambda x, a: x, DOUBLE)) is float
    assert run(lambda x, a: None, INT) is None


def test_null_arrives_as_none() -> None:
    assert run(lambda x, a: "none" if x is None else "some", STRING, None) == "none"


def test_the_result_can_always_be_null() -> None:
    assert infer(CALL, TYPES, {"f": Signature("f", DOUBLE)}) == Typed(DOUBLE, True)


def test_a_function_that_raises() -> None:
    def broken(x: int, a: str) -> int:
        raise KeyError("no such thing")

    with pytest.raises(EvaluationError) as caught:
        run(broken, INT)
    assert caught.value.message == "f(1, 'a') failed: KeyError: 'no such thing'"
    assert caught.value.span == CALL.span
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_function_of_the_wrong_arity() -> None:
    with pytest.raises(EvaluationError, match=r"f\(1, 'a'\) failed: TypeError"):
        run(lambda x: x, INT)


def test_a_result_of_the_wrong_type() -> None:
    with pytest.raises(EvaluationError) as caught:
        run(lambda x, a: "two", INT)
    assert caught.value.message == "f(1, 'a') returned 'two', which is no INT: it is a str, not an integer"
    with pytest.raises(EvaluationError, match="NaN and Infinity are no values"):
        run(lambda x, a: float("nan"), DOUBLE)


def test_a_signature_without_a_function() -> None:
    with pytest.raises(UnknownNameError, match=r"f\(\) is declared, but there is no function behind it"):
        compile_term(CALL, TYPES, {"f": Signature("f", INT)}, {})
