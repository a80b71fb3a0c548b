"""The numbers of tuples are the same in Spark and in this process, for every type."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from random import Random
from time import perf_counter

import pyspark.sql.functions as F
import pytest
from pyspark.sql import SparkSession

from whence.engines.spark.tuple_ids import absence_id, absence_ids, row_ids, tuple_id
from whence.engines.spark.types import arrow_frame, rows_to_arrow
from whence.incremental.plan import Pattern
from whence.model.schema import Column, Relation
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
    Row,
    StructType,
    Type,
    Value,
)

EDGES: dict[Type, Sequence[Value]] = {
    INT: (0, 1, -1, 2**31 - 1, -(2**31)),
    BIGINT: (0, 1, -1, 2**63 - 1, -(2**63)),
    DOUBLE: (0.0, 1.5, -1e-308, 1.7976931348623157e308, 5e-324),
    BOOLEAN: (True, False),
    STRING: ("", "a", "zwölf Boxkämpfer", "\N{SNOWMAN}" * 40, "x" * 31, "x" * 32, "\0", "\N{GRINNING FACE}"),
    DATE: (datetime.date(1970, 1, 1), datetime.date(1, 1, 1), datetime.date(9999, 12, 31)),
    TIMESTAMP: (
        datetime.datetime(1970, 1, 1),
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999),
        datetime.datetime(1, 1, 1),
        datetime.datetime(9999, 12, 31, 23, 59, 59, 999_999),
    ),
    DecimalType(10, 2): (Decimal("0.00"), Decimal("-99999999.99"), Decimal("1.10")),
    DecimalType(18, 0): (Decimal(10**18 - 1), Decimal(-(10**18) + 1)),
    DecimalType(19, 4): (Decimal("0.0000"), Decimal("0.0128"), Decimal("-0.0128"), Decimal("999999999999999.9999")),
    DecimalType(38, 0): (Decimal(10**38 - 1), Decimal(-(10**38) + 1), Decimal(-128), Decimal(128), Decimal(2**64)),
    ArrayType(INT): ((), (1,), (1, None, 2), (None,)),
    ArrayType(ArrayType(STRING)): ((), ((),), (("a", None), None, ("b",))),
    StructType([("a", INT), ("b", STRING)]): ((1, "a"), (None, "a"), (1, None), (None, None)),
    ArrayType(StructType([("s", StructType([("d", DATE)]))])): ((), (((datetime.date(2026, 1, 31),),), None, (None,))),
    ArrayType(TIMESTAMP): ((datetime.datetime(2026, 1, 31, 12), None),),
}
TYPES = tuple(EDGES)


def relation(*types: Type) -> Relation:
    return Relation("r", tuple(Column(f"column {number}", kind) for number, kind in enumerate(types)))


def random_value(rng: Random, kind: Type) -> Value:
    if rng.random() < 0.1:
        return None
    if rng.random() < 0.3:
        return rng.choice(EDGES[kind])
    match kind:
        case DecimalType(precision=precision, scale=scale):
            return Decimal(rng.randrange(-(10**precision) + 1, 10**precision)).scaleb(-scale)
        case ArrayType(element=element) if element in EDGES:
            return tuple(random_value(rng, element) for _ in range(rng.randrange(4)))
    match kind.name:
        case "INT":
            return rng.randrange(-(2**31), 2**31)
        case "BIGINT":
            return rng.randrange(-(2**63), 2**63)
        case "DOUBLE":
            return rng.uniform(-1e9, 1e9)
        case "STRING":
            return "".join(chr(rng.choice((97, 228, 8364, 128512))) for _ in range(rng.randrange(70)))
        case "DATE":
            return datetime.date.fromordinal(rng.randrange(1, 3_652_059))
        case "TIMESTAMP":
            return datetime.datetime(1, 1, 1) + datetime.timedelta(microseconds=rng.randrange(315_000_000_000_000_000))
    return rng.choice(EDGES[kind])


def test_every_type_is_hashed_as_spark_does_it(spark: SparkSession) -> None:
    rng = Random(7)
    wide = relation(*TYPES)
    most = max(map(len, EDGES.values()))
    rows: list[Row] = [tuple(EDGES[kind][number % len(EDGES[kind])] for kind in TYPES) for number in range(most)]
    rows += [tuple(random_value(rng, kind) for kind in TYPES) for _ in range(300)]
    rows.append((None,) * len(TYPES))
    frame = arrow_frame(spark, rows_to_arrow(rows, wide))
    columns = [F.col(name) for name in frame.columns]
    alone = [tuple_id("r", [column]).alias(f"t{number}") for number, column in enumerate(columns)]
    found = frame.select(tuple_id("r", columns).alias("all"), *alone).toArrow()
    assert found["all"].to_pylist() == list(map(row_ids("r", wide), rows))
    for number, kind in enumerate(TYPES):
        number_of = row_ids("r", relation(kind))
        assert found[f"t{number}"].to_pylist() == [number_of((row[number],)) for row in rows], kind


def test_a_row_without_columns(spark: SparkSession) -> None:
    assert spark.range(1).select(tuple_id("r", [])).collect()[0][0] == row_ids("r", relation())(())


@pytest.mark.parametrize(
    ("column", "key", "held", "others"),
    [
        (INT, BIGINT, [1, -5, None], [2**40]),
        (BIGINT, INT, [1, -5, None], []),
        (INT, DOUBLE, [1.0, None], [1.5, 1e300]),
        (DOUBLE, INT, [3, None], []),
        (INT, DecimalType(10, 2), [Decimal("7.00")], [Decimal("7.50"), Decimal("99999999.99")]),
        (DecimalType(5, 2), BIGINT, [3, -999], [10**15]),
        (DecimalType(30, 4), DecimalType(10, 6), [Decimal("3.125000")], [Decimal("3.000001")]),
        (STRING, STRING, ["a", None], []),
    ],
)
def test_an_absence_goes_by_the_same_number_whatever_the_types(
    spark: SparkSession, column: Type, key: Type, held: Sequence[Value], others: Sequence[Value]
) -> None:
    """Keys as a rule has them, in Spark and here, and as a row has them that appears later."""
    stored = relation(STRING, column)
    pattern = Pattern("r", (1,), ())
    keys: list[Row] = [(value,) for value in (*held, *others)]
    frame = arrow_frame(spark, rows_to_arrow(keys, relation(key)))
    found = [row[0] for row in frame.select(absence_id(pattern, stored, [F.col("c0")])).collect()]
    here = list(map(absence_ids(pattern, stored), keys))
    assert found[: len(held)] == here[: len(held)]
    assert len(found) == len(here), "keys that no row can have have a number too"


def test_positions_tell_absences_apart() -> None:
    stored = relation(INT, INT)
    first, second = (absence_ids(Pattern("r", (position,), ()), stored) for position in (0, 1))
    both = absence_ids(Pattern("r", (0, 1), ()), stored)
    numbers = [first((5,)), second((5,)), both((5, None)), both((None, 5)), row_ids("r", stored)((5, 5))]
    assert len(set(numbers)) == len(numbers)


def test_many_rows_are_numbered_quickly() -> None:
    rows: list[Row] = [(number, f"name {number}", number / 7) for number in range(100_000)]
    number_of = row_ids("r", relation(INT, STRING, DOUBLE))
    started = perf_counter()
    assert len(set(map(number_of, rows))) == len(rows)
    assert perf_counter() - started < 3
