"""The types a column can have, by their Spark SQL names, and the Python values that carry them.

    STRING str   TINYINT, SMALLINT, INT, BIGINT int   REAL, DOUBLE float   DECIMAL(p,s) decimal.Decimal   BOOLEAN bool
    BINARY bytes   DATE datetime.date   TIMESTAMP datetime.datetime without time zone   ARRAY<T> tuple
    INTERVAL YEAR TO MONTH int   INTERVAL DAY TO SECOND datetime.timedelta
    STRUCT<name: T, ...> tuple   MAP<K, V> tuple of pairs   records Record, which is equal to a tuple

Every column can also hold None unless it is declared NOT NULL. NaN is no value.

A type is a value of a class that says all there is to know of it, in a file of its family. TYPES is the registry: who
asks something of all types goes through it, and who has a value or a column asks the type itself.
"""

from __future__ import annotations

from whence.model.types.arrays import ArrayType
from whence.model.types.base import NULL, Converter, MisfitError, Row, Scalar, Type, Value, has_null
from whence.model.types.binary import BINARY
from whence.model.types.decimals import DecimalType
from whence.model.types.intervals import INTERVALS, IntervalType
from whence.model.types.maps import MapType
from whence.model.types.numbers import BIGINT, DOUBLE, INT, REAL, SMALLINT, TINYINT, IntegerType
from whence.model.types.records import Record, RecordType
from whence.model.types.strings import BOOLEAN, STRING
from whence.model.types.structs import StructType
from whence.model.types.times import DATE, TIMESTAMP

__all__ = [
    "BIGINT",
    "BINARY",
    "BOOLEAN",
    "BY_NAME",
    "DATE",
    "DOUBLE",
    "INT",
    "INTERVALS",
    "NULL",
    "REAL",
    "SMALLINT",
    "STRING",
    "TIMESTAMP",
    "TINYINT",
    "TYPES",
    "ArrayType",
    "Converter",
    "DecimalType",
    "IntegerType",
    "IntervalType",
    "MapType",
    "MisfitError",
    "Record",
    "RecordType",
    "Row",
    "Scalar",
    "StructType",
    "Type",
    "Value",
    "has_null",
]

# All types without parameters, in the order in which messages list them.
TYPES: tuple[Type, ...] = (STRING, TINYINT, SMALLINT, INT, BIGINT, REAL, DOUBLE, BOOLEAN, DATE, TIMESTAMP, BINARY)
BY_NAME = {kind.name: kind for kind in (*TYPES, *INTERVALS)}
