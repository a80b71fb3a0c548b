"""Many documents at once, as micro-batches of a stream of Spark, against one evaluation of all events."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.documents_orders import QUERY, TEMPLATE, events, expected, write
from benchmarks.harness import Report, main
from whence.documents import Documents


@dataclass(frozen=True)
class Sizes:
    orders: int = 100_000
    batches: int = 20


def run(sizes: Sizes) -> Report:
    from pyspark.sql import SparkSession

    report = Report(
        "documents_spark",
        "Many documents, in micro-batches of Spark",
        f"{sizes.orders:,} orders, each a document with a stream of payments and one of deliveries, arrive in "
        f"{sizes.batches} micro-batches. Which were delivered within 4 seconds of a payment, which may still be, and "
        "which never will, is known after each; at the end it is compared with one pass over all events.",
    )
    told = events(sizes.orders)
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    with tempfile.TemporaryDirectory() as directory:
        files = Path(directory) / "files"
        files.mkdir()
        write(told, files, sizes.batches)
        frame = spark.readStream.schema("key STRING, stream STRING, fragment STRING")
        orders = Documents(TEMPLATE, name="orders")
        quick = orders.query(QUERY, name="quick")
        started = time.perf_counter()
        following = orders.follow(
            frame.option("maxFilesPerTrigger", 1).json(str(files)), checkpoint=f"{directory}/checkpoint"
        )
        following.processAllAvailable()
        seconds = time.perf_counter() - started
        following.stop()
    spark.stop()
    found = quick.statuses()
    assert found == expected(told), "the verdicts differ from those of one pass over all events"
    report.figure("orders, all verdicts as expected", len(found), "documents")
    for status in ("true", "not yet", "never"):
        report.figure(f"verdict {status!r}", sum(each == status for each in found.values()), "documents")
    report.figure("events", len(told), "updates")
    report.figure("time", seconds, "s")
    report.figure("updates per second", len(told) / seconds, "")
    return report


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(orders=200, batches=2))
