"""Micro-batches of a stream of Spark become commits; verdicts are those of the events themselves."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.documents_orders import QUERY, TEMPLATE, events, expected, write
from whence.documents import Documents


def test_orders_in_micro_batches(spark: SparkSession, tmp_path: Path) -> None:
    told = events(300)
    files = tmp_path / "files"
    files.mkdir()
    write(told, files, batches=4)
    frame = (
        spark.readStream.schema("key STRING, stream STRING, fragment STRING")
        .option("maxFilesPerTrigger", 1)
        .json(str(files))
    )
    orders = Documents(TEMPLATE, name="orders")
    quick = orders.query(QUERY, name="quick")
    version = orders.database.version
    following = orders.follow(frame, checkpoint=str(tmp_path / "checkpoint"))
    try:
        following.processAllAvailable()
    finally:
        following.stop()
    assert orders.database.version - version == 4
    assert quick.statuses() == expected(told)
