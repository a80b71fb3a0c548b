"""Functions of dates and timestamps."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime

import pytest

from whence.errors import EvaluationError, TypeMismatchError
from whence.model.terms import Constant
from whence.model.types import BIGINT, DATE, INT, STRING, TIMESTAMP, Type, Value

LEAP = (date(2024, 2, 29), DATE)
NOON = (datetime(2024, 8, 14, 12, 34, 56, 789012), TIMESTAMP)
ZERO = Constant(0, BIGINT)


@pytest.mark.parametrize(
    ("part", "of_date", "of_timestamp"),
    [
        ("year", 2024, 2024),
        ("quarter", 1, 3),
        ("month", 2, 8),
        ("day", 29, 14),
        ("dayofweek", 5, 4),
        ("hour", 0, 12),
        ("minute", 0, 34),
        ("second", 0, 56),
    ],
)
def test_parts(value: Callable[..., Value], part: str, of_date: int, of_timestamp: int) -> None:
    assert value(part, LEAP) == of_date
    assert value(part, NOON) == of_timestamp


def test_sunday_is_the_first_day(value: Callable[..., Value]) -> None:
    assert value("dayofweek", (date(2024, 3, 3), DATE)) == 1
    assert value("dayofweek", (date(2024, 3, 2), DATE)) == 7


def test_days(value: Callable[..., Value]) -> None:
    assert value("date_add", LEAP, (1, INT)) == date(2024, 3, 1)
    assert value("date_sub", NOON, (14, BIGINT)) == date(2024, 7, 31)
    assert value("datediff", NOON, LEAP) == 167
    assert value("date_add", Constant("2024-02-28", STRING), (1, INT)) == date(2024, 2, 29)


@pytest.mark.parametrize(
    ("start", "months", "end"),
    [
        (date(2024, 1, 31), 1, date(2024, 2, 29)),
        (date(2023, 1, 31), 1, date(2023, 2, 28)),
        (date(2024, 2, 29), 12, date(2025, 2, 28)),
        (date(2024, 3, 31), -1, date(2024, 2, 29)),
        (date(2024, 1, 15), -13, date(2022, 12, 15)),
        (date(2024, 2, 29), 1, date(2024, 3, 29)),
    ],
)
def test_months_end_where_the_month_ends(value: Callable[..., Value], start: date, months: int, end: date) -> None:
    assert value("add_months", (start, DATE), (months, INT)) == end
    assert value("add_interval", (start, DATE), (months, INT), Constant(0, INT), ZERO) == end


def test_intervals(value: Callable[..., Value], type_of: Callable[..., str]) -> None:
    assert type_of("add_interval", DATE, INT, INT, ZERO) == "DATE"
    assert type_of("add_interval", DATE, INT, INT, Constant(1, BIGINT)) == "TIMESTAMP"
    assert type_of("add_interval", TIMESTAMP, INT, INT, ZERO) == "TIMESTAMP"
    moved = value("add_interval", (date(2024, 1, 31), DATE), (1, INT), (1, INT), Constant(3_600_000_000, BIGINT))
    assert moved == datetime(2024, 3, 1, 1)
    assert value("add_interval", NOON, (0, INT), (-1, INT), (-789012, BIGINT)) == datetime(2024, 8, 13, 12, 34, 56)


@pytest.mark.parametrize(
    ("unit", "truncated"),
    [
        ("year", datetime(2024, 1, 1)),
        ("YYYY", datetime(2024, 1, 1)),
        ("quarter", datetime(2024, 7, 1)),
        ("month", datetime(2024, 8, 1)),
        ("week", datetime(2024, 8, 12)),
        ("DAY", datetime(2024, 8, 14)),
        ("hour", datetime(2024, 8, 14, 12)),
        ("minute", datetime(2024, 8, 14, 12, 34)),
        ("second", datetime(2024, 8, 14, 12, 34, 56)),
        ("millisecond", datetime(2024, 8, 14, 12, 34, 56, 789000)),
        ("microsecond", datetime(2024, 8, 14, 12, 34, 56, 789012)),
    ],
)
def test_date_trunc(value: Callable[..., Value], unit: str, truncated: datetime) -> None:
    assert value("date_trunc", (unit, STRING), NOON) == truncated
    assert value("date_trunc", Constant(unit, STRING), NOON) == truncated


def test_unknown_units(value: Callable[..., Value], type_of: Callable[..., str]) -> None:
    with pytest.raises(TypeMismatchError) as caught:
        type_of("date_trunc", Constant("moth", STRING), TIMESTAMP)
    assert str(caught.value) == "date_trunc() knows no unit 'moth'\nhint: did you mean 'month'?"
    with pytest.raises(EvaluationError, match=r"date_trunc\(\) knows no unit 'moth'"):
        value("date_trunc", ("moth", STRING), NOON)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("date_add", ((date(9999, 12, 31), DATE), (1, INT))),
        ("date_add", ((date(2024, 1, 1), DATE), (2**31 - 1, BIGINT))),
        ("add_months", ((date(1, 1, 1), DATE), (-1, INT))),
        ("add_months", ((date(1, 1, 1), DATE), (2**31 - 1, BIGINT))),
        ("add_interval", (NOON, (0, INT), (0, INT), (2**62, BIGINT))),
        ("date_trunc", (("week", STRING), (datetime(1, 1, 1), TIMESTAMP))),
    ],
)
def test_the_calendar_ends(
    value: Callable[..., Value], function: str, arguments: tuple[tuple[Value, Type], ...]
) -> None:
    if function == "date_trunc":
        assert value(function, *arguments) == datetime(1, 1, 1)  # a Monday
        return
    with pytest.raises(EvaluationError, match="is outside the years 1 to 9999"):
        value(function, *arguments)


def test_wrong_types(type_of: Callable[..., str]) -> None:
    with pytest.raises(TypeMismatchError, match=r"year\(\) must be a DATE or a TIMESTAMP, not INT"):
        type_of("year", INT)
    with pytest.raises(TypeMismatchError, match=r"argument 1 of date_add\(\) must be a DATE, not STRING"):
        type_of("date_add", STRING, INT)
    with pytest.raises(TypeMismatchError, match="'soon' is not a DATE"):
        type_of("date_add", Constant("soon", STRING), INT)
