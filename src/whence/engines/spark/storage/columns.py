"""The columns of stored state, as Spark and Arrow know them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from whence.errors import InternalError
from whence.model.schema import Column
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
)
from whence.session.functions import parse_type

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_BY_ARROW = {
    pa.string(): STRING,
    pa.int32(): INT,
    pa.int64(): BIGINT,
    pa.float64(): DOUBLE,
    pa.bool_(): BOOLEAN,
    pa.date32(): DATE,
    pa.timestamp("us", tz="UTC"): TIMESTAMP,
}


def columns_of_frame(schema: StructType) -> tuple[Column, ...]:
    return tuple(
        Column(field.name, parse_type(field.dataType.simpleString()), field.nullable) for field in schema.fields
    )


def columns_of_arrow(schema: pa.Schema) -> tuple[Column, ...]:
    return tuple(Column(field.name, _type(field.type), field.nullable) for field in schema)


def frame_schema(columns: tuple[Column, ...]) -> StructType:
    from pyspark.sql.types import StructField, StructType

    from whence.engines.spark.types import spark_type

    return StructType([StructField(column.name, spark_type(column.type), column.nullable) for column in columns])


def _type(kind: pa.DataType) -> Type:
    if pa.types.is_decimal128(kind):
        return DecimalType(kind.precision, kind.scale)
    if pa.types.is_list(kind):
        return ArrayType(_type(kind.value_type))
    if kind not in _BY_ARROW:
        raise InternalError(f"no column has the Arrow type {kind}")
    return _BY_ARROW[kind]
