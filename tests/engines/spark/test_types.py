"""Rows go to Spark and come back as they were."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.engines.spark.random_terms import RELATION, VALUES, random_row
from whence.engines.spark.types import (
    arrow_frame,
    frame_schema,
    rows_from_arrow,
    rows_to_arrow,
    values_from_arrow,
    values_to_arrow,
)
from whence.model.schema import Column, Relation
from whence.model.types import ArrayType, Row, Type, Value


def every_row() -> list[Row]:
    chance = Random(1)
    return [random_row(chance) for _ in range(200)] + [(None,) * RELATION.arity]


def test_rows_go_through_spark(spark: SparkSession) -> None:
    rows = every_row()
    frame = arrow_frame(spark, rows_to_arrow(rows, RELATION))
    assert frame.schema == frame_schema(RELATION)
    back = rows_from_arrow(frame.toArrow(), RELATION)
    # As text, which tells 1 from 1.0 from True, and 1.5 from 1.50.
    assert list(map(repr, back)) == list(map(repr, rows))


@pytest.mark.parametrize("rows", [every_row(), []])
def test_rows_go_through_arrow(rows: list[Row]) -> None:
    table = rows_to_arrow(rows, RELATION)
    assert list(map(repr, rows_from_arrow(table, RELATION))) == list(map(repr, rows))
    split = pa.concat_tables([table.slice(0, 7), table.slice(7)])
    assert list(map(repr, rows_from_arrow(split, RELATION))) == list(map(repr, rows))


@pytest.mark.parametrize("kind", VALUES, ids=str)
@pytest.mark.parametrize("missing", [(), (None,)])
def test_values_in_arrays_of_arrays(kind: Type, missing: tuple[None, ...]) -> None:
    values: list[Value] = [(VALUES[kind][0], *missing), (), *missing]
    nested = ArrayType(ArrayType(kind))
    assert values_from_arrow(values_to_arrow([tuple(values)], nested), nested) == [tuple(values)]


def test_other_columns_are_passed_over() -> None:
    relation = Relation("r", (Column("a", RELATION.columns[0].type),))
    table = rows_to_arrow([("x",)], relation).append_column("n", pa.array([3]))
    assert rows_from_arrow(table, relation) == [("x",)]


def test_a_relation_without_columns_has_rows() -> None:
    relation = Relation("r", ())
    assert rows_from_arrow(pa.table({"n": [1, 1]}), relation) == [(), ()]
