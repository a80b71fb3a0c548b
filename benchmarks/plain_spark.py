"""Spark without whence: the best plain PySpark that we can write, as an opponent."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

NAME = "plain Spark"


def local_spark(memory: str = "8g", master: str = "local[2]", **settings: str) -> SparkSession:
    """Spark on the two processors of this machine, as a user would set it up for data of this size."""
    spark = (
        SparkSession.builder.config(map={**settings})
        .master(master)
        .appName("whence benchmarks")
        .config("spark.driver.memory", memory)
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def link_frame(spark: SparkSession, links: Sequence[tuple[int, int]]) -> DataFrame:
    columns = [pa.array(column, pa.int32()) for column in zip(*links, strict=True)]
    return spark.createDataFrame(pa.table(columns, names=["src", "dst"])).localCheckpoint()


def reachable(links: DataFrame) -> tuple[DataFrame, int]:
    """All reachable pairs and their number, semi-naive: each round joins only what the round before has found.

    Rows lie by their hash, so that the anti join against everything moves only the new ones; lineage is cut in every
    round, and the links are small enough to be everywhere.
    """
    small = F.broadcast(links.withColumnsRenamed({"src": "start", "dst": "end"}))
    known = links.distinct().repartition(2, "src", "dst").localCheckpoint()
    news, total = known, known.count()
    while True:
        derived = news.join(small, news["src"] == small["end"]).select(F.col("start").alias("src"), "dst").distinct()
        found = derived.join(known, ["src", "dst"], "left_anti").localCheckpoint()
        count = found.count()
        if not count:
            return known, total
        total += count
        former = known
        known = known.union(found).coalesce(2).localCheckpoint()
        former.unpersist()
        news = found
