"""A database on Spark, on a session that is there or one that is made for it."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

from whence.cluster.database import SparkDatabase
from whence.engines.reference.fixpoint import Limits
from whence.errors import UnsupportedError

MAINTENANCE = ("auto", "absorption", "dred", "recompute")


def connect_spark(
    spark: object, path: str | None, maintenance: str, limits: Limits, keep_versions: int
) -> SparkDatabase:
    """`spark` is a session, or None to take the one there is, or a new one on this machine."""
    if maintenance not in MAINTENANCE:
        known = ", ".join(f'"{name}"' for name in MAINTENANCE)
        raise UnsupportedError(f"there is no maintenance {maintenance!r} on Spark", hint=f"there is {known}")
    if spark is None:
        spark = SparkSession.builder.appName("whence").getOrCreate()
    if not isinstance(spark, SparkSession):
        raise UnsupportedError(
            f"a {type(spark).__name__} of Spark Connect cannot be used",
            hint="whence needs a SparkSession in its own process",
        )
    use_this_python(spark)
    return SparkDatabase(spark, path, maintenance, limits, keep_versions)


def use_this_python(spark: SparkSession) -> None:
    """Let workers on this machine run the Python that has whence, which need not be the first one on the PATH."""
    context = spark.sparkContext
    if (context.master or "").startswith("local[") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable
