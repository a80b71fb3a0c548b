"""What fails in the middle of a commit leaves everything as it was: in memory, for Spark, and in the files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from whence.engines.spark.errors import TRIES
from whence.engines.spark.pages import Paging
from whence.errors import StateError
from whence.spark import bulk_load, journal
from whence.spark.database import SparkDatabase
from whence.storage.files.store import Storage

PROGRAM = """
    .decl link(src: number, dst: number)
    reachable(x, y) :- link(x, y).
    reachable(x, y) :- link(x, z), reachable(z, y).
"""
RING = [(0, 1), (1, 2), (2, 3), (3, 0)]
ALL_PAIRS = {(x, y) for x in range(4) for y in range(4)}


@pytest.fixture
def db(spark: SparkSession, tmp_path: Path) -> Iterator[SparkDatabase]:
    with (
        mock.patch.object(bulk_load, "TAKEN_AS_ROWS", 1),
        SparkDatabase(spark, str(tmp_path), paging=Paging(delta=3)) as database,
    ):
        database.rules(PROGRAM)
        yield database


def ring(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(RING, "src INT, dst INT")


def losing_rows(times: int) -> Any:
    """What is kept on executors gets lost, as it does with an executor; so many times."""
    original, left = ClassicDataFrame.localCheckpoint, times

    def lost(frame: ClassicDataFrame) -> DataFrame:
        nonlocal left
        kept = original(frame)
        if left:
            left -= 1
            kept._jdf.queryExecution().logical().rdd().unpersist(True)  # noqa: SLF001
        return kept

    return mock.patch.object(ClassicDataFrame, "localCheckpoint", lost)


def test_lost_rows_are_derived_again(
    spark: SparkSession, db: SparkDatabase, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    # Some of what gets lost is not looked at again.
    with losing_rows(TRIES - 1):
        db.insert("link", ring(spark))
    # Threads of other libraries log as well.
    assert {record.getMessage() for record in caplog.records if record.name == "whence"} == {
        "an executor died while reachable was derived, which is begun anew"
    }
    assert db.rows("reachable") == ALL_PAIRS


def test_rows_that_are_lost_every_time(spark: SparkSession, db: SparkDatabase, tmp_path: Path) -> None:
    db.insert("link", [(7, 8)])
    segments = set((tmp_path / "segments").iterdir())
    with losing_rows(1_000), pytest.raises(StateError, match="Spark could not do its part of the change") as caught:
        db.insert("link", ring(spark))
    assert caught.value.hint == "it has not happened, and can be tried again"
    assert set((tmp_path / "segments").iterdir()) == segments
    assert db.rows("link") == db.rows("reachable") == {(7, 8)}
    db.insert("link", ring(spark))
    assert db.rows("reachable") == {*ALL_PAIRS, (7, 8)}


def test_a_commit_that_cannot_be_written(spark: SparkSession, db: SparkDatabase, tmp_path: Path) -> None:
    db.insert("link", [(0, 1)])
    for rows in ([(1, 2)], ring(spark)):
        with mock.patch.object(Storage, "commit", side_effect=OSError("no room")), pytest.raises(OSError, match="room"):
            db.insert("link", rows)
        assert db.rows("link") == db.rows("reachable") == {(0, 1)}
        assert {tuple(row) for row in spark.sql("SELECT * FROM reachable").collect()} == {(0, 1)}
    db.insert("link", [(5, 6)])
    db.close()
    with SparkDatabase(spark, str(tmp_path)) as again:
        assert again.rows("link") == again.rows("reachable") == {(0, 1), (5, 6)}
        # A row that has never been there can come.
        again.insert("link", [(1, 2)])
        assert again.rows("reachable") == {(0, 1), (1, 2), (0, 2), (5, 6)}


def test_a_base_that_cannot_be_written(
    spark: SparkSession, db: SparkDatabase, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with mock.patch.object(journal, "SMALL_OVERLAY", 0):
        with mock.patch.object(Storage, "rewrite", side_effect=StateError("no room")):
            assert db.insert("link", RING[:2]).inserted == {"link": 2, "reachable": 3}
        assert "no new base could be written" in caplog.text
        assert db.rows("reachable") == {(0, 1), (1, 2), (0, 2)}
        db.insert("link", RING[2:])
    assert db.rows("reachable") == ALL_PAIRS
    db.close()
    with SparkDatabase(spark, str(tmp_path)) as again:
        assert again.rows("reachable") == ALL_PAIRS
