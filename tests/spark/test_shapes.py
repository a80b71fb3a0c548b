"""Queries of all shapes: values and types as in Spark."""

from __future__ import annotations

from pyspark.sql import SparkSession

from tests.lang.sql.shapes import AS_IN_SPARK
from tests.spark.query_shapes import differences, in_spark


def test_as_in_spark(spark: SparkSession) -> None:
    in_spark(spark)
    assert not differences(spark, AS_IN_SPARK)
