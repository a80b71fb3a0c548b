"""Micro-batches of all sizes for a join with aggregates on Spark, against Spark running the query again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
from pyspark.sql import DataFrame, SparkSession

import whence
from benchmarks import plain_spark
from benchmarks.harness import SCRATCH, Report, Stopwatch, main, repeat

QUERY = (
    "SELECT region, day, count(*) AS n, sum(price) AS total FROM item JOIN orders ON order_id = orders.id "
    "GROUP BY region, day"
)
TABLES = """
    CREATE TABLE orders(id BIGINT NOT NULL, region INT NOT NULL, day INT NOT NULL, PRIMARY KEY (id));
    CREATE TABLE item(order_id BIGINT NOT NULL, quantity INT NOT NULL, price BIGINT NOT NULL);
"""
ORDERED = "SELECT half, max(price) AS best, count(DISTINCT price) AS prices FROM offer GROUP BY half"
REGIONS, DAYS = 25, 100


@dataclass(frozen=True)
class Sizes:
    items: int = 6_000_000
    orders: int = 1_500_000
    batches: tuple[int, ...] = (1, 1_000, 20_000, 100_000, 1_000_000)
    group: int = 800_000
    runs: int = 5


class Items:
    """Rows at random, always the same."""

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        self._chance = np.random.default_rng(1)

    def orders(self) -> pa.Table:
        count = self._sizes.orders
        region, day = (self._chance.integers(0, most, count).astype(np.int32) for most in (REGIONS, DAYS))
        return pa.table({"id": np.arange(count), "region": region, "day": day})

    def items(self, count: int) -> pa.Table:
        order = self._chance.integers(0, self._sizes.orders, count)
        quantity = self._chance.integers(1, 50, count).astype(np.int32)
        return pa.table({"order_id": order, "quantity": quantity, "price": self._chance.integers(1, 100_000, count)})


def run(sizes: Sizes) -> Report:
    report = Report(
        "spark_batches",
        "Micro-batches of all sizes on Spark",
        f"A view joins {sizes.items:,} items with {sizes.orders:,} orders and adds up in {REGIONS * DAYS:,} groups, on "
        f"Spark with the two processors of this machine. Each batch is a DataFrame of new items in a file of Parquet; "
        f"one row is a tuple. The opponent runs the query again over the first items in Parquet. Then there "
        f"are two groups of {sizes.group:,} rows with max and count(DISTINCT), and changes of one row.",
    )
    directory = SCRATCH / "spark_batches" / str(sizes.items)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    spark = plain_spark.local_spark()
    batches(spark, sizes, directory, report)
    large_groups(spark, sizes, report)
    spark.stop()
    return report


def batches(spark: SparkSession, sizes: Sizes, directory: Path, report: Report) -> None:
    data = Items(sizes)
    first = {"orders": data.orders(), "item": data.items(sizes.items)}
    frames = {name: _frame(spark, table, directory / name) for name, table in first.items()}
    for name, frame in frames.items():
        # Before long the database shows its own relations under these names.
        frame.createOrReplaceTempView(f"plain_{name}")
    plain = QUERY.replace("FROM item JOIN orders", "FROM plain_item AS item JOIN plain_orders AS orders")
    again = _running_again(spark, plain)
    # All machines of a cluster have to reach it.
    with whence.connect(directory / "state", engine="spark") as db:
        db.execute(TABLES)
        for name, frame in frames.items():
            db.insert(name, frame)
        again()
        build, once = Stopwatch(), Stopwatch()
        for _ in range(sizes.runs):
            db.execute("DROP VIEW IF EXISTS worth")
            with build:
                db.execute(f"CREATE MATERIALIZED VIEW worth AS {QUERY}")
            with once:
                again()
        report.compare("define the view", build.timing, plain_spark.NAME, once.timing)
        for count in sizes.batches:
            # The first ones of a size find nothing in memory.
            for _ in range(3):
                db.insert("item", _batch(spark, data.items(count), directory))
            watch, opponent, jobs, shuffled = Stopwatch(), Stopwatch(), 0, 0
            for _ in range(sizes.runs):
                rows = _batch(spark, data.items(count), directory)
                with watch:
                    commit = db.insert("item", rows)
                jobs = max(jobs, int(commit.metrics["jobs"]))
                shuffled = max(shuffled, int(commit.metrics["shuffled_bytes"]))
                # In turns, since the machine may have other things to do.
                with opponent:
                    again()
            report.compare(f"a batch of {count:,} rows", watch.timing, plain_spark.NAME, opponent.timing)
            report.figure(f"{count:,} rows: jobs of the commit, at most", jobs, "jobs")
            report.figure(f"{count:,} rows: shuffled, at most", shuffled, "bytes")
        expected = spark.sql(f"SELECT sum(n), sum(total), count(*) FROM ({QUERY})").collect()
        assert spark.sql("SELECT sum(n), sum(total), count(*) FROM worth").collect() == expected


def large_groups(spark: SparkSession, sizes: Sizes, report: Report) -> None:
    prices = np.random.default_rng(2).permutation(4 * sizes.group)[: 2 * sizes.group] + 1
    table = pa.table({"half": np.arange(2 * sizes.group) % 2, "price": prices})
    best = {half: sorted(prices[half::2].tolist())[-sizes.runs - 3 :] for half in (0, 1)}
    with whence.connect(spark) as db:
        db.execute("CREATE TABLE offer(half BIGINT NOT NULL, price BIGINT NOT NULL, PRIMARY KEY (half, price))")
        db.insert("offer", spark.createDataFrame(table))
        db.execute(f"CREATE MATERIALIZED VIEW halves AS {ORDERED}")
        inserted, deleted = Stopwatch(), Stopwatch()
        for turn in range(sizes.runs + 3):
            rows = [(turn % 2, 5 * sizes.group + turn)]
            gone = [(half, values.pop()) for half, values in best.items() if half == turn % 2]
            if turn < 3:
                db.insert("offer", rows)
                db.delete("offer", rows)
                db.delete("offer", gone)
                continue
            with inserted:
                db.insert("offer", rows)
            db.delete("offer", rows)
            with deleted:
                db.delete("offer", gone)
        spark.createDataFrame(table).createOrReplaceTempView("plain_offer")
        opponent = repeat(_running_again(spark, ORDERED.replace("offer", "plain_offer")), sizes.runs)
        report.compare("max and count(DISTINCT): insert a row", inserted.timing, plain_spark.NAME, opponent)
        report.compare("max and count(DISTINCT): delete the greatest", deleted.timing, plain_spark.NAME, opponent)


def _frame(spark: SparkSession, table: pa.Table, path: Path) -> DataFrame:
    parquet.write_table(table, path)
    return spark.read.parquet(str(path))


def _batch(spark: SparkSession, table: pa.Table, directory: Path) -> DataFrame | list[tuple[object, ...]]:
    if table.num_rows == 1:
        return [tuple(row.values()) for row in table.to_pylist()]
    return _frame(spark, table, directory / "batch")


def _running_again(spark: SparkSession, query: str) -> Callable[[], None]:
    # A count would let Spark leave out the columns, and with them most of the work.
    return lambda: spark.sql(query).write.format("noop").mode("overwrite").save()


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(items=60_000, orders=15_000, batches=(1, 1_000, 20_000), group=5_000))
