"""Three truth values, and what is not evaluated."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from whence.errors import ArityError, EvaluationError, TypeMismatchError
from whence.functions.evaluate import compile_term
from whence.functions.types import Typed
from whence.model.terms import Call, Constant, Variable
from whence.model.types import BIGINT, BOOLEAN, DOUBLE, INT, NULL, STRING, Value

T, F, N = True, False, None
X = Variable("x")
ONE_BY_X = Call("/", (Constant(1, INT), X))
BOOM = Call("=", (ONE_BY_X, Constant(1, INT)))


def at_zero(function: str, *arguments: object) -> Value:
    """The call's value where x is 0, and dividing by it an error."""
    return compile_term(Call(function, arguments), {"x": Typed(INT, True)}, {}, {})({"x": 0})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("function", "table"),
    [
        ("and", [(T, T, T), (T, F, F), (T, N, N), (F, T, F), (F, F, F), (F, N, F), (N, T, N), (N, F, F), (N, N, N)]),
        ("or", [(T, T, T), (T, F, T), (T, N, T), (F, T, T), (F, F, F), (F, N, N), (N, T, T), (N, F, N), (N, N, N)]),
        ("=", [(T, T, T), (T, F, F), (T, N, N), (F, T, F), (F, F, T), (F, N, N), (N, T, N), (N, F, N), (N, N, N)]),
        ("<=>", [(T, T, T), (T, F, F), (T, N, F), (F, T, F), (F, F, T), (F, N, F), (N, T, F), (N, F, F), (N, N, T)]),
    ],
)
def test_truth_tables(
    value: Callable[..., Value], function: str, table: list[tuple[bool | None, bool | None, bool | None]]
) -> None:
    assert [(a, b, value(function, (a, BOOLEAN), (b, BOOLEAN))) for a, b, _ in table] == table


def test_not(value: Callable[..., Value]) -> None:
    assert [value("not", (a, BOOLEAN)) for a in (T, F, N)] == [F, T, N]


def test_long_chains_agree_with_nested_pairs(value: Callable[..., Value]) -> None:
    for function, values in product(("and", "or"), product((T, F, N), repeat=3)):
        a, b, c = ((each, BOOLEAN) for each in values)
        inner = Constant(value(function, b, c), BOOLEAN)
        assert value(function, a, b, c) is value(function, a, inner)


def test_null_tests(value: Callable[..., Value]) -> None:
    assert value("isnull", (None, INT)) is True
    assert value("isnull", (0, INT)) is False
    assert value("isnotnull", (None, INT)) is False
    assert value("isnotnull", (0, INT)) is True


@pytest.mark.parametrize(
    ("needle", "options", "result"),
    [
        (1, (1, 2), T),
        (1, (2, 3), F),
        (1, (2, None), N),
        (1, (1, None), T),
        (None, (1, 2), N),
        (None, (None,), N),
        (1, (None,), N),
    ],
)
def test_in(value: Callable[..., Value], needle: int | None, options: tuple[int | None, ...], result: Value) -> None:
    assert value("in", (needle, INT), *[(each, INT) for each in options]) is result
    assert value("in", (needle, INT), *[Constant(each, INT) for each in options]) is result


def test_in_takes_constants_and_variables_together(value: Callable[..., Value]) -> None:
    assert value("in", (3, INT), Constant(1, INT), (3, BIGINT)) is True
    assert value("in", (3, INT), Constant(1, INT), (None, INT), Constant(3, INT)) is True
    assert value("in", (3, INT), Constant(1.5, DOUBLE), (3.0, DOUBLE)) is True


def test_the_branch_not_taken_is_not_evaluated() -> None:
    x_is_zero = Call("=", (X, Constant(0, INT)))
    zero = Constant(0, INT)
    assert at_zero("if", x_is_zero, zero, ONE_BY_X) == 0.0
    assert at_zero("coalesce", X, ONE_BY_X) == 0.0
    assert at_zero("and", Constant(False, BOOLEAN), BOOM) is False
    assert at_zero("or", x_is_zero, BOOM) is True
    assert at_zero("or", x_is_zero, BOOM, BOOM) is True
    assert at_zero("in", X, zero, ONE_BY_X) is True
    assert at_zero("if", x_is_zero, zero, Call("if", (BOOM, ONE_BY_X, ONE_BY_X))) == 0.0
    with pytest.raises(EvaluationError, match="division by zero"):
        at_zero("and", x_is_zero, BOOM)


def test_a_null_operand_ends_a_strict_call() -> None:
    assert at_zero("+", Constant(None, DOUBLE), ONE_BY_X) is None


def test_if(value: Callable[..., Value]) -> None:
    one, two = (1, INT), (2.5, DOUBLE)
    assert value("if", (True, BOOLEAN), one, two) == 1.0
    assert isinstance(value("if", (True, BOOLEAN), one, two), float)
    assert value("if", (False, BOOLEAN), one, two) == 2.5
    assert value("if", (None, BOOLEAN), one, two) == 2.5


def test_coalesce_and_nullif(value: Callable[..., Value], type_of: Callable[..., str]) -> None:
    assert value("coalesce", (None, INT), (None, INT), (3, INT)) == 3
    assert value("coalesce", (None, INT)) is None
    assert value("nullif", (1, INT), (1.0, DOUBLE)) is None
    assert value("nullif", (1, INT), (2, INT)) == 1
    assert value("nullif", (1, INT), (None, INT)) == 1
    assert value("nullif", (None, INT), (1, INT)) is None
    assert type_of("nullif", INT, DOUBLE) == "INT"


@pytest.mark.parametrize(
    ("function", "nullable", "result"),
    [
        ("=", (False, False), False),
        ("=", (True, False), True),
        ("<=>", (True, True), False),
        ("isnull", (True,), False),
        ("isnotnull", (True,), False),
        ("coalesce", (True, False), False),
        ("coalesce", (True, True), True),
        ("greatest", (True, False), False),
        ("nullif", (False, False), True),
        ("in", (False, False, False), False),
        ("in", (False, True), True),
        ("array", (True,), False),
    ],
)
def test_what_can_be_null(typed: Callable[..., Typed], function: str, nullable: tuple[bool, ...], result: bool) -> None:
    arguments = [Constant(None if each else 1, INT) for each in nullable]
    assert typed(function, *arguments).nullable is result


def test_an_if_can_be_null_when_a_branch_can(typed: Callable[..., Typed]) -> None:
    null, one, unknown = Constant(None, NULL), Constant(1, INT), Constant(None, BOOLEAN)
    assert typed("if", unknown, one, one) == Typed(INT, False)
    assert typed("if", unknown, one, null) == Typed(INT, True)
    assert typed("if", unknown, one, Call("if", (unknown, null, one))) == Typed(INT, True)


def test_wrong_types(type_of: Callable[..., str]) -> None:
    with pytest.raises(TypeMismatchError, match="argument 2 of 'and' must be a BOOLEAN, not INT"):
        type_of("and", BOOLEAN, INT)
    with pytest.raises(TypeMismatchError, match=r"argument 1 of if\(\) must be a BOOLEAN, not STRING"):
        type_of("if", STRING, INT, INT)
    with pytest.raises(TypeMismatchError, match=r"the results of if\(\) have no type in common: INT and STRING"):
        type_of("if", BOOLEAN, INT, STRING)
    with pytest.raises(TypeMismatchError, match=r"the results of coalesce\(\) have no type in common"):
        type_of("coalesce", INT, STRING)
    with pytest.raises(ArityError, match=r"if\(\) takes 3 arguments, not 5"):
        type_of("if", BOOLEAN, INT, BOOLEAN, INT, INT)
    with pytest.raises(ArityError, match=r"coalesce\(\) takes at least 1 argument, not 0"):
        type_of("coalesce")
