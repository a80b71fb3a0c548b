"""Readers give what check_value gives, refusals included."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from enum import IntEnum, StrEnum

import pytest

from whence.errors import DataError
from whence.model import types
from whence.model.schema import Column, check_value, column_reader, reader
from whence.model.types import ArrayType, DecimalType, Type, Value


class Number(IntEnum):
    ONE = 1


class Word(StrEnum):
    ONE = "one"


TYPES = (
    types.STRING,
    types.INT,
    types.BIGINT,
    types.DOUBLE,
    types.BOOLEAN,
    types.DATE,
    types.TIMESTAMP,
    DecimalType(5, 2),
    DecimalType(3, 0),
    ArrayType(types.INT),
)
VALUES: tuple[object, ...] = (
    None, "a", "ä", "\ud800", Word.ONE, b"a", 0, -1, 2**31 - 1, 2**31, -(2**31) - 1, 2**63, Number.ONE, True, False,
    0.0, -0.0, 1.5, float("nan"), float("inf"), Decimal(1), Decimal("1.50"), Decimal("-0.00"), Decimal("0.00"),
    Decimal("999.99"), Decimal("1000.00"), Decimal("1.505"), Decimal("NaN"), Decimal("Infinity"),
    datetime.date(2026, 1, 1), datetime.datetime(2026, 1, 1),
    datetime.datetime(2026, 1, 1, fold=1), datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
    "2026-01-01", [1, 2], (1, None), [],
)  # fmt: skip


def outcome(check: object, value: object, column: Column) -> tuple[object, ...]:
    try:
        found: Value = check(value) if check is not check_value else check_value(value, column)  # type: ignore[operator]
    except DataError as error:
        return "refused", str(error)
    return "taken", type(found), repr(found)


@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_as_check_value(kind: Type, nullable: bool) -> None:
    column = Column("c", kind, nullable)
    read = reader(column)
    for value in VALUES:
        assert outcome(read, value, column) == outcome(check_value, value, column), repr(value)


@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_columns_as_check_value(kind: Type, nullable: bool) -> None:
    column = Column("c", kind, nullable)
    read_all = column_reader(column)
    for value in VALUES:
        for others in VALUES:
            for values in ((value,), (value, others), (others, value, value)):
                one_by_one = [outcome(check_value, each, column) for each in values]
                refused = [each for each in one_by_one if each[0] == "refused"]
                assert column_outcome(read_all, values) == (refused[:1] or one_by_one), values


def column_outcome(
    read_all: Callable[[Sequence[object]], Sequence[Value]], values: Sequence[object]
) -> list[tuple[object, ...]]:
    try:
        return [("taken", type(each), repr(each)) for each in read_all(values)]
    except DataError as error:
        return [("refused", str(error))]


def test_columns_that_need_no_change_come_back_as_they_are() -> None:
    values = (Decimal("1.50"), None, Decimal("0.00"))
    assert column_reader(Column("c", DecimalType(5, 2)))(values) is values
