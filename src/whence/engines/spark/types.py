"""Columns and rows between whence, Spark and Arrow.

A frame names its columns by their places: c0, c1, ... A TIMESTAMP has no time zone; Spark keeps it as the moment it is
in UTC, which is the time zone of every session that whence works in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyspark.sql.types as spark
from pyspark.sql.types import StructField, StructType

from whence.model.schema import Relation
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
    Row,
    Type,
    Value,
)

_TYPES: dict[Type, tuple[spark.DataType, pa.DataType]] = {
    STRING: (spark.StringType(), pa.string()),
    INT: (spark.IntegerType(), pa.int32()),
    BIGINT: (spark.LongType(), pa.int64()),
    DOUBLE: (spark.DoubleType(), pa.float64()),
    BOOLEAN: (spark.BooleanType(), pa.bool_()),
    DATE: (spark.DateType(), pa.date32()),
    TIMESTAMP: (spark.TimestampType(), pa.timestamp("us", tz="UTC")),
    NULL: (spark.NullType(), pa.null()),
}


def spark_type(kind: Type) -> spark.DataType:
    match kind:
        case DecimalType(precision=precision, scale=scale):
            return spark.DecimalType(precision, scale)
        case ArrayType(element=element):
            return spark.ArrayType(spark_type(element))
    return _TYPES[kind][0]


def arrow_type(kind: Type) -> pa.DataType:
    match kind:
        case DecimalType(precision=precision, scale=scale):
            return pa.decimal128(precision, scale)
        case ArrayType(element=element):
            return pa.list_(arrow_type(element))
    return _TYPES[kind][1]


def column_names(arity: int) -> list[str]:
    return [f"c{position}" for position in range(arity)]


def frame_schema(relation: Relation) -> StructType:
    """The schema of a relation's frame: its columns and nothing else."""
    return StructType(
        [
            StructField(name, spark_type(column.type), column.nullable)
            for name, column in zip(column_names(relation.arity), relation.columns, strict=True)
        ]
    )


def rows_to_arrow(rows: Sequence[Row], relation: Relation) -> pa.Table:
    fields = [
        pa.field(name, arrow_type(column.type), column.nullable)
        for name, column in zip(column_names(relation.arity), relation.columns, strict=True)
    ]
    columns = zip(*rows, strict=True) if rows else [()] * relation.arity
    arrays = [pa.array(values, field.type) for values, field in zip(columns, fields, strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def with_columns(table: pa.Table, columns: Mapping[str, pa.Array]) -> pa.Table:
    """With more columns. A table without any has as many rows as these have values."""
    fields = [*table.schema, *(pa.field(name, column.type) for name, column in columns.items())]
    return pa.Table.from_arrays([*table.columns, *columns.values()], schema=pa.schema(fields))


def rows_from_arrow(table: pa.Table, relation: Relation) -> list[Row]:
    """The rows of a table with columns c0, c1, ..., and perhaps others."""
    if not relation.arity:
        return [()] * table.num_rows
    return list(zip(*columns_from_arrow(table, relation), strict=True))


def columns_from_arrow(table: pa.Table, relation: Relation) -> list[list[Value]]:
    return [
        values_from_arrow(table.column(name), column.type)
        for name, column in zip(column_names(relation.arity), relation.columns, strict=True)
    ]


def values_to_arrow(values: Sequence[Value], kind: Type) -> pa.Array:
    return pa.array(values, arrow_type(kind))


def values_from_arrow(array: pa.Array | pa.ChunkedArray, kind: Type) -> list[Value]:
    """The values of an array of that type. Whatever numpy can, it does, which is many times faster than Arrow alone."""
    match kind:
        case ArrayType(element=element):
            return [_as_tuple(value, element) for value in array.to_pylist()]
        case _ if kind in (INT, BIGINT, DOUBLE, BOOLEAN) and array.null_count:
            return _nullable(array)
        case _ if kind == TIMESTAMP:
            return _listed(array.cast(pa.timestamp("us")))
        case _ if kind == NULL:
            return [None] * len(array)
    return _listed(array)


def _listed(array: pa.Array | pa.ChunkedArray) -> list[Value]:
    flat = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    values: list[Value] = flat.to_numpy(zero_copy_only=False).tolist()
    return values


def _nullable(array: pa.Array | pa.ChunkedArray) -> list[Value]:
    """Numbers with NULLs among them, for which numpy has no place."""
    present = _listed(array.is_valid())
    values = iter(_listed(array.drop_null()))
    return [next(values) if there else None for there in present]


def _as_tuple(value: list[Any] | None, element: Type) -> Value:
    """Arrow gives lists, and moments with their time zone."""
    if value is None:
        return None
    match element:
        case ArrayType(element=inner):
            return tuple(map(partial(_as_tuple, element=inner), value))
        case _ if element == TIMESTAMP:
            return tuple(moment if moment is None else moment.replace(tzinfo=None) for moment in value)
    return tuple(value)
