"""All reachable pairs on Spark while links come and go, against Spark recomputing them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from pyspark.sql import SparkSession

import whence
from benchmarks import plain_spark
from benchmarks.harness import Report, Stopwatch, main
from whence.workloads.transit_stub import TransitStub, transit_stub_links

TABLE = "CREATE TABLE link(src INT NOT NULL, dst INT NOT NULL, PRIMARY KEY (src, dst))"
VIEW = "reachable(x, y) :- link(x, y). reachable(x, y) :- link(x, z), reachable(z, y)."


@dataclass(frozen=True)
class Sizes:
    nodes: int = 1000
    large: int = 2000
    changes: int = 20
    runs: int = 5


def run(sizes: Sizes) -> Report:
    report = Report(
        "spark_reachability",
        "Which nodes reach which, on Spark",
        f"Transit-stub networks of {sizes.nodes:,} and {sizes.large:,} nodes. whence keeps all reachable pairs on "
        f"Spark, each with what it rests on; the opponent recomputes them with plain PySpark, semi-naive, with the "
        f"lineage cut in every round. Spark runs on the two processors of this machine. {sizes.changes} random links "
        f"go and come back, one commit each; a commit is in a file when it returns, though not flushed to disk.",
    )
    spark = plain_spark.local_spark()
    for nodes in (sizes.nodes, sizes.large):
        measure(spark, nodes, sizes, report)
    spark.stop()
    return report


def measure(spark: SparkSession, nodes: int, sizes: Sizes, report: Report) -> None:
    links = sorted({(source, target) for source, target, *_ in transit_stub_links(TransitStub.of_size(nodes))})
    frame = plain_spark.link_frame(spark, links)
    recompute, build, delete, insert = Stopwatch(), Stopwatch(), Stopwatch(), Stopwatch()
    pairs = 0
    for _ in range(sizes.runs):
        with recompute:
            known, pairs = plain_spark.reachable(frame)
        known.unpersist()
        with whence.connect(spark) as another:
            another.execute(TABLE)
            another.insert("link", links)
            with build:
                another.rules(VIEW)
    ours = whence.connect(spark)
    ours.execute(TABLE)
    ours.insert("link", links)
    ours.rules(VIEW)
    rng = Random(2)  # noqa: S311 - chance is not a secret here
    jobs: list[float] = []
    for link in rng.sample(links, sizes.changes):
        with delete:
            commit = ours.delete("link", [link])
        jobs.append(commit.metrics["jobs"])
        with insert:
            ours.insert("link", [link])
    if ours.df("reachable").count() != pairs:
        raise SystemExit("the view does not have all pairs")
    name = f"{pairs:,} pairs"
    report.compare(f"{name}: build the view", build.timing, plain_spark.NAME, recompute.timing)
    report.compare(f"{name}: delete one link", delete.timing, plain_spark.NAME, recompute.timing)
    report.compare(f"{name}: insert one link", insert.timing, plain_spark.NAME, recompute.timing)
    report.figure(f"{name}: jobs for a delete, at most", max(jobs), "jobs")
    report.figure(f"{name}: jobs for a delete, median", sorted(jobs)[len(jobs) // 2], "jobs")
    ours.close()


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(nodes=50, large=100, changes=5))
