"""The cloud site on Spark: what a hundred sites changed lands as files, is merged on Spark, and is exact.

python -m benchmarks replica_spark
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

import whence
from benchmarks.harness import Report, main
from benchmarks.plain_spark import local_spark
from whence.model.types import Row
from whence.replica.cloud import CloudSite
from whence.replica.site import Site
from whence.replica.uploads import upload
from whence.spark.database import SparkDatabase

REGIONS = 100
ROUNDS = 4


@dataclass(frozen=True)
class Sizes:
    sites: int = 100
    updates: int = 1_000_000


def run(sizes: Sizes) -> Report:
    report = Report(
        "replica_spark",
        "The cloud site on Spark",
        f"{sizes.sites} sites make {sizes.updates:,} inserts and deletes of rows that many of them have, apart from "
        f"each other, and leave files in {ROUNDS} rounds. Spark merges them, maintains a count by region, and one site "
        "follows that. Compared with the greatest length of each row, found by a plain loop.",
    )
    with tempfile.TemporaryDirectory() as folder:
        edges = [_edge(number) for number in range(sizes.sites)]
        spark = local_spark("2g")
        db = whence.connect(spark)
        assert isinstance(db, SparkDatabase)
        cloud = CloudSite("cloud", db, folder)
        cloud.share("reading", "region INT NOT NULL, number INT NOT NULL")
        db.execute("CREATE VIEW busy AS SELECT DISTINCT region, count(*) AS n FROM reading GROUP BY region")
        cloud.publish("busy")
        edges[0].follow("cloud", "busy")
        left = merged = 0.0
        for number in range(ROUNDS):
            for at, site in enumerate(edges):
                _change(site, Random(at * ROUNDS + number), sizes.updates // sizes.sites // ROUNDS)  # noqa: S311
            started = time.perf_counter()
            for site in edges:
                upload(site, folder)
            left += time.perf_counter() - started
            started = time.perf_counter()
            cloud.take_available()
            merged += time.perf_counter() - started
        expected = _greatest(edges)
        assert db.rows("reading") == expected
        started = time.perf_counter()
        again = cloud.merge("reading", spark.read.parquet(str(Path(folder) / "reading")))
        replayed = time.perf_counter() - started
        assert not again.inserted and not again.deleted
        traffic = edges[0].exchange(cloud.site)
        assert edges[0].rows("busy") == db.rows("busy")
        updates = sum(site.augmented.updates for site in edges)
        report.figure("updates of all sites", updates, "updates")
        report.figure("rows in the end", len(expected), "rows")
        report.figure("to leave them as files", left, "s")
        report.figure("to merge them on Spark, with the view", merged, "s")
        report.figure("merged", updates / merged, "updates/s")
        report.figure("all of it once more, which changes nothing", replayed, "s")
        report.figure("the view, to one of the sites", traffic.total / 1024, "KiB")
        cloud.close()
        db.close()
    return report


def _edge(number: int) -> Site:
    site = whence.site(f"edge{number}")
    site.execute("CREATE TABLE reading(region INT, number INT, PRIMARY KEY (region, number))")
    site.share("reading")
    return site


def _change(site: Site, chance: Random, count: int) -> None:
    """Four inserts and a delete of what is there. Every row is one of some that two or three sites will have."""
    rows = [_row(chance) for _ in range(count - count // 5)]
    site.insert("reading", rows)
    there = sorted(site.rows("reading"))
    site.delete("reading", chance.sample(there, count // 5))


def _row(chance: Random) -> Row:
    number = chance.randrange(400_000)
    return (number % REGIONS, number)


def _greatest(edges: list[Site]) -> set[Row]:
    lengths: dict[str, int] = {}
    for site in edges:
        for each in site.augmented.knowledge.lengths.values():
            lengths[each.text] = max(each.length, lengths.get(each.text, 0))
    read = edges[0].augmented.shared["reading"].row
    return {read(text) for text, length in lengths.items() if length % 2}


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(sites=10, updates=20_000))
