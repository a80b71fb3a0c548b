"""Sessions of Spark: ours, which have no time zone, and columns that come from those of users, which have one."""

from __future__ import annotations

import pyspark.sql.functions as F
from pyspark.sql import Column, SparkSession
from pyspark.sql.types import ArrayType, DataType, StructField, StructType, TimestampType

from whence.errors import StateError, WhenceError
from whence.model.types import Type
from whence.session.functions import parse_type

# What a session needs to say the same as every other engine.
SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
}


def own_session(spark: SparkSession) -> SparkSession:
    """A session beside the user's, in which a moment and what a clock shows are the same."""
    own = spark.newSession()
    for name, value in SETTINGS.items():
        own.conf.set(name, value)
    return own


def is_running(spark: SparkSession) -> bool:
    """Whether a session is not stopped, as far as it knows itself."""
    return spark.sparkContext._jsc is not None  # noqa: SLF001 - what Spark has for it asks the one that is gone


def check_running(spark: SparkSession) -> None:
    if not is_running(spark):
        raise StateError(
            "the SparkSession is stopped",
            hint="make another one, and connect() with that; a database in a directory has all that was committed",
        )


def type_of(field: StructField) -> Type | None:
    """The type of a column in whence's terms, if it has such a type."""
    try:
        return parse_type(field.dataType.simpleString())
    except WhenceError:
        return None


def zoneless(value: Column, kind: DataType) -> Column:
    """A column of any session with every moment as what a clock shows in UTC, whatever the zone of the session.

    Spark's own cast shows what a clock shows in that zone, and there some hours come twice.
    """
    match kind:
        case TimestampType():
            epoch = F.lit("1970-01-01 00:00:00").cast("timestamp_ntz")
            return F.timestamp_add("MICROSECOND", F.unix_micros(value), epoch)
        case ArrayType(elementType=element) if _has_moments(element):
            return F.transform(value, lambda each: zoneless(each, element))
        case StructType(fields=fields) if _has_moments(kind):
            parts = (zoneless(value.getField(each.name), each.dataType).alias(each.name) for each in fields)
            return F.when(value.isNotNull(), F.struct(*parts))
    return value


def _has_moments(kind: DataType) -> bool:
    match kind:
        case ArrayType(elementType=element):
            return _has_moments(element)
        case StructType(fields=fields):
            return any(_has_moments(each.dataType) for each in fields)
    return isinstance(kind, TimestampType)
