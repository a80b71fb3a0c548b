"""Rows that tell when they leave do so in time, wherever they are: in memory, in the base, or in a part to come."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from random import Random
from unittest import mock

import pyspark.sql.functions as F
import pytest
from pyspark.sql import SparkSession

import whence
from whence.engines.spark.pages import Paging
from whence.errors import UnsupportedError
from whence.model.types import Row
from whence.model.updates import Commit
from whence.spark import bulk_load, journal
from whence.spark import lifetimes as spark_lifetimes
from whence.spark.database import SparkDatabase

TABLES = """
    CREATE TABLE seen(id INT, at TIMESTAMP) TBLPROPERTIES ('ttl' = '10 seconds', 'ttl_column' = 'at');
    CREATE TABLE day(id INT NOT NULL, at DATE, PRIMARY KEY (id)) TBLPROPERTIES ('ttl' = '2 days', 'ttl_column' = 'at');
    CREATE VIEW alive AS SELECT id, count(*) AS n FROM seen GROUP BY id;
"""
SCHEMAS = {"seen": "id INT, at TIMESTAMP_NTZ", "day": "id INT, at DATE"}
FIRST = datetime.datetime(2026, 1, 1)
STEPS = 24


class Twins:
    """The same on Spark and in memory. Both must say the same of every commit, and have the same rows after it."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self._spark = spark
        self._root = root
        self._local = whence.connect()
        self._local.execute(TABLES)
        self.open()
        self._on_spark.execute(TABLES)

    def open(self) -> None:
        self._on_spark = SparkDatabase(self._spark, str(self._root), paging=Paging(whole=0))

    def close(self) -> None:
        self._on_spark.close()

    def insert(self, table: str, rows: Sequence[Row]) -> None:
        self._check(self._on_spark.insert(table, rows), self._local.insert(table, rows))

    def load(self, table: str, rows: Sequence[Row]) -> None:
        frame = self._spark.createDataFrame(list(rows), SCHEMAS[table])
        self._check(self._on_spark.insert(table, frame), self._local.insert(table, rows))

    def delete_some(self, table: str, chance: Random) -> None:
        there = sorted(self._local.rows(table), key=str)
        rows = chance.sample(there, min(2, len(there)))
        self._check(self._on_spark.delete(table, rows), self._local.delete(table, rows))

    def advance(self, moment: datetime.datetime) -> None:
        self._check(self._on_spark.advance(moment), self._local.advance(moment))

    def _check(self, *commits: Commit) -> None:
        first, second = ((each.inserted, each.deleted, each.metrics["expired"]) for each in commits)
        assert first == second
        for name in ("seen", "day", "alive"):
            found, expected = (sorted(map(str, db.table(name).to_pylist())) for db in (self._on_spark, self._local))
            assert found == expected


def rows_at(chance: Random, second: int, number: int) -> list[Row]:
    """Some are late, some come twice, one has no time, and one has one that is never over."""
    times = [FIRST + datetime.timedelta(seconds=second + chance.randrange(-12, 8)) for _ in range(number)]
    beyond = [None, datetime.datetime(9999, 12, 31, 23, 59, 59)]
    return [(chance.randrange(4), at) for at in (*times, *chance.sample([*times, *beyond], 2))]


def test_the_same_rows_leave(spark: SparkSession, tmp_path: Path) -> None:
    # Random days of a random life; the same each time, since a step takes a second.
    chance = Random(7)
    ids = iter(range(10**6))
    with (
        mock.patch.object(spark_lifetimes, "UPCOMING", 3),
        mock.patch.object(journal, "SMALL_OVERLAY", 12),
        mock.patch.object(bulk_load, "TAKEN_AS_ROWS", 4),
    ):
        twins, second = Twins(spark, tmp_path), 0
        for _ in range(STEPS):
            match chance.randrange(7):
                case 0 | 1:
                    twins.insert("seen", rows_at(chance, second, 6))
                case 2:
                    twins.load("seen", rows_at(chance, second, 8))
                case 3:
                    first = FIRST.date() + datetime.timedelta(days=second // 86_400)
                    days = [first + datetime.timedelta(days=chance.randrange(-3, 4)) for _ in range(6)]
                    twins.load("day", [(next(ids), at) for at in days])
                case 4:
                    twins.delete_some("seen", chance)
                case 5:
                    twins.close()
                    twins.open()
                case 6:
                    second += chance.choice([1, 1, 3, 9, 86_400])
                    twins.advance(FIRST + datetime.timedelta(seconds=second))
        twins.close()


def test_rows_that_wait_are_not_in_memory(spark: SparkSession) -> None:
    """A hundred thousand rows, of which some leave; in memory are those that leave next."""
    start = F.lit("2026-01-01 00:00:00Z").cast("timestamp")
    frame = spark.range(100_000).select(
        F.col("id").cast("int"), (start + F.make_dt_interval(secs=F.col("id") / 100)).alias("at")
    )
    with SparkDatabase(spark, None) as db:
        db.execute(TABLES)
        db.insert("seen", frame)
        assert db.advance(FIRST + datetime.timedelta(seconds=9)).metrics["jobs"] == 1
        lifetimes = db._session.tables._lifetimes["seen"]  # noqa: SLF001 - whose size this is about
        assert len(lifetimes._queue) == spark_lifetimes.UPCOMING  # noqa: SLF001 - likewise
        commit = db.advance(FIRST + datetime.timedelta(seconds=20))
        assert commit.deleted["seen"] == commit.metrics["expired"] == 1_001
        assert len(lifetimes._queue) == spark_lifetimes.UPCOMING - 1_001  # noqa: SLF001 - likewise
        # More than are brought at a time.
        assert db.advance(FIRST + datetime.timedelta(seconds=510)).deleted["seen"] == 49_000


@pytest.mark.parametrize("properties", ["'ttl' = '10 seconds'", "'window_rows' = '3'"])
def test_rows_that_leave_because_of_when_they_came(spark: SparkSession, properties: str) -> None:
    frame = spark.range(5).selectExpr("CAST(id AS INT) AS id")
    with mock.patch.object(bulk_load, "TAKEN_AS_ROWS", 4), SparkDatabase(spark, None) as db:
        db.execute(f"CREATE TABLE t(id INT) TBLPROPERTIES ({properties})")
        for change in (db.insert, db.delete):
            with pytest.raises(UnsupportedError, match="leave because of when they came, so it takes 4 rows"):
                change("t", frame)
