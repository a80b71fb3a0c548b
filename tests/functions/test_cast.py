"""CAST between all types."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.errors import EvaluationError, TypeMismatchError
from whence.functions.evaluate import compile_term, convert
from whence.functions.types import Typed, infer
from whence.model.span import SourceText, Span
from whence.model.terms import Cast, Variable
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

D52 = DecimalType(5, 2)
NOON = datetime(2024, 2, 29, 12, 0, 0, 500000)


@pytest.mark.parametrize(
    ("value", "source", "target", "result"),
    [
        (" 12 ", STRING, INT, 12),
        ("-12", STRING, BIGINT, -12),
        ("1e3", STRING, DOUBLE, 1000.0),
        (".5", STRING, DOUBLE, 0.5),
        ("1.005", STRING, D52, Decimal("1.01")),
        ("1e2", STRING, D52, Decimal("100.00")),
        ("Yes", STRING, BOOLEAN, True),
        (" f ", STRING, BOOLEAN, False),
        ("2024-2-9", STRING, DATE, date(2024, 2, 9)),
        ("2024", STRING, DATE, date(2024, 1, 1)),
        ("2024-02-29 12:30:00", STRING, DATE, date(2024, 2, 29)),
        ("2024-02-29T", STRING, DATE, date(2024, 2, 29)),
        ("\t1\x00\n", STRING, INT, 1),
        ("1.5d", STRING, DOUBLE, 1.5),
        (5e-324, DOUBLE, STRING, "4.9E-324"),
        (2e-323, DOUBLE, STRING, "2.0E-323"),
        ("2024-02", STRING, DATE, date(2024, 2, 1)),
        ("2024-02-29T12:00:00.5Z", STRING, TIMESTAMP, NOON),
        ("2024-02-29 13:00:00.500+01:00", STRING, TIMESTAMP, NOON),
        ("2024-02-29", STRING, TIMESTAMP, datetime(2024, 2, 29)),
        (12, INT, STRING, "12"),
        (12, INT, BIGINT, 12),
        (12, BIGINT, INT, 12),
        (12, INT, DOUBLE, 12.0),
        (12, INT, D52, Decimal("12.00")),
        (0, INT, BOOLEAN, False),
        (86400, INT, TIMESTAMP, datetime(1970, 1, 2)),
        (-1.9, DOUBLE, INT, -1),
        (1.005, DOUBLE, D52, Decimal("1.01")),
        (0.5, DOUBLE, BOOLEAN, True),
        (1.5, DOUBLE, TIMESTAMP, datetime(1970, 1, 1, 0, 0, 1, 500000)),
        (Decimal("-1.99"), D52, INT, -1),
        (Decimal("1.25"), D52, DOUBLE, 1.25),
        (Decimal("1.25"), D52, DecimalType(2, 1), Decimal("1.3")),
        (Decimal("1.50"), D52, STRING, "1.50"),
        (Decimal("0.0000001"), DecimalType(10, 7), STRING, "0.0000001"),
        (Decimal("1.5"), D52, TIMESTAMP, datetime(1970, 1, 1, 0, 0, 1, 500000)),
        (Decimal("0." + "9" * 30), DecimalType(38, 30), TIMESTAMP, datetime(1970, 1, 1, 0, 0, 0, 999999)),
        (True, BOOLEAN, INT, 1),
        (True, BOOLEAN, DOUBLE, 1.0),
        (False, BOOLEAN, D52, Decimal("0.00")),
        (True, BOOLEAN, STRING, "true"),
        (date(2024, 2, 29), DATE, STRING, "2024-02-29"),
        (date(2024, 2, 29), DATE, TIMESTAMP, datetime(2024, 2, 29)),
        (NOON, TIMESTAMP, DATE, date(2024, 2, 29)),
        (NOON, TIMESTAMP, STRING, "2024-02-29 12:00:00.5"),
        (NOON, TIMESTAMP, BIGINT, 1709208000),
        (NOON, TIMESTAMP, DOUBLE, 1709208000.5),
        (NOON, TIMESTAMP, DecimalType(12, 1), Decimal("1709208000.5")),
        (datetime(1969, 12, 31, 23, 59, 59, 500000), TIMESTAMP, INT, -1),
        ((1, None), ArrayType(INT), ArrayType(STRING), ("1", None)),
        (("1", "2"), ArrayType(STRING), ArrayType(DOUBLE), (1.0, 2.0)),
        (((1, None), ()), ArrayType(ArrayType(INT)), STRING, "[[1, null], []]"),
        (None, NULL, INT, None),
        (None, STRING, INT, None),
    ],
)
def test_convert(value: Value, source: Type, target: Type, result: Value) -> None:
    converted = convert(value, source, target)
    assert converted == result
    assert type(converted) is type(result)


@pytest.mark.parametrize(
    ("value", "source", "target", "message"),
    [
        ("1.5", STRING, INT, "cannot cast '1.5' to INT: it is not a whole number"),
        ("", STRING, INT, "cannot cast '' to INT: it is not a whole number"),
        ("3000000000", STRING, INT, "cannot cast '3000000000' to INT: it is out of range"),
        ("9" * 10000, STRING, BIGINT, "to BIGINT: it is not a whole number"),
        ("٣", STRING, INT, "cannot cast '٣' to INT"),
        ("nan", STRING, DOUBLE, "cannot cast 'nan' to DOUBLE"),
        ("1e999", STRING, DOUBLE, "cannot cast '1e999' to DOUBLE"),
        ("x", STRING, D52, "cannot cast 'x' to DECIMAL(5,2): it is not a number"),
        ("1e999999999", STRING, D52, "to DECIMAL(5,2): it is out of range"),
        ("1000", STRING, D52, "to DECIMAL(5,2): it is out of range"),
        ("maybe", STRING, BOOLEAN, "cannot cast 'maybe' to BOOLEAN"),
        ("2023-02-29", STRING, DATE, "cannot cast '2023-02-29' to DATE"),
        ("2023-02-28 25:00", STRING, TIMESTAMP, "cannot cast '2023-02-28 25:00' to TIMESTAMP"),
        ("0001-01-01 00:00+23:00", STRING, TIMESTAMP, "to TIMESTAMP"),
        (2**31, BIGINT, INT, "cannot cast 2147483648 to INT: it is out of range"),
        (1e30, DOUBLE, BIGINT, "cannot cast 1e+30 to BIGINT: it is out of range"),
        (1e30, DOUBLE, D52, "to DECIMAL(5,2): it is out of range"),
        (1e30, DOUBLE, TIMESTAMP, "to TIMESTAMP: it is out of range"),
        (Decimal("999.99"), D52, DecimalType(3, 1), "cannot cast 999.99 to DECIMAL(3,1): it is out of range"),
        (2**62, BIGINT, TIMESTAMP, "to TIMESTAMP: it is out of range"),
        (datetime(2100, 1, 1), TIMESTAMP, INT, "cannot cast 2100-01-01 00:00:00 to INT: it is out of range"),
        (("1", "x"), ArrayType(STRING), ArrayType(INT), "cannot cast 'x' to INT"),
    ],
)
def test_values_that_do_not_convert(value: Value, source: Type, target: Type, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        convert(value, source, target)
    assert message in caught.value.message
    assert len(caught.value.message) < 200


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (DATE, INT),
        (INT, DATE),
        (DATE, BOOLEAN),
        (TIMESTAMP, BOOLEAN),
        (BOOLEAN, DATE),
        (BOOLEAN, TIMESTAMP),
        (STRING, ArrayType(INT)),
        (ArrayType(INT), INT),
        (ArrayType(DATE), ArrayType(INT)),
    ],
)
def test_there_is_no_such_cast(source: Type, target: Type) -> None:
    with pytest.raises(TypeMismatchError, match=f"there is no CAST from {source} to {target}"):
        infer(Cast(Variable("x"), target), {"x": Typed(source, False)}, {})
    with pytest.raises(TypeMismatchError, match="there is no CAST"):
        convert(1, source, target)


def test_a_cast_keeps_what_can_be_null() -> None:
    for nullable in (True, False):
        assert infer(Cast(Variable("x"), INT), {"x": Typed(STRING, nullable)}, {}) == Typed(INT, nullable)


def test_a_failing_cast_knows_its_place() -> None:
    span = Span(SourceText("<sql>", "SELECT CAST(x AS INT)"), 7, 21)
    evaluate = compile_term(Cast(Variable("x"), INT, span=span), {"x": Typed(STRING, True)}, {}, {})
    assert evaluate({"x": "12"}) == 12
    assert evaluate({"x": None}) is None
    with pytest.raises(EvaluationError) as caught:
        evaluate({"x": "twelve"})
    assert caught.value.span == span


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0.0"),
        (1.5, "1.5"),
        (100.0, "100.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (-1.25e-10, "-1.25E-10"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
    ],
)
def test_doubles_are_written_as_spark_writes_them(number: float, text: str) -> None:
    assert convert(number, DOUBLE, STRING) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_survive_being_written(number: float) -> None:
    assert convert(convert(number, DOUBLE, STRING), STRING, DOUBLE) == number


@given(st.datetimes())
def test_timestamps_survive_being_written(moment: datetime) -> None:
    assert convert(convert(moment, TIMESTAMP, STRING), STRING, TIMESTAMP) == moment
