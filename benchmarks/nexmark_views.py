"""Each query of Nexmark, q0 to q22, as a view by itself while events come, against Spark computing it again."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

import whence
from benchmarks import nexmark_events, plain_spark
from benchmarks.harness import Report, Stopwatch, main
from benchmarks.nexmark import TABLES
from benchmarks.nexmark_events import Events
from benchmarks.nexmark_queries import QUERIES, SCHEMA

START = datetime.datetime.fromisoformat("2026-01-01 07:59:57")
TIMES = ("date_time", "expires")
SIDE = [(key, f"value {key}") for key in range(20)]


@dataclass(frozen=True)
class Sizes:
    events: int = 100_000
    commit: int = 1_000


def run(sizes: Sizes) -> Report:
    report = Report(
        "nexmark_views",
        "Each query of Nexmark by itself",
        f"{sizes.events:,} events in commits of {sizes.commit:,}, as tuples; each of q0 to q22, as Spark SQL, is the "
        "only view of a database. Spark computes the query again over all events; in the end the rows are compared. "
        "q12 counts by the time of bids, since a view has no clock.",
    )
    events = nexmark_events.make(sizes.events)
    tables = [given_rows(events, kind) for kind in range(len(TABLES))]
    spark = plain_spark.local_spark()
    try:
        _in_spark(spark, tables)
        for name, query in QUERIES.items():
            watch, recompute = _measure(spark, events, tables, sizes, query)
            report.compare(f"{name}: a commit", watch.timing, plain_spark.NAME, recompute.timing)
            report.figure(name, sizes.events / sum(watch.seconds), "events per second")
    finally:
        spark.stop()
    return report


def given_rows(events: Events, kind: int) -> list[tuple[Any, ...]]:
    """All events of a kind: times are timestamps, and bids have the page they come from, and something to read."""
    columns = {name: column.tolist() for name, column in events.columns[kind].items()}
    for name in TIMES:
        if name in columns:
            columns[name] = [START + datetime.timedelta(milliseconds=at) for at in columns[name]]
    if kind == nexmark_events.BID:
        pairs = list(zip(columns["auction"], columns["bidder"], strict=True))
        columns["url"] = [
            f"https://www.nexmark.com/{auction % 7}/item/{bidder % 5}.htm?query=1&channel_id={bidder % 9}"
            for auction, bidder in pairs
        ]
        columns["extra"] = ["ccba"[: bidder % 5] * (auction % 3) for auction, bidder in pairs]
    return list(zip(*columns.values(), strict=True))


def _measure(
    spark: SparkSession, events: Events, tables: Sequence[list[tuple[Any, ...]]], sizes: Sizes, query: str
) -> tuple[Stopwatch, Stopwatch]:
    watch, recompute = Stopwatch(), Stopwatch()
    with whence.connect() as db:
        db.execute(SCHEMA)
        db.insert("side", SIDE)
        db.execute(f"CREATE VIEW v AS {query}")
        for start in range(0, sizes.events, sizes.commit):
            between = events.between(start, start + sizes.commit)
            with watch, db.batch() as batch:
                for table, rows, (first, last) in zip(TABLES, tables, between, strict=True):
                    if first < last:
                        batch.insert(table, rows[first:last])
        theirs: list[Any] = []
        for _ in range(5):
            with recompute:
                theirs = spark.sql(query).collect()
        check_same(db.table("v").to_pylist(), (row.asDict() for row in theirs), query)
    return watch, recompute


def check_same(ours: Iterable[dict[str, Any]], theirs: Iterable[dict[str, Any]], query: str) -> None:
    """The same bag of rows; a DOUBLE may differ in its last digits, as Spark's depends on the order of rows."""
    found, wanted = ([tuple(map(_rounded, row.values())) for row in rows] for rows in (ours, theirs))
    if Counter(found) != Counter(wanted):
        some = list((Counter(found) - Counter(wanted)) or (Counter(wanted) - Counter(found)))[:3]
        raise SystemExit(f"other rows than Spark's, such as {some}: {query}")


def _rounded(value: object) -> object:
    if isinstance(value, float) and math.isfinite(value) and value:
        return round(value, 9 - math.floor(math.log10(abs(value))))
    return value


def _in_spark(spark: SparkSession, tables: Sequence[list[tuple[Any, ...]]]) -> None:
    statements = [each for each in SCHEMA.replace(" PRIMARY KEY", "").split(";") if each.strip()]
    for statement, rows in zip(statements, (*tables, SIDE), strict=True):
        name, _, columns = statement.strip().removeprefix("CREATE TABLE ").partition("(")
        frame = spark.createDataFrame(rows, columns.strip().removesuffix(")"))
        frame.coalesce(2).cache().createOrReplaceTempView(name)


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(events=10_000))
