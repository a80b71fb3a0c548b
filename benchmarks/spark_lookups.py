"""One link deleted under reachable pairs that lie behind a file system of Hadoop's: time and bytes against state."""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import dataclass
from random import Random

from pyspark.sql import SparkSession

from benchmarks import plain_spark
from benchmarks.harness import Report, Stopwatch, main
from benchmarks.spark_reachability import TABLE, VIEW
from whence.lab.workloads.transit_stub import TransitStub, transit_stub_links
from whence.spark.database import SparkDatabase

MOUNT = "spark.hadoop.fs.viewfs.mounttable.mounted.link./data"


@dataclass(frozen=True)
class Sizes:
    nodes: int = 500
    doublings: int = 2
    changes: int = 20
    first: int = 5


def run(sizes: Sizes) -> Report:
    nodes = [sizes.nodes << doubling for doubling in range(sizes.doublings + 1)]
    report = Report(
        "spark_lookups",
        "State behind Hadoop's API",
        f"All reachable pairs of transit-stub networks of {', '.join(f'{n:,}' for n in nodes)} nodes, kept on Spark "
        f"below a viewfs, where files are read through Hadoop's API alone. {sizes.changes} random links go and come "
        f"back, one commit each, after {sizes.first} others with which sorted copies are made. Bytes are those that "
        f"Hadoop counts for the process, tasks of Spark included.",
    )
    with tempfile.TemporaryDirectory() as directory:
        spark = plain_spark.local_spark(**{MOUNT: f"file://{directory}"})
        points = [_deletes(spark, f"viewfs://mounted/data/{count}", count, sizes, report) for count in nodes]
        spark.stop()
    report.curve("one link deleted", "pairs in the view", "bytes read, median", points)
    return report


def _deletes(spark: SparkSession, root: str, nodes: int, sizes: Sizes, report: Report) -> tuple[float, float]:
    network = transit_stub_links(TransitStub.of_size(nodes))
    links = sorted({(source, target) for source, target, *_ in network})
    building, first, deletes, inserts = Stopwatch(), Stopwatch(), Stopwatch(), Stopwatch()
    read: list[int] = []
    jobs: list[float] = []
    with SparkDatabase(spark, root) as db:
        db.execute(TABLE)
        db.insert("link", links)
        with building:
            db.rules(VIEW)
        chosen = Random(2).sample(links, sizes.first + sizes.changes)  # noqa: S311 - chance is not a secret here
        for link in chosen[: sizes.first]:
            with first:
                db.delete("link", [link])
            db.insert("link", [link])
        for link in chosen[sizes.first :]:
            before = _bytes_read(spark)
            with deletes:
                commit = db.delete("link", [link])
            read.append(_bytes_read(spark) - before)
            jobs.append(commit.metrics["jobs"])
            with inserts:
                db.insert("link", [link])
        pairs = db.df("reachable").count()
    name = f"{pairs:,} pairs"
    report.figure(f"{name}: delete one link, median", deletes.timing.median, "s")
    report.figure(f"{name}: delete one link, 95th percentile", deletes.timing.p95, "s")
    report.figure(f"{name}: insert one link, median", inserts.timing.median, "s")
    report.figure(f"{name}: jobs for a delete, median", statistics.median(jobs), "jobs")
    report.figure(f"{name}: bytes read by a delete, median", statistics.median(read) / 1e6, "MB")
    report.figure(f"{name}: bytes read by a delete, at most", max(read) / 1e6, "MB")
    report.figure(f"{name}: the slowest of the first deletes, which make copies", max(first.seconds), "s")
    report.figure(f"{name}: build the view", building.seconds[0], "s")
    return float(pairs), statistics.median(read)


def _bytes_read(spark: SparkSession) -> int:
    files = spark.sparkContext._jvm.org.apache.hadoop.fs.FileSystem  # type: ignore[union-attr] # noqa: SLF001
    return sum(each.getBytesRead() for each in files.getAllStatistics())


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(nodes=50, doublings=1, changes=5, first=3))
