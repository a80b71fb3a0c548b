"""Comparisons: which types go together, and in what order values stand."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal

import pytest

from whence.errors import EvaluationError, TypeMismatchError
from whence.functions.types import Typed, infer
from whence.model.span import SourceText, Span
from whence.model.terms import Call, Constant, Term, Variable
from whence.model.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    Type,
    Value,
)

INTS = ArrayType(INT)


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [
        ((1, INT), (2, BIGINT)),
        ((1, INT), (1.5, DOUBLE)),
        ((1, INT), (Decimal("1.5"), DecimalType(2, 1))),
        ((Decimal("1.49"), DecimalType(3, 2)), (1.5, DOUBLE)),
        (("Z", STRING), ("a", STRING)),
        (("a", STRING), ("ab", STRING)),
        ((False, BOOLEAN), (True, BOOLEAN)),
        ((date(2024, 1, 1), DATE), (datetime(2024, 1, 1, 0, 0, 1), TIMESTAMP)),
        (((1, None), INTS), ((1, 0), INTS)),
        (((1,), INTS), ((1, None), INTS)),
        (((), INTS), ((0,), INTS)),
        ((((1,), (None,)), ArrayType(INTS)), (((1,), (2,)), ArrayType(INTS))),
    ],
)
def test_order(value: Callable[..., Value], smaller: tuple[Value, Type], larger: tuple[Value, Type]) -> None:
    expected = {"<": True, "<=": True, ">": False, ">=": False, "=": False, "!=": True, "<=>": False}
    assert {op: value(op, smaller, larger) for op in expected} == expected
    assert value("<", larger, smaller) is False
    assert value("=", smaller, smaller) is True
    assert value("<=", larger, larger) is True
    assert value("greatest", smaller, larger) == value("greatest", larger, smaller)
    assert value("=", (value("least", smaller, larger), larger[1]), larger) is False


def test_a_date_equals_its_midnight(value: Callable[..., Value]) -> None:
    assert value("=", (date(2024, 1, 1), DATE), (datetime(2024, 1, 1), TIMESTAMP)) is True
    assert value("in", (datetime(2024, 1, 1), TIMESTAMP), (date(2024, 1, 1), DATE)) is True


def test_greatest_and_least_skip_null(value: Callable[..., Value], type_of: Callable[..., str]) -> None:
    assert value("greatest", (None, INT), (1, INT), (3, BIGINT)) == 3
    assert value("least", (None, INT), (None, INT)) is None
    assert type_of("greatest", INT, DOUBLE) == "DOUBLE"


@pytest.mark.parametrize("function", ["=", "<", "<=>", "in", "nullif", "greatest"])
def test_text_constants_are_read_as_dates(type_of: Callable[..., str], function: str) -> None:
    type_of(function, DATE, Constant("1994-01-01", STRING))
    type_of(function, Constant("1994-01-01 12:00", STRING), TIMESTAMP)
    with pytest.raises(TypeMismatchError) as caught:
        type_of(function, DATE, Constant("1994-13-01", STRING))
    assert str(caught.value) == "'1994-13-01' is not a DATE\nhint: write it like '1994-01-31'"
    with pytest.raises(TypeMismatchError, match="'1994-01-01 12:00' is not a DATE"):
        type_of(function, DATE, Constant("1994-01-01 12:00", STRING))
    with pytest.raises(TypeMismatchError):
        type_of(function, DATE, STRING)


def test_text_constants_compare_as_dates(value: Callable[..., Value]) -> None:
    assert value(">=", (date(1994, 1, 1), DATE), Constant("1994-1-1", STRING)) is True
    assert value("<", (datetime(1994, 1, 1, 11), TIMESTAMP), Constant("1994-01-01 12:00", STRING)) is True
    options = [Constant(text, STRING) for text in ("1994-01-02", "1994-01-01")]
    assert value("in", (date(1994, 1, 1), DATE), *options) is True


@pytest.mark.parametrize(
    ("left", "right"),
    [(INT, STRING), (BOOLEAN, INT), (DATE, INT), (STRING, DATE), (INTS, INT), (INTS, ArrayType(STRING))],
)
def test_what_does_not_compare(type_of: Callable[..., str], left: Type, right: Type) -> None:
    with pytest.raises(TypeMismatchError, match=f"'=' does not work on {left} and {right}"):
        type_of("=", left, right)


def test_null_compares_with_everything(type_of: Callable[..., str]) -> None:
    for kind in (INT, STRING, DATE, INTS, NULL):
        assert type_of("=", kind, Constant(None, NULL)) == "BOOLEAN"


def placed(source: SourceText, text: str, term: Term) -> Term:
    start = source.text.index(text)
    span = Span(source, start, start + len(text))
    match term:
        case Variable():
            return Variable(term.name, span=span)
        case Constant():
            return Constant(term.value, term.type, span=span)
        case Call():
            return Call(term.function, term.arguments, span=span)
    return term


def test_the_error_shows_the_place_and_the_way_out() -> None:
    source = SourceText("<sql>", "a.cost = name")
    cost, name = placed(source, "a.cost", Variable("cost")), placed(source, "name", Variable("name"))
    term = placed(source, "a.cost = name", Call("=", (cost, name)))
    with pytest.raises(TypeMismatchError) as caught:
        infer(term, {"cost": typed_as(INT), "name": typed_as(STRING)}, {})
    assert str(caught.value).splitlines() == [
        "'=' does not work on INT and STRING",
        " --> <sql>:1:1",
        "  |",
        "1 | a.cost = name",
        "  | ^^^^^^^^^^^^^",
        "hint: CAST(name AS INT) converts it",
    ]


def test_in_blames_the_option() -> None:
    source = SourceText("<sql>", "x in (1, 'a')")
    option = placed(source, "'a'", Constant("a", STRING))
    term = placed(source, "x in (1, 'a')", Call("in", (Variable("x"), Constant(1, INT), option)))
    with pytest.raises(TypeMismatchError, match="'in' does not work on INT and STRING") as caught:
        infer(term, {"x": typed_as(INT)}, {})
    assert caught.value.span is not None
    assert caught.value.span.text == "'a'"


def typed_as(kind: Type) -> Typed:
    return Typed(kind, True)


def test_arrays_of_different_types_are_not_compared(value: Callable[..., Value]) -> None:
    for function in ("=", "<", "<=>", "nullif"):
        with pytest.raises(TypeMismatchError, match="does not work on ARRAY<INT> and ARRAY<DOUBLE>"):
            value(function, ((1,), INTS), ((1.5,), ArrayType(DOUBLE)))


def test_an_option_that_fails_is_reached_before_later_ones(value: Callable[..., Value]) -> None:
    failing = Call("div", (Constant(1, INT), Constant(0, INT)))
    with pytest.raises(EvaluationError, match="division by zero"):
        value("in", (1, INT), failing, Constant(1, INT))
    assert value("in", (1, INT), Constant(1, INT), failing) is True
