"""Change feeds that Spark reads by itself, beside the writer."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import whence.spark.bulk_load
from whence.errors import StateError, UnknownNameError
from whence.spark.database import SparkDatabase
from whence.spark.source import FeedFiles
from whence.storage.files.files import open_files

TABLE = """
    CREATE TABLE reading(
        sensor INT NOT NULL, at TIMESTAMP, day DATE, value DOUBLE, cost DECIMAL(8, 2), tags ARRAY<STRING>,
        PRIMARY KEY (sensor)
    )
"""
ROWS: list[tuple[Any, ...]] = [
    (1, datetime.datetime(2026, 1, 31, 12, 0, 1), datetime.date(2026, 1, 31), 0.5, Decimal("1.25"), ("a", None)),
    (2, None, None, None, None, None),
]


def changes(root: Path, relation: str, spark: SparkSession, **options: object) -> DataFrame:
    return spark.read.format("whence").options(path=str(root), relation=relation, **options).load()  # type: ignore[arg-type]


def told(frame: DataFrame) -> list[dict[str, Any]]:
    return sorted(frame.toArrow().to_pylist(), key=repr)


def test_changes_of_all_types(spark: SparkSession, tmp_path: Path) -> None:
    with SparkDatabase(spark, str(tmp_path)) as db:
        db.execute(TABLE)
        db.insert("reading", ROWS)
        with db.batch() as batch:
            batch.delete("reading", ROWS[:1])
            batch.insert("reading", [(1, *ROWS[1][1:])])
        # The writer has the lock all the time.
        for since in (0, 2, 3):
            expected = sorted(db.changes("reading", since).to_pylist(), key=repr)
            found = told(changes(tmp_path, "READING", spark, since=since))
            for change in found:
                if change["at"] is not None:
                    change["at"] = change["at"].replace(tzinfo=None)
            assert found == expected


def test_sessions_beside_each_other_have_the_source(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("one", "other"):
        session = spark.newSession()
        with SparkDatabase(session, str(tmp_path / name)) as db:
            db.execute("CREATE TABLE t(a INT)")
            db.insert("t", [(1,)])
            assert [change["a"] for change in told(changes(tmp_path / name, "t", session))] == [1]


def test_a_stream_follows_the_writer(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small changes and large ones, into another database."""
    with SparkDatabase(spark, str(tmp_path / "db")) as db:
        db.execute("CREATE TABLE n(x BIGINT)")
        db.execute("CREATE VIEW even AS SELECT x FROM n WHERE x % 2 = 0")
        db.insert("n", [(0,), (1,), (2,), (2,)])
        stream = spark.readStream.format("whence").options(path=str(tmp_path / "db"), relation="even").load()
        with SparkDatabase(spark, None) as copy:
            copy.execute("CREATE TABLE even(x BIGINT)")
            copy.attach("even", stream)
            running = copy.start()
            running.processAllAvailable()
            assert copy.table("even") == db.table("even")
            monkeypatch.setattr(whence.spark.bulk_load, "TAKEN_AS_ROWS", 10)
            db.insert("n", spark.range(100).withColumnRenamed("id", "x"))
            db.insert("n", spark.range(100).withColumnRenamed("id", "x"))
            db.delete("n", [(2,), (2,)])
            running.processAllAvailable()
            assert copy.table("even") == db.table("even")
        assert told(changes(tmp_path / "db", "n", spark)) == sorted(db.changes("n").to_pylist(), key=repr)


def test_what_cannot_be_read(spark: SparkSession, tmp_path: Path) -> None:
    with SparkDatabase(spark, str(tmp_path / "db"), keep_versions=2) as db:
        db.execute("CREATE TABLE said(word STRING)")
        for word in "abcd":
            db.insert("said", [(word,)])
        read: list[tuple[Callable[[], DataFrame], str]] = [
            (lambda: spark.read.format("whence").load(), "the source whence needs the option 'path'"),
            (
                lambda: changes(tmp_path / "db", "said", spark, since="x"),
                "'since' is a version, and not 'x'",
            ),
            (lambda: changes(tmp_path / "db", "sad", spark), "did you mean 'said'?"),
            (
                lambda: changes(tmp_path / "db", "said", spark),
                "the changes of 'said' are there from version 4 on; older ones are forgotten",
            ),
        ]
        for load, message in read:
            with pytest.raises(PySparkException) as caught:
                load().toArrow()
            assert message in str(caught.value)
        assert [change["word"] for change in told(changes(tmp_path / "db", "said", spark, since=3))] == ["c", "d"]
    with pytest.raises(StateError, match="there is no database in"):
        FeedFiles(open_files(None, str(tmp_path / "nowhere")), "said").newest()
    with pytest.raises(UnknownNameError):
        FeedFiles(open_files(None, str(tmp_path / "db")), "sad").relation()


def test_a_file_that_vanishes_while_it_is_read(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer has collected it, and there are newer ones."""
    with SparkDatabase(spark, str(tmp_path), keep_versions=1) as db:
        db.execute("CREATE TABLE said(word STRING)")
        db.insert("said", [("a",)])
        feed = FeedFiles(open_files(None, str(tmp_path)), "said")
        relation = feed.relation()
        (piece,) = feed.pieces(relation, 1, 2)
        assert feed.read(relation, piece).column("word").to_pylist() == ["a"]
        for _ in range(70):
            db.insert("said", [("b",)])
        with pytest.raises(StateError, match="the changes of 'said' are there from version 72 on"):
            feed.read(relation, piece)
        assert feed.newest() == 72
