"""Operators and functions on numbers: Spark's types, exact results, ANSI errors."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal

import pytest

from whence.errors import ArityError, EvaluationError, TypeMismatchError
from whence.functions.types import Typed
from whence.model.terms import Call, Constant
from whence.model.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, NULL, STRING, TIMESTAMP, DecimalType, Type, Value

ONE = Constant(1, INT)
MINUS_TWO = Call("-", (Constant(2, INT),))


@pytest.mark.parametrize(
    ("function", "left", "right", "result"),
    [
        ("+", INT, INT, "INT"),
        ("-", INT, BIGINT, "BIGINT"),
        ("*", BIGINT, BIGINT, "BIGINT"),
        ("+", INT, DOUBLE, "DOUBLE"),
        ("+", DecimalType(10, 2), DOUBLE, "DOUBLE"),
        ("+", DecimalType(10, 2), DecimalType(8, 4), "DECIMAL(13,4)"),
        ("-", DecimalType(10, 2), INT, "DECIMAL(13,2)"),
        ("+", DecimalType(10, 2), BIGINT, "DECIMAL(23,2)"),
        ("+", DecimalType(10, 2), ONE, "DECIMAL(11,2)"),
        ("*", DecimalType(10, 2), DecimalType(10, 2), "DECIMAL(21,4)"),
        ("*", DecimalType(12, 2), Constant(100, INT), "DECIMAL(16,2)"),
        ("*", DecimalType(38, 10), DecimalType(38, 10), "DECIMAL(38,6)"),
        ("/", DecimalType(10, 2), DecimalType(10, 2), "DECIMAL(23,13)"),
        ("/", DecimalType(38, 18), DecimalType(38, 18), "DECIMAL(38,6)"),
        ("/", DecimalType(10, 2), INT, "DECIMAL(21,13)"),
        ("%", DecimalType(10, 2), DecimalType(5, 4), "DECIMAL(5,4)"),
        ("/", INT, INT, "DOUBLE"),
        ("/", BIGINT, INT, "DOUBLE"),
        ("%", INT, BIGINT, "BIGINT"),
        ("div", INT, INT, "BIGINT"),
        ("div", DecimalType(10, 2), INT, "BIGINT"),
        ("+", DATE, INT, "DATE"),
        ("+", INT, DATE, "DATE"),
        ("-", DATE, BIGINT, "DATE"),
        ("/", INT, NULL, "DOUBLE"),
        ("+", INT, NULL, "INT"),
        ("+", NULL, NULL, "DOUBLE"),
        ("*", NULL, DecimalType(4, 1), "DECIMAL(9,2)"),
        ("power", INT, DecimalType(4, 1), "DOUBLE"),
    ],
)
def test_binary_types(type_of: Callable[..., str], function: str, left: Type, right: Type, result: str) -> None:
    assert type_of(function, left, right) == result


@pytest.mark.parametrize(
    ("function", "arguments", "result"),
    [
        ("-", (INT,), "INT"),
        ("+", (DecimalType(5, 2),), "DECIMAL(5,2)"),
        ("-", (DecimalType(5, 2),), "DECIMAL(5,2)"),
        ("abs", (BIGINT,), "BIGINT"),
        ("round", (DOUBLE,), "DOUBLE"),
        ("round", (INT, MINUS_TWO), "INT"),
        ("round", (DecimalType(10, 4),), "DECIMAL(7,0)"),
        ("round", (DecimalType(10, 4), ONE), "DECIMAL(8,1)"),
        ("round", (DecimalType(10, 4), Constant(9, INT)), "DECIMAL(11,4)"),
        ("round", (DecimalType(3, 2), MINUS_TWO), "DECIMAL(3,0)"),
        ("floor", (DOUBLE,), "BIGINT"),
        ("ceil", (INT,), "BIGINT"),
        ("floor", (DecimalType(10, 4),), "DECIMAL(7,0)"),
        ("ceil", (DecimalType(10, 0),), "DECIMAL(10,0)"),
        ("sign", (INT,), "DOUBLE"),
        ("sqrt", (INT,), "DOUBLE"),
    ],
)
def test_unary_types(type_of: Callable[..., str], function: str, arguments: tuple[Type, ...], result: str) -> None:
    assert type_of(function, *arguments) == result


@pytest.mark.parametrize(
    ("function", "left", "right", "result"),
    [
        ("/", (7, INT), (2, INT), 3.5),
        ("%", (-7, INT), (3, INT), -1),
        ("%", (7, INT), (-3, INT), 1),
        ("%", (-7.5, DOUBLE), (2.0, DOUBLE), -1.5),
        ("%", (Decimal("-7.5"), DecimalType(3, 1)), (2, INT), Decimal("-1.5")),
        ("div", (-7, INT), (2, INT), -3),
        ("div", (7, INT), (-2, INT), -3),
        ("div", (Decimal("-7.5"), DecimalType(3, 1)), (2, INT), -3),
        ("*", (0.0, DOUBLE), (-1, INT), 0.0),
        ("-", (date(2024, 3, 1), DATE), (1, INT), date(2024, 2, 29)),
        ("+", (1, INT), (date(2024, 2, 28), DATE), date(2024, 2, 29)),
        ("+", (None, INT), (1, INT), None),
        ("/", (1, INT), (None, INT), None),
    ],
)
def test_binary_values(
    value: Callable[..., Value], function: str, left: tuple[Value, Type], right: tuple[Value, Type], result: Value
) -> None:
    computed = value(function, left, right)
    assert computed == result
    assert type(computed) is type(result)


def test_zero_has_no_sign(value: Callable[..., Value]) -> None:
    assert str(value("*", (-1.0, DOUBLE), (0.0, DOUBLE))) == "0.0"
    assert str(value("-", (0.0, DOUBLE))) == "0.0"
    assert str(value("round", (-0.2, DOUBLE))) == "0.0"
    assert str(value("*", (Decimal(-1), DecimalType(1, 0)), (Decimal(0), DecimalType(1, 0)))) == "0"
    assert str(value("-", (Decimal("0.0"), DecimalType(2, 1)))) == "0.0"


def test_decimal_results_have_their_scale(value: Callable[..., Value]) -> None:
    a, b = (Decimal("1.10"), DecimalType(3, 2)), (Decimal(3), DecimalType(1, 0))
    assert str(value("+", a, b)) == "4.10"
    assert str(value("/", a, b)) == "0.366667"
    assert str(value("*", a, Constant(2, INT))) == "2.20"


def test_abs_keeps_all_digits(value: Callable[..., Value]) -> None:
    assert value("abs", (Decimal("-" + "9" * 38), DecimalType(38, 0))) == Decimal("9" * 38)


def test_decimal_quotients_are_rounded_once(value: Callable[..., Value]) -> None:
    a, b = (Decimal(1), DecimalType(38, 0)), (Decimal(3), DecimalType(38, 0))
    assert value("/", a, b) == Decimal("0.333333")
    tie, beyond = (Decimal(5), DecimalType(38, 0)), (Decimal(10**7), DecimalType(38, 0))
    assert value("/", tie, beyond) == Decimal("0.000001")
    assert value("/", tie, (Decimal(10**7 + 1), DecimalType(38, 0))) == Decimal("0.000000")


@pytest.mark.parametrize(
    ("number", "digits", "rounded"),
    [
        ((2.5, DOUBLE), 0, 3.0),
        ((-2.5, DOUBLE), 0, -3.0),
        ((1.005, DOUBLE), 2, 1.01),
        ((125.0, DOUBLE), -1, 130.0),
        ((1e300, DOUBLE), 5, 1e300),
        ((1.5, DOUBLE), -(10**9), 0.0),
        ((1.5, DOUBLE), 10**9, 1.5),
        ((Decimal("2.345"), DecimalType(4, 3)), 2, Decimal("2.35")),
        ((Decimal("-2.345"), DecimalType(4, 3)), 2, Decimal("-2.35")),
        ((Decimal("9.95"), DecimalType(3, 2)), 1, Decimal("10.0")),
        ((25, INT), -1, 30),
        ((-25, BIGINT), -1, -30),
        ((25, INT), 3, 25),
    ],
)
def test_round_goes_half_up(
    value: Callable[..., Value], number: tuple[Value, Type], digits: int, rounded: Value
) -> None:
    computed = value("round", number, Constant(digits, BIGINT))
    assert computed == rounded
    assert type(computed) is type(rounded)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        ("+", ((2**31 - 1, INT), (1, INT)), "2147483647 + 1 does not fit INT"),
        ("*", ((2**62, BIGINT), (2, INT)), "4611686018427387904 * 2 does not fit BIGINT"),
        ("-", ((-(2**31), INT),), "-(-2147483648) does not fit INT"),
        ("abs", ((-(2**31), INT),), "abs(-2147483648) does not fit INT"),
        ("round", ((2**31 - 1, INT), Constant(-1, INT)), "round(2147483647, -1) does not fit INT"),
        ("div", ((-(2**63), BIGINT), (-1, INT)), "-9223372036854775808 div -1 does not fit BIGINT"),
        ("floor", ((1e30, DOUBLE),), "floor(1e+30) does not fit BIGINT"),
        ("*", ((1e308, DOUBLE), (10.0, DOUBLE)), "1e+308 * 10.0 is not a finite DOUBLE"),
        ("/", ((1, INT), (0, INT)), "division by zero: 1 / 0"),
        ("/", ((1.5, DOUBLE), (0.0, DOUBLE)), "division by zero: 1.5 / 0.0"),
        ("%", ((1, INT), (0, INT)), "division by zero: 1 % 0"),
        ("div", ((1, INT), (0, INT)), "division by zero: 1 div 0"),
        ("/", ((1, INT), (Decimal("0.0"), DecimalType(2, 1))), "division by zero: 1 / 0.0"),
        ("sqrt", ((-1, INT),), "sqrt(-1.0) is not a finite DOUBLE"),
        ("exp", ((1000, INT),), "exp(1000.0) is not a finite DOUBLE"),
        ("power", ((0, INT), (-1, INT)), "power(0.0, -1.0) is not a finite DOUBLE"),
        ("+", ((date(9999, 12, 31), DATE), (1, INT)), "9999-12-31 + 1 days is outside the years 1 to 9999"),
        ("-", ((date(2000, 1, 1), DATE), (2**30, BIGINT)), "is outside the years 1 to 9999"),
        (
            "%",
            ((-(2**63), BIGINT), (Decimal("3.31828739E-22"), DecimalType(38, 30))),
            "has more than 39 digits",
        ),
        ("-", ((date(2000, 1, 1), DATE), (2**40, BIGINT)), "cannot cast 1099511627776 to INT: it is out of range"),
    ],
)
def test_what_cannot_be_computed(
    value: Callable[..., Value], function: str, arguments: tuple[tuple[Value, Type], ...], message: str
) -> None:
    with pytest.raises(EvaluationError) as caught:
        value(function, *arguments)
    assert message in caught.value.message


def test_decimal_overflow(value: Callable[..., Value]) -> None:
    wide = (Decimal(10) ** 37, DecimalType(38, 0))
    with pytest.raises(EvaluationError, match=r"does not fit DECIMAL\(38,0\)"):
        value("*", wide, wide)


@pytest.mark.parametrize(
    ("function", "types", "message"),
    [
        ("+", (STRING, INT), "'+' does not work on STRING and INT"),
        ("+", (STRING, STRING), "'+' does not work on STRING and STRING"),
        ("-", (TIMESTAMP, INT), "'-' does not work on TIMESTAMP and INT"),
        ("-", (BOOLEAN,), "'-' must be a number, not BOOLEAN"),
        ("div", (DOUBLE, INT), "'div' does not work on DOUBLE and INT"),
        ("sqrt", (STRING,), "sqrt() must be a number, not STRING"),
        ("power", (INT, DATE), "argument 2 of power() must be a number, not DATE"),
        ("round", (DOUBLE, INT), "argument 2 of round() must be a constant integer"),
    ],
)
def test_wrong_types(type_of: Callable[..., str], function: str, types: tuple[Type, ...], message: str) -> None:
    with pytest.raises(TypeMismatchError) as caught:
        type_of(function, *types)
    assert caught.value.message == message


def test_wrong_number_of_arguments(type_of: Callable[..., str]) -> None:
    with pytest.raises(ArityError, match=r"'\*' takes 2 arguments, not 1"):
        type_of("*", INT)
    with pytest.raises(ArityError, match=r"'-' takes 1 or 2 arguments, not 3"):
        type_of("-", INT, INT, INT)
    with pytest.raises(ArityError, match=r"sqrt\(\) takes 1 argument, not 2"):
        type_of("sqrt", INT, INT)


def test_logarithm_of_nothing_is_null(value: Callable[..., Value], typed: Callable[..., Typed]) -> None:
    assert value("ln", (0, INT)) is None
    assert value("ln", (1, INT)) == 0.0
    assert typed("ln", DOUBLE, nullable=False) == Typed(DOUBLE, True)


def test_a_divisor_is_looked_at_first(value: Callable[..., Value]) -> None:
    """As in Spark: where it is NULL, a dividend that cannot be computed is no error."""
    failing = Call("/", (Constant(1, INT), Constant(0, INT)))
    assert value("/", failing, (None, DOUBLE)) is None
    with pytest.raises(EvaluationError, match="division by zero"):
        value("/", (None, DOUBLE), failing)
    assert value("*", (None, DOUBLE), failing) is None
