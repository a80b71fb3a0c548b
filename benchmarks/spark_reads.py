"""A table with changes that are not in its base yet, against the same rows in a table of Parquet."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from pyspark.sql import DataFrame, SparkSession

import whence
from benchmarks import plain_spark
from benchmarks.harness import SCRATCH, Report, Timing, main

TABLE = "CREATE TABLE item(id BIGINT NOT NULL, orders BIGINT NOT NULL, price DOUBLE NOT NULL, PRIMARY KEY (id))"
ROWS = "SELECT id, id % 500000 AS orders, id / 7.0D AS price FROM range({})"
FULL = "SELECT sum(price), max(orders) FROM {read}"
BY_KEY = "SELECT * FROM {{read}} WHERE id = {}"
PARQUET = "a table of Parquet"

Ways: TypeAlias = dict[str, Callable[[], DataFrame]]


@dataclass(frozen=True)
class Sizes:
    rows: int = 1_500_000
    changes: int = 10
    runs: int = 7


def run(sizes: Sizes) -> Report:
    report = Report(
        "spark_reads",
        "Reading on Spark",
        f"A table of {sizes.rows:,} rows, of which {sizes.changes} have gone and {sizes.changes} have come in commits "
        "of their own since its base was written, is read in every way that there is, as is a table of Parquet with "
        "the same rows. They take turns. The first reads are of what the session has not read before.",
    )
    spark = plain_spark.local_spark()
    directory = SCRATCH / "spark_reads" / str(sizes.rows)
    shutil.rmtree(directory, ignore_errors=True)
    state, plain = directory / "state", str(directory / "plain")
    with whence.connect(state, engine="spark") as db:
        db.execute(TABLE)
        db.insert("item", spark.sql(ROWS.format(sizes.rows)))
        for number in range(sizes.changes):
            db.delete("item", [(number,)])
            db.insert("item", [(sizes.rows + number, 0, 0.5)])
        db.df("item").write.parquet(plain)
        spark.read.parquet(plain).createOrReplaceTempView("plain")
        ways: Ways = {
            "spark.sql": lambda: spark.table("item"),
            "db.df": lambda: db.df("item"),
            "whence.read": lambda: whence.read(spark, state, "item"),
            'format("whence")': lambda: spark.read.format("whence").option("view", "item").load(str(state)),
        }
        for what, asked in (("full", FULL), ("by key", BY_KEY.format(sizes.rows // 2))):
            _first(spark, report, what, asked, ways)
            _later(spark, sizes, report, what, asked, ways)
    spark.stop()
    return report


def _first(spark: SparkSession, report: Report, what: str, asked: str, ways: Ways) -> None:
    opponent = _seconds(asked, lambda: spark.table("plain"))
    report.figure(f"the first read, {what}: {PARQUET}", opponent, "s")
    for way, frame in ways.items():
        report.figure(f"the first read, {what}: {way}", _seconds(asked, frame), "s")


def _later(spark: SparkSession, sizes: Sizes, report: Report, what: str, asked: str, ways: Ways) -> None:
    seconds: dict[str, list[float]] = {way: [] for way in (PARQUET, *ways)}
    for _ in range(sizes.runs):
        for way, frame in {PARQUET: lambda: spark.table("plain"), **ways}.items():
            seconds[way].append(_seconds(asked, frame))
    expected = asked_of(spark.table("plain"), asked).collect()
    for way, frame in ways.items():
        assert asked_of(frame(), asked).collect() == expected
        report.compare(f"a later read, {what}: {way}", Timing(seconds[way]), PARQUET, Timing(seconds[PARQUET]))
        report.figure(f"jobs, {what}: {way}", _jobs(asked, frame()), "jobs")
    report.figure(f"jobs, {what}: {PARQUET}", _jobs(asked, spark.table("plain")), "jobs")


def asked_of(frame: DataFrame, asked: str) -> DataFrame:
    return frame.sparkSession.sql(asked, read=frame)


def _seconds(asked: str, frame: Callable[[], DataFrame]) -> float:
    began = time.perf_counter()
    asked_of(frame(), asked).collect()
    return time.perf_counter() - began


def _jobs(asked: str, frame: DataFrame) -> int:
    context, group = frame.sparkSession.sparkContext, f"spark_reads-{time.monotonic_ns()}"
    context.setJobGroup(group, "counted")
    asked_of(frame, asked).collect()
    return len(context.statusTracker().getJobIdsForGroup(group))


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(rows=20_000, changes=3, runs=5))
