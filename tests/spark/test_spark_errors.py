"""What Spark says about ordinary mistakes, in our words."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest
from pyspark.sql import SparkSession

import whence
import whence.spark.bulk_load
from tests.spark.inbox import Inbox
from whence.analysis.limits import DEFAULT_LIMITS
from whence.errors import DataError, EvaluationError, StateError
from whence.spark.database import SparkDatabase, connect_spark


def views(spark: SparkSession) -> set[str]:
    return {table.name for table in spark.catalog.listTables()}


def test_a_database_that_is_gone_leaves_no_views(spark: SparkSession) -> None:
    session = spark.newSession()
    db = whence.connect(session)
    db.execute("CREATE TABLE `closed for good`(a INT); CREATE TABLE dropped(a INT)")
    assert views(session) == {"closed for good", "dropped"}
    db.execute("DROP TABLE dropped")
    assert views(session) == {"closed for good"}
    db.close()
    assert views(session) == set()
    db = whence.connect(session)
    db.execute("CREATE TABLE forgotten(a INT)")
    assert views(session) == {"forgotten"}
    del db
    gc.collect()
    for thread in threading.enumerate():
        if thread.name == "whence-withdraw":
            thread.join()
    assert views(session) == set()


def test_closing_a_database_leaves_the_views_of_another(spark: SparkSession) -> None:
    session = spark.newSession()
    with whence.connect(session) as stays:
        with whence.connect(session) as goes:
            goes.execute("CREATE TABLE t(a INT)")
            stays.execute("CREATE TABLE T(a INT)")
            stays.insert("t", [(1,)])
        assert [row.a for row in session.table("t").collect()] == [1]


def test_a_damaged_file_is_named_with_its_relation(spark: SparkSession, tmp_path: Path) -> None:
    with SparkDatabase(spark, str(tmp_path)) as db, mock.patch.object(whence.spark.bulk_load, "TAKEN_AS_ROWS", 1):
        db.execute("CREATE TABLE t(a BIGINT); CREATE TABLE other(a BIGINT)")
        db.insert("t", spark.range(1_000).toDF("a").coalesce(1))
    (file,) = (path for path in tmp_path.glob("segments/*/part-*") if path.stat().st_size > 1_000)
    for sums in tmp_path.glob("segments/*/.*.crc"):
        sums.unlink()
    whole = file.read_bytes()
    file.write_bytes(bytes(len(whole)))
    with SparkDatabase(spark, str(tmp_path)) as db:
        for ask in (lambda: db.rows("t"), lambda: db.query("SELECT sum(a) FROM t"), lambda: db.delete("t", [(1,)])):
            with pytest.raises(StateError, match=r"is damaged: segments/.*, which holds rows of 't',") as caught:
                ask()
            assert file.name in str(caught.value) and "bring back a copy" in str(caught.value)
        assert db.rows("other") == set()


def test_a_dataframe_that_cannot_be_computed(spark: SparkSession) -> None:
    with whence.connect(spark) as db:
        db.execute("CREATE TABLE t(a INT)")
        spark.range(1).selectExpr("CAST(id AS INT) AS a").createOrReplaceTempView("short_lived")
        failing = spark.sql("SELECT a DIV 0 AS a FROM short_lived")
        spark.catalog.dropTempView("short_lived")
        for change in (db.insert, db.delete):
            with pytest.raises(DataError, match=r"DataFrame for 't' cannot be computed: \[DIVIDE_BY_ZERO\]"):
                change("t", failing)
        with pytest.raises(DataError, match="column 'a' is INT"):
            db.insert("t", spark.sql("SELECT INTERVAL '1' DAY AS a"))
        with pytest.raises(DataError, match="has no column 'b'"):
            db.insert("t", spark.sql("SELECT 1 AS b"))
        assert db.rows("t") == set()


def test_a_query_that_fails_in_a_job(spark: SparkSession) -> None:
    with whence.connect(spark) as db:
        db.execute("CREATE TABLE t(a INT)")
        db.insert("t", [(0,)])
        with pytest.raises(EvaluationError, match="Spark cannot answer the query"):
            db.query("SELECT assert_true(a > 0) FROM t")


def test_streams_say_why_they_do_not_start_or_go_on(spark: SparkSession, tmp_path: Path) -> None:
    inbox = Inbox(spark, tmp_path / "in", "a INT")
    with SparkDatabase(spark, None) as db:
        db.execute("CREATE TABLE t(a INT)")
        db.attach("t", inbox.stream.selectExpr("10 DIV a AS a").selectExpr("CAST(a AS INT) AS a"))
        with pytest.raises(DataError, match="'often' is no trigger"):
            db.start(trigger="often")
        (tmp_path / "file").write_text("")
        with pytest.raises(StateError, match="the stream for 't' cannot be started"):
            db.start(checkpoint=tmp_path / "file" / "inside")
        inbox.put({"a": 0})
        with pytest.raises(DataError, match=r"batch 0 for 't' cannot be computed: \[DIVIDE_BY_ZERO\]"):
            db.start(trigger="available now").awaitTermination()


def test_a_stopped_session() -> None:
    """Not really stopped: the other tests need it."""
    stopped = mock.Mock(spec=SparkSession, sparkContext=SimpleNamespace(_jsc=None))
    with pytest.raises(StateError, match="the SparkSession is stopped") as caught:
        connect_spark(stopped, None, "auto", DEFAULT_LIMITS, 10)
    assert "make another one" in str(caught.value)


def test_a_session_that_stops_under_a_database(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    db = SparkDatabase(spark, None)
    db.execute("CREATE TABLE t(a INT)")
    with monkeypatch.context() as patched:
        patched.setattr("whence.spark.sessions.is_running", lambda _: False)
        frame = spark.range(1).selectExpr("CAST(id AS INT) AS a")
        asks = (
            lambda: db.rows("t"),
            lambda: db.df("t"),
            lambda: db.query("SELECT * FROM t"),
            lambda: db.insert("t", [(1,)]),
            lambda: db.insert("t", frame),
            lambda: db.execute("CREATE TABLE u(a INT)"),
        )
        for ask in asks:
            with pytest.raises(StateError, match="the SparkSession is stopped"):
                ask()
    db.close()


@pytest.mark.parametrize("name", ["file", "file/inside"])
def test_a_place_where_nothing_can_be_written(spark: SparkSession, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StateError, match=r"is a file|cannot be opened"):
        SparkDatabase(spark, str(tmp_path / name))
