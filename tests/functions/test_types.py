"""The registry of types: whatever asks something of every type gets an answer from each of them."""

from __future__ import annotations

import datetime
from contextlib import suppress
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

import whence
from whence.errors import EvaluationError
from whence.functions.widening import common_type, fits
from whence.lab.network.values import ValueReader, ValueWriter
from whence.lang.datalog.parse import parse_datalog
from whence.model.schema import Column, check_value, column_reader, reader
from whence.model.terms import Constant
from whence.model.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    BY_NAME,
    DATE,
    DOUBLE,
    INT,
    INTERVALS,
    NULL,
    REAL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    TYPES,
    ArrayType,
    DecimalType,
    MapType,
    StructType,
    Type,
)
from whence.model.types.base import castable, converter
from whence.session.functions import parse_type
from whence.web.cells import Cells, RequestLimits

# Values of every type, the smaller ones first. A type that is new in the registry needs some here as well.
EXAMPLES: dict[Type, tuple[Any, ...]] = {
    STRING: ("", "a'b", 'say "it"\n\\', "ö"),
    TINYINT: (-128, 0, 127),
    SMALLINT: (-(2**15), 3, 2**15 - 1),
    INT: (-(2**31), -1, 0, 2**31 - 1),
    BIGINT: (-(2**63), -1, 0, 7, 2**31, 2**63 - 1),
    REAL: (-1.5, 0.0, 0.10000000149011612, 3.4028234663852886e38),
    DOUBLE: (-1.5e300, -0.1, 0.0, 5e-324, 12345678.9),
    BOOLEAN: (False, True),
    DATE: (datetime.date(1, 1, 1), datetime.date(1969, 12, 31), datetime.date(2026, 1, 31)),
    TIMESTAMP: (
        datetime.datetime(1, 1, 1),
        datetime.datetime(2026, 1, 31, 12, 0, 0, 500_000),
    ),
    BINARY: (b"", b"\x00\x7f", b"a'b"),
    **{kind: tuple(kind.made(number * kind.step) for number in (-31, 0, 1, 2000)) for kind in INTERVALS},
    DecimalType(5, 2): (Decimal("-999.99"), Decimal("0.00"), Decimal("1.50")),
    DecimalType(38, 0): (Decimal(-(10**37)), Decimal(3)),
    ArrayType(BIGINT): ((), (None,), (1, None), (2,)),
    ArrayType(ArrayType(DATE)): (((),), ((None, datetime.date(2026, 1, 31)), None)),
    StructType([("a", INT), ("odd `name`", STRING)]): ((None, "a'b"), (1, None), (1, ""), (2, None)),
    MapType(STRING, INT): ((), (("a", None),), (("a", 1), ("b", 2)), (("b", 1),)),
    MapType(DATE, ArrayType(STRING)): ((), ((datetime.date(2026, 1, 31), ("x", None)),)),
    ArrayType(StructType([("at", DATE), ("in", StructType([("n", DecimalType(5, 2))]))])): (
        (),
        (None,),
        ((datetime.date(2026, 1, 31), (Decimal("1.50"),)), (None, None)),
    ),
}
EVERY = [pytest.param(kind, id=kind.name) for kind in EXAMPLES]
VALUES = [pytest.param(kind, value, id=f"{kind}-{value!r}") for kind, values in EXAMPLES.items() for value in values]


def test_every_type_has_examples() -> None:
    assert [kind for kind in TYPES if kind not in EXAMPLES] == []


def test_every_name_means_one_type() -> None:
    for names in (
        [name for kind in TYPES for name in kind.sqlglot],
        [name for kind in TYPES for name in (kind.name, *kind.aliases, *kind.souffle)],
        [name for kind in TYPES for name in kind.cast_functions],
    ):
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("kind", EVERY)
def test_a_type_is_found_by_its_name_in_both_languages(kind: Type) -> None:
    assert parse_type(kind.name) == kind
    (relation,) = parse_datalog(f".decl t(x: {kind})").relations
    assert relation.columns[0].type == kind


@pytest.mark.parametrize(("kind", "value"), VALUES)
def test_a_value_of_a_type_is_taken_as_it_is(kind: Type, value: Any) -> None:
    column = Column("x", kind)
    assert isinstance(value, kind.python)
    for read in (lambda one: check_value(one, column), reader(column), lambda one: column_reader(column)([one])[0]):
        taken = read(value)
        assert (taken, type(taken)) == (value, type(value))


@pytest.mark.parametrize(("kind", "value"), VALUES)
def test_a_constant_reads_back_with_its_type(kind: Type, value: Any) -> None:
    for constant in (value, None):
        (rule,) = parse_datalog(f"t({kind.datalog_constant(constant)}).").rules
        assert rule.head.terms == (Constant(constant, kind),)
    db = whence.connect()
    db.execute(f"CREATE VIEW v AS SELECT {kind.sql_constant(value)} AS x, {kind.sql_constant(None)} AS y")
    assert [column.type for column in db.catalog().relations["v"].columns] == [kind, kind]
    assert db.rows("v") == {(value, None)}


@pytest.mark.parametrize(("kind", "value"), VALUES)
def test_a_value_is_stored_and_comes_back(kind: Type, value: Any) -> None:
    stored = kind.to_sqlite(value)
    assert isinstance(stored, str | int | float)
    assert kind.from_sqlite(stored) == value
    array = pa.array([value, None], kind.arrow())
    assert column_reader(Column("x", kind))(array.to_pylist()) == [value, None]
    writer = ValueWriter()
    writer.value(value)
    assert ValueReader(bytes(writer.data)).value() == value


@pytest.mark.parametrize(("kind", "value"), VALUES)
def test_text_reads_back_where_text_is_read(kind: Type, value: Any) -> None:
    text = converter(kind, STRING)(value)
    assert isinstance(text, str)
    if castable(STRING, kind):
        assert converter(STRING, kind)(text) == value


@pytest.mark.parametrize("kind", EVERY)
def test_values_have_an_order(kind: Type) -> None:
    key = kind.sort_key or (lambda value: value)
    for small, large in pairwise(EXAMPLES[kind]):
        assert key(small) < key(large)
        if kind.has_ordinal:
            assert kind.ordinal(small) < kind.ordinal(large)


@pytest.mark.parametrize("kind", EVERY)
def test_spark_hashes_bytes(kind: Type) -> None:
    if not kind.inner:
        assert len({kind.spark_bytes(value) for value in EXAMPLES[kind]}) == len(EXAMPLES[kind])


@pytest.mark.parametrize(("kind", "value"), VALUES)
def test_the_page_shows_every_value(kind: Type, value: Any) -> None:
    (shown,) = Cells(RequestLimits()).row((value,))
    assert isinstance(shown, str | int | float | list), kind


@pytest.mark.parametrize("source", EVERY)
@pytest.mark.parametrize("target", EVERY)
def test_a_cast_gives_values_of_the_type(source: Type, target: Type) -> None:
    if fits(source, target):
        assert common_type([source, target]) == target
        convert = converter(source, target)
        for value in EXAMPLES[source]:
            assert target.accept(convert(value)) == convert(value)
    elif castable(source, target):
        convert = converter(source, target)
        for value in EXAMPLES[source]:
            with suppress(EvaluationError):
                result = convert(value)
                assert target.accept(result) == result


def test_null_is_no_type_of_a_column() -> None:
    assert NULL not in TYPES
    assert "NULL" not in BY_NAME
    assert all(common_type([NULL, kind]) == kind for kind in TYPES)
