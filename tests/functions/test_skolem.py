"""Skolem values: strings that show their making, different for different arguments."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.functions.evaluate import compile_term
from whence.functions.skolem import skolem_value
from whence.functions.types import Typed, infer
from whence.model.terms import Constant, Skolem, Variable
from whence.model.types import INT, STRING, Value

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-50, 50),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0),
    st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-9, max_value=9).map(lambda d: d + 0),
    st.dates(),
    st.datetimes(),
    st.text(alphabet='a,"\\()#[] 1-.', max_size=8),
    st.sampled_from(["NULL", "true", "1", "1.5", "1.5BD", "2026-01-01", "#f(a)", "#f(a", '#f(")")', "#f()(", "[a]"]),
)
values: st.SearchStrategy[Value] = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.builds(skolem_value, st.sampled_from("fg"), st.lists(inner, max_size=3)),
    ),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "#f()"),
        (("a", "b c", 3), '#f(a,"b c",3)'),
        (("3", "NULL", None), '#f("3","NULL",NULL)'),
        ((True, "true"), '#f(true,"true")'),
        ((1.5, Decimal("1.50")), "#f(1.5,1.5BD)"),
        ((datetime.date(2026, 1, 31), datetime.datetime(2026, 1, 31)), "#f(2026-01-31,2026-01-31 00:00:00)"),
        (('say "hi"', "a\\b"), '#f("say \\"hi\\"","a\\\\b")'),
        ((("a", None), ()), "#f([a,NULL],[])"),
        (("#g(a)",), "#f(#g(a))"),
        (("#g(a",), '#f("#g(a")'),
        (("",), '#f("")'),
    ],
)
def test_text(arguments: tuple[Value, ...], text: str) -> None:
    assert skolem_value("f", arguments) == text


def test_nesting_does_not_double_the_length() -> None:
    value = skolem_value("f", ['"'])
    for _ in range(50):
        value = skolem_value("f", [value])
    assert len(value) < 300


def identity(value: Value) -> object:
    """Equal where the values are the same, types included, down to the last element."""
    return type(value), tuple(map(identity, value)) if isinstance(value, tuple) else value


@given(st.lists(values, max_size=3), st.lists(values, max_size=3))
def test_different_arguments_give_different_values(left: list[Value], right: list[Value]) -> None:
    same = identity(tuple(left)) == identity(tuple(right))
    assert (skolem_value("f", left) == skolem_value("f", right)) is same


def test_a_skolem_term_is_never_null() -> None:
    term = Skolem("f", (Variable("x"), Constant("b c", STRING)))
    types = {"x": Typed(INT, True)}
    assert infer(term, types, {}) == Typed(STRING, False)
    evaluate = compile_term(term, types, {}, {})
    assert evaluate({"x": 1}) == '#f(1,"b c")'
    assert evaluate({"x": None}) == '#f(NULL,"b c")'
