"""What the driver holds while millions of rows arrive in micro-batches: its Python, and the JVM beside it."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

import whence
from benchmarks import plain_spark
from benchmarks.harness import SCRATCH, Report, Stopwatch, children, main, resident_bytes
from benchmarks.spark_batches import DAYS, QUERY, REGIONS, TABLES, Items
from benchmarks.spark_batches import Sizes as ItemSizes

MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Sizes:
    rows: int = 5_000_000
    batch: int = 50_000
    # Of so many rows in a batch each is handed over alone, in a list.
    small_batch: int = 1_000
    small_batches: int = 60
    orders: int = 500_000


def run(sizes: Sizes) -> Report:
    report = Report(
        "spark_memory",
        "Memory of the driver while micro-batches arrive",
        f"{sizes.rows:,} items arrive in batches of {sizes.batch:,} rows as Arrow tables, joined with {sizes.orders:,} "
        f"orders and added up in {REGIONS * DAYS:,} groups; then {sizes.small_batches} batches of "
        f"{sizes.small_batch:,} tuples. Memory of Python is what only this process holds; files that it has mapped are "
        f"beside it, and the system drops them when it has to.",
    )
    spark = plain_spark.local_spark("4g")
    directory = SCRATCH / "spark_memory"
    directory.mkdir(parents=True, exist_ok=True)
    (java,) = children()
    data = Items(ItemSizes(orders=sizes.orders))
    python, jvm, mapped = list[tuple[float, float]](), list[tuple[float, float]](), list[tuple[float, float]]()
    watch, small = Stopwatch(), Stopwatch()
    with whence.connect(spark) as db:
        db.execute(TABLES)
        db.insert("orders", data.orders())
        db.execute(f"CREATE MATERIALIZED VIEW worth AS {QUERY}")
        arrived = 0
        before = own_bytes()
        while arrived < sizes.rows:
            with watch:
                db.insert("item", data.items(sizes.batch))
            arrived += sizes.batch
            held, files = own_bytes(), file_bytes()
            python.append((arrived / 1e6, held / MEGABYTE))
            mapped.append((arrived / 1e6, files / MEGABYTE))
            jvm.append((arrived / 1e6, resident_bytes(java) / MEGABYTE))
        for _ in range(sizes.small_batches):
            rows = _tuples(data.items(sizes.small_batch))
            with small:
                db.insert("item", rows)
        after_small = own_bytes()
        ((count,),) = spark.sql("SELECT sum(n) FROM worth").collect()
        assert count == sizes.rows + sizes.small_batch * sizes.small_batches
    for what, points in (("Python", python), ("the JVM", jvm), ("mapped files", mapped)):
        report.curve(what, "millions of rows that arrived", "megabytes", points)
        report.figure(f"{what}, at most", max(size for _, size in points), "MB")
    report.figure("Python before the first batch", before / MEGABYTE, "MB")
    report.figure(f"Python after {sizes.small_batches} batches of tuples", after_small / MEGABYTE, "MB")
    report.figure("a batch, median", watch.timing.median, "s")
    report.figure("a batch, 95 %", watch.timing.p95, "s")
    report.figure("a batch of tuples, median", small.timing.median, "s")
    spark.stop()
    return report


def own_bytes() -> int:
    """What this process holds and no file has."""
    gc.collect()
    return _status("RssAnon")


def file_bytes() -> int:
    return _status("RssFile")


def _status(name: str) -> int:
    """In kilobytes, says the system."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines[name].split()[0]) * 1024


def _tuples(table: pa.Table) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(rows=200_000, batch=20_000, small_batches=5, orders=20_000))
