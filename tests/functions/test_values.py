"""The door for user data."""

from __future__ import annotations

import enum
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pytest

from whence.errors import DataError
from whence.model.schema import Column, check_value
from whence.model.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    Type,
    Value,
)

D52 = DecimalType(5, 2)


class Shouted(str):
    def __str__(self) -> str:
        return self.upper()


class Size(enum.IntEnum):
    LARGE = 3


@pytest.mark.parametrize(
    ("given", "kind", "stored"),
    [
        ("äö😀", STRING, "äö😀"),
        (Shouted("red"), STRING, "red"),
        (np.str_("x"), STRING, "x"),
        (7, INT, 7),
        (Size.LARGE, INT, 3),
        (np.int64(7), INT, 7),
        (-(2**63), BIGINT, -(2**63)),
        (np.uint8(7), BIGINT, 7),
        (1.5, DOUBLE, 1.5),
        (2, DOUBLE, 2.0),
        (np.float32(1.5), DOUBLE, 1.5),
        (np.float64(1.5), DOUBLE, 1.5),
        (Decimal("0.1"), DOUBLE, 0.1),
        (Decimal("1.5"), D52, Decimal("1.50")),
        (Decimal("1E+2"), D52, Decimal("100.00")),
        (np.int32(7), D52, Decimal("7.00")),
        (True, BOOLEAN, True),
        (np.bool_(False), BOOLEAN, False),
        (date(2026, 1, 31), DATE, date(2026, 1, 31)),
        ("2026-01-31", DATE, date(2026, 1, 31)),
        (datetime(2026, 1, 31), DATE, date(2026, 1, 31)),
        (np.datetime64("2026-01-31"), DATE, date(2026, 1, 31)),
        (datetime(2026, 1, 31, 12), TIMESTAMP, datetime(2026, 1, 31, 12)),
        ("2026-01-31 12:00:00", TIMESTAMP, datetime(2026, 1, 31, 12)),
        ("2026-01-31", TIMESTAMP, datetime(2026, 1, 31)),
        (date(2026, 1, 31), TIMESTAMP, datetime(2026, 1, 31)),
        (datetime(2026, 1, 31, 12, tzinfo=UTC), TIMESTAMP, datetime(2026, 1, 31, 12)),
        (datetime(2026, 1, 31, 12, tzinfo=timezone(timedelta(hours=2))), TIMESTAMP, datetime(2026, 1, 31, 10)),
        (np.datetime64("2026-01-31T12:00:00.000000000", "ns"), TIMESTAMP, datetime(2026, 1, 31, 12)),
        ([1, None, 3], ArrayType(INT), (1, None, 3)),
        ((), ArrayType(STRING), ()),
        (np.array([1.5, 2.5]), ArrayType(DOUBLE), (1.5, 2.5)),
        ([["a"], []], ArrayType(ArrayType(STRING)), (("a",), ())),
    ],
)
def test_accepted(given: object, kind: Type, stored: Value) -> None:
    value = check_value(given, Column("c", kind))
    assert value == stored
    assert type(value) is type(stored)


def test_normal_forms() -> None:
    assert str(check_value(-0.0, Column("c", DOUBLE))) == "0.0"
    assert str(check_value(Decimal("-0"), Column("c", D52))) == "0.00"
    assert str(check_value(Decimal(1), Column("c", D52))) == "1.00"
    assert check_value(datetime(2026, 1, 1, fold=1), Column("c", TIMESTAMP)) == datetime(2026, 1, 1)


@pytest.mark.parametrize(
    ("given", "kind", "reason"),
    [
        (1, STRING, "it is an int, not a string"),
        (b"x", STRING, "it is a bytes, not a string"),
        ("\udc80", STRING, "half of a surrogate pair"),
        (True, INT, "it is a bool, not an integer"),
        (np.bool_(True), INT, "it is a bool, not an integer"),
        (1.0, INT, "it is a float, not an integer"),
        ("1", INT, "it is a str, not an integer"),
        (2**31, INT, "it is not between -2147483648 and 2147483647"),
        pytest.param(10**5000, BIGINT, "it is not between", id="5000 digits"),
        (2**63, BIGINT, "it is not between"),
        (float("nan"), DOUBLE, "NaN and Infinity are no values"),
        (float("-inf"), DOUBLE, "NaN and Infinity are no values"),
        (np.float64("nan"), DOUBLE, "NaN and Infinity are no values"),
        (2**53 + 1, DOUBLE, "no DOUBLE is exactly this integer"),
        (10**400, DOUBLE, "it is too large"),
        (False, DOUBLE, "it is a bool, not a number"),
        ("1.5", DOUBLE, "it is a str, not a number"),
        (0.1, D52, "it is a float, not a Decimal"),
        ("0.1", D52, "it is a str, not a Decimal"),
        (Decimal("NaN"), D52, "NaN and Infinity are no values"),
        (Decimal("sNaN"), DOUBLE, "it is too large"),
        (Decimal("0.001"), D52, "it has more than 2 digits after the point"),
        (1000, D52, "it has more than 3 digits before the point"),
        (Decimal("1E+999999"), D52, "it has more than 3 digits before the point"),
        (1, BOOLEAN, "it is an int, not True or False"),
        ("true", BOOLEAN, "it is a str, not True or False"),
        ("2026-02-30", DATE, "it is not a date"),
        ("20260130", DATE, "it is not a date"),
        (datetime(2026, 1, 1, 12), DATE, "it has a time of day"),
        (20260101, DATE, "it is an int, not a date"),
        ("soon", TIMESTAMP, "it is not a timestamp"),
        (1.5, TIMESTAMP, "it is a float, not a timestamp"),
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2))), TIMESTAMP, "outside the years 1 to 9999"),
        ("abc", ArrayType(STRING), "it is a str, not a list"),
        ([1, "x"], ArrayType(INT), "element 2 is 'x': it is a str, not an integer"),
        (object(), INT, "it is an object, not an integer"),
    ],
)
def test_refused(given: object, kind: Type, reason: str) -> None:
    with pytest.raises(DataError) as caught:
        check_value(given, Column("cost", kind))
    message = caught.value.message
    assert message.startswith(f"column 'cost' is {kind}, and ")
    assert reason in message
    assert len(message) < 250


def test_null() -> None:
    assert check_value(None, Column("c", INT)) is None
    with pytest.raises(DataError, match="column 'c' is NOT NULL, and the value is NULL"):
        check_value(None, Column("c", INT, nullable=False))


def test_pandas_times() -> None:
    pandas = pytest.importorskip("pandas")
    column = Column("c", TIMESTAMP)
    stored = check_value(pandas.Timestamp("2026-01-31 12:00"), column)
    assert stored == datetime(2026, 1, 31, 12)
    assert type(stored) is datetime
    with pytest.raises(DataError, match="it is not a time"):
        check_value(pandas.NaT, column)
    with pytest.raises(DataError, match="it has nanoseconds"):
        check_value(pandas.Timestamp(1), column)


def test_the_message_has_a_way_out() -> None:
    with pytest.raises(DataError) as caught:
        check_value(0.1, Column("price", D52))
    assert str(caught.value).splitlines() == [
        "column 'price' is DECIMAL(5,2), and 0.1 does not fit: it is a float, not a Decimal",
        "hint: decimal.Decimal('0.1') is exact",
    ]
