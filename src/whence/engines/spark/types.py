"""Columns and rows between whence, Spark and Arrow.

A frame names its columns by their places: c0, c1, ... A TIMESTAMP has no time zone, here as there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
import pyspark.sql.types as spark
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType

from whence.errors import UnsupportedError
from whence.model.schema import Relation, owner
from whence.model.types import ArrayType, DecimalType, MapType, Row, Type, Value
from whence.model.types import StructType as WhenceStruct
from whence.model.types.intervals import DayTimeType, YearMonthType


def spark_type(kind: Type) -> spark.DataType:
    match kind:
        case DecimalType(precision=precision, scale=scale):
            return spark.DecimalType(precision, scale)
        case ArrayType(element=element):
            return spark.ArrayType(spark_type(element))
        case MapType(key=key, value=value):
            return spark.MapType(spark_type(key), spark_type(value))
        case WhenceStruct(fields=fields):
            return StructType([StructField(name, spark_type(each)) for name, each in fields])
        case DayTimeType():
            # Arrow has one type for all of them, and so they are told apart outside only.
            return spark.DayTimeIntervalType()
    found: spark.DataType = getattr(spark, kind.spark_name)()
    return found


def public_sql(column: str, kind: Type) -> str:
    """A column of the engine as users see it."""
    if isinstance(kind, YearMonthType):
        return f"CAST(CAST({column} AS INTERVAL MONTH) AS {kind})"
    return f"CAST({column} AS {kind})" if isinstance(kind, DayTimeType) else column


def held_column(column: Column, kind: Type) -> Column:
    """A column of a user's frame, of this type, as the engine has it."""
    if isinstance(kind, YearMonthType):
        return column.cast("interval month").cast("int")
    return column.cast(spark_type(kind))


def in_months(frame: DataFrame) -> DataFrame:
    """A user's frame with numbers of months, which Arrow has no type for otherwise."""
    return frame.withColumns(
        {
            field.name: frame[f"`{field.name}`"].cast("interval month").cast("int")
            for field in frame.schema
            if isinstance(field.dataType, spark.YearMonthIntervalType)
        }
    )


def check_columns(relations: Iterable[Relation]) -> None:
    """Raises where rows could not be told apart: Spark compares no maps."""
    for relation in relations:
        for column in relation.columns:
            if not column.type.is_comparable:
                raise UnsupportedError(
                    f"column {column.name!r} of {owner(relation.name)!r} is {column.type}, and Spark compares no maps",
                    span=column.span or relation.span,
                    hint="keep map_entries(m), an array of structs; map_from_entries(a) makes a map of it again",
                )


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
        pa.field(name, column.type.arrow(), column.nullable)
        for name, column in zip(column_names(relation.arity), relation.columns, strict=True)
    ]
    columns = zip(*rows, strict=True) if rows else [()] * relation.arity
    kinds = (column.type for column in relation.columns)
    arrays = [kind.to_arrow(values) for values, kind in zip(columns, kinds, strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def arrow_frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    """The table as a frame. Left alone, PySpark takes a time without a zone for one in the zone of the session."""
    return spark.createDataFrame(table, from_arrow_schema(table.schema, prefer_timestamp_ntz=True))


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
    return kind.to_arrow(values)


def values_from_arrow(array: pa.Array | pa.ChunkedArray, kind: Type) -> list[Value]:
    """The values of an array of that type. Whatever numpy can, it does, which is many times faster than Arrow alone."""
    if kind.inner:
        return kind.from_arrow(array.to_pylist())
    if pa.types.is_null(array.type):
        return [None] * len(array)
    has_null = not pa.types.is_temporal(array.type) and pa.types.is_primitive(array.type) and array.null_count
    return _nullable(array) if has_null else _listed(array)


def _listed(array: pa.Array | pa.ChunkedArray) -> list[Value]:
    flat = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    values: list[Value] = flat.to_numpy(zero_copy_only=False).tolist()
    return values


def _nullable(array: pa.Array | pa.ChunkedArray) -> list[Value]:
    """Numbers with NULLs among them, for which numpy has no place."""
    present = _listed(array.is_valid())
    values = iter(_listed(array.drop_null()))
    return [next(values) if there else None for there in present]
