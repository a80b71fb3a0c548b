"""All reachable pairs on Spark while links come and go, against Spark recomputing them, and against DRed."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from random import Random
from typing import Self, TypeAlias

from pyspark.sql import SparkSession

from benchmarks import plain_spark
from benchmarks.harness import Report, Stopwatch, main
from whence.engines.spark.pages import DEFAULT_PAGING, Paging
from whence.lab.workloads.transit_stub import TransitStub, transit_stub_links
from whence.spark.database import SparkDatabase

TABLE = "CREATE TABLE link(src INT NOT NULL, dst INT NOT NULL, PRIMARY KEY (src, dst))"
VIEW = "reachable(x, y) :- link(x, y). reachable(x, y) :- link(x, z), reachable(z, y)."

# As if the rows could be neither decoded here nor copied in an order.
OUT_OF_REACH = Paging(mapped=0, fetched=1 << 62)

Link: TypeAlias = tuple[int, int]


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
        f"Spark, each with what it rests on. One opponent recomputes them with plain PySpark, semi-naive, with the "
        f'lineage cut in every round; the other is whence with maintenance="dred", which keeps the pairs alone, '
        f"deletes every one that might be gone, and derives again what is not. Spark runs on the two processors of "
        f"this machine. {sizes.changes} random links go and come back, one commit each; a commit is in a file when it "
        f"returns, though not flushed to disk. Rows on a disk of this machine are looked up there after a while; by "
        f"scans means that they are not, as with the first lookups anywhere.",
    )
    spark = plain_spark.local_spark()
    small(spark, sizes, report)
    large(spark, sizes, report)
    spark.stop()
    return report


def small(spark: SparkSession, sizes: Sizes, report: Report) -> None:
    plain = Plain(spark, sizes.nodes)
    building = Stopwatch()
    with ExitStack() as opened:
        ours, by_scans, dred = (
            opened.enter_context(kept)
            for kept in (
                Kept(spark, plain.links),
                Kept(spark, plain.links, paging=OUT_OF_REACH),
                Kept(spark, plain.links, "dred"),
            )
        )
        building.seconds = [ours.built, by_scans.built]
        for links in plain.in_turns(sizes.changes, sizes.runs):
            if len(building.seconds) < sizes.runs:
                with Kept(spark, plain.links) as another:
                    building.seconds.append(another.built)
            ours.change(links)
            by_scans.change(links[:2])
            dred.change(links[:1])
        plain.check(ours, by_scans, dred)
    recompute = plain.watch.timing
    report.compare(f"{plain.name}: build the view", building.timing, plain_spark.NAME, recompute)
    report.compare(f"{plain.name}: delete one link", ours.deletes.timing, plain_spark.NAME, recompute)
    report.compare(f"{plain.name}: insert one link", ours.inserts.timing, plain_spark.NAME, recompute)
    report.compare(f"{plain.name}: delete one link, by scans", by_scans.deletes.timing, plain_spark.NAME, recompute)
    report.compare(f"{plain.name}: delete one link", ours.deletes.timing, "DRed", dred.deletes.timing)
    report.compare(f"{plain.name}: delete one link, by scans", by_scans.deletes.timing, "DRed", dred.deletes.timing)
    for what, kept in (("", ours), (", by scans", by_scans), (" by DRed", dred)):
        kept.tell_jobs(report, f"{plain.name}: jobs for a delete{what}")


def large(spark: SparkSession, sizes: Sizes, report: Report) -> None:
    plain = Plain(spark, sizes.large)
    with Kept(spark, plain.links) as ours:
        for links in plain.in_turns(sizes.changes, sizes.runs):
            ours.change(links)
        plain.check(ours)
    recompute = plain.watch.timing
    report.compare(f"{plain.name}: delete one link", ours.deletes.timing, plain_spark.NAME, recompute)
    report.compare(f"{plain.name}: insert one link", ours.inserts.timing, plain_spark.NAME, recompute)
    report.figure(f"{plain.name}: build the view", ours.built / recompute.median, "times as long as plain Spark")
    ours.tell_jobs(report, f"{plain.name}: jobs for a delete")


class Plain:
    """The pairs of a network, recomputed by plain Spark."""

    def __init__(self, spark: SparkSession, nodes: int) -> None:
        network = transit_stub_links(TransitStub.of_size(nodes))
        self.links = sorted({(source, target) for source, target, *_ in network})
        self.watch = Stopwatch()
        self._frame = plain_spark.link_frame(spark, self.links)
        self._pairs = 0

    @property
    def name(self) -> str:
        return f"{self._pairs:,} pairs"

    def in_turns(self, count: int, runs: int) -> Iterator[list[Link]]:
        """Some links, a few after each recomputation: both sides then see the same moods of the machine."""
        links = Random(2).sample(self.links, count)  # noqa: S311 - chance is not a secret here
        for run in range(runs):
            with self.watch:
                pairs, self._pairs = plain_spark.reachable(self._frame)
            pairs.unpersist()
            yield links[run::runs]

    def check(self, *databases: Kept) -> None:
        if any(kept.db.df("reachable").count() != self._pairs for kept in databases):
            raise SystemExit("the view does not have all pairs")


class Kept:
    """A database that keeps the pairs, and how long it takes."""

    def __init__(
        self, spark: SparkSession, links: Sequence[Link], maintenance: str = "auto", paging: Paging = DEFAULT_PAGING
    ) -> None:
        self.db = SparkDatabase(spark, None, maintenance, paging=paging)
        self.db.execute(TABLE)
        self.db.insert("link", links)
        building = Stopwatch()
        with building:
            self.db.rules(VIEW)
        (self.built,) = building.seconds
        self.deletes, self.inserts = Stopwatch(), Stopwatch()
        self._jobs: list[float] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.db.close()

    def change(self, links: Sequence[Link]) -> None:
        """Let links go and come back, one by one."""
        for link in links:
            with self.deletes:
                commit = self.db.delete("link", [link])
            self._jobs.append(commit.metrics["jobs"])
            with self.inserts:
                self.db.insert("link", [link])

    def tell_jobs(self, report: Report, what: str) -> None:
        report.figure(f"{what}, median", statistics.median(self._jobs), "jobs")
        report.figure(f"{what}, at most", max(self._jobs), "jobs")


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(nodes=50, large=100, changes=5))
