"""Deletes from a recursive view behind a file system of Hadoop's, and the bytes that they read.

The network is many rings, so that a link carries the rows of one ring, however many there are. A process has one Spark,
and that is told at its beginning what is mounted where: `python -m tests.spark.mounted_lookups DIRECTORY`.
"""

from __future__ import annotations

import sys
from unittest import mock

from pyspark.sql import SparkSession

import whence
from tests.spark.mounted_files import mounted_session
from whence.engines.spark import sorted_copy
from whence.engines.spark.pages import Paging
from whence.spark import journal, segment_copies
from whence.spark.database import SparkDatabase

NODES = 6
RULES = """
.decl link(src: number, dst: number)
reachable(x, y) :- link(x, y).
reachable(x, y) :- link(x, z), reachable(z, y).
"""
# Rows are looked up where they are stored, which is behind Hadoop.
PAGING = Paging(whole=0, fetched=0)
GROUPS = {"parquet.block.row.count.limit": "50"}


def links(rings: int) -> list[tuple[int, int]]:
    """Rings of six, each with one link more."""
    of_ring = [*((at, (at + 1) % NODES) for at in range(NODES)), (0, 3)]
    return [(NODES * ring + source, NODES * ring + target) for ring in range(rings) for source, target in of_ring]


def bytes_read(spark: SparkSession) -> int:
    """By all file systems of Hadoop's in this process, whoever reads."""
    files = spark.sparkContext._jvm.org.apache.hadoop.fs.FileSystem  # type: ignore[union-attr] # noqa: SLF001
    return sum(each.getBytesRead() for each in files.getAllStatistics())


def measured(spark: SparkSession, root: str, rings: int) -> tuple[list[int], list[int], int]:
    """Of some deletes the bytes that they read, as Hadoop counts and as whence says, and the jobs of the last ones."""
    counted, told, jobs = [], [], 0
    with SparkDatabase(spark, root, paging=PAGING) as db, whence.connect() as local:
        local.rules(RULES)
        local.insert("link", links(rings))
        with mock.patch.object(journal, "SMALL_OVERLAY", 0):
            db.rules(RULES)
            db.insert("link", links(rings))
        for ring in range(rings // 4, rings // 4 + 7):
            lost = [(NODES * ring, NODES * ring + 1)]
            before = bytes_read(spark)
            commit = db.delete("link", lost)
            counted.append(bytes_read(spark) - before)
            told.append(int(commit.metrics["read_bytes"]))
            jobs = int(commit.metrics["jobs"])
            local.delete("link", lost)
            if ring % 2:
                local.insert("link", lost)
                db.insert("link", lost)
        if db.rows("reachable") != local.rows("reachable"):
            raise SystemExit("the view is wrong")
    return counted[4:], told[4:], jobs


def main(directory: str) -> None:
    spark = mounted_session(directory)
    small_groups = {**segment_copies.SMALL_GROUPS, **GROUPS}
    with mock.patch.object(segment_copies, "SMALL_GROUPS", small_groups), mock.patch.object(sorted_copy, "GAP", 0):
        for rings in (40, 400):
            counted, told, jobs = measured(spark, f"viewfs://mounted/data/{rings}", rings)
            sys.stdout.write(f"{max(counted)} {max(told)} {jobs}\n")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
