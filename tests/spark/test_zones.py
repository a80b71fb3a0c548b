"""A TIMESTAMP has no time zone on Spark either: neither the zone of the session matters nor that of the process.

The suite takes one zone; WHENCE_ZONES=all in the environment takes all five, and WHENCE_TIMES sets the number of random
times in each.
"""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, IntegerType, StructField, StructType, TimestampNTZType, TimestampType

import whence.spark.bulk_load
from tests.database.test_zones import ZONES, times
from whence.engines.spark.pages import Paging
from whence.engines.spark.types import rows_from_arrow
from whence.model.schema import Column, Relation
from whence.model.types import INT, TIMESTAMP
from whence.model.types import ArrayType as ListType
from whence.spark.database import SparkDatabase
from whence.storage.files.changes import pack, unpack
from whence.storage.files.files import open_files
from whence.storage.files.segments import read_segment, write_segment

TABLE = "CREATE TABLE t(id INT, at TIMESTAMP, more ARRAY<TIMESTAMP>)"
VIEWS = """
    CREATE VIEW hours AS SELECT id, hour(at) AS h, CAST(at AS BIGINT) AS s, date_trunc('day', at) AS day,
        at + INTERVAL '1' DAY AS next, CAST(at AS STRING) AS text, later(at) AS later FROM t WHERE year(at) < 9999;
    CREATE VIEW last AS SELECT max(at) AS at FROM t WHERE at < TIMESTAMP '2026-03-08 02:30:00'
"""
# Those of the views' columns that `query` can compute as well.
QUERY = """
    SELECT id, hour(at) AS h, CAST(at AS BIGINT) AS s, date_trunc('day', at) AS day,
        at + INTERVAL '1' DAY AS next, CAST(at AS STRING) AS text FROM t WHERE year(at) < 9999
"""
NUMBER = int(os.environ.get("WHENCE_TIMES", "20"))
SMALL = Paging(whole=4, keys=1_000, rows=5_000, delta=4)


@pytest.fixture(params=ZONES if os.environ.get("WHENCE_ZONES") == "all" else ("America/New_York",))
def session(
    request: pytest.FixtureRequest, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SparkSession]:
    """A session in a time zone, in a process in another one."""
    monkeypatch.setenv("TZ", ZONES[ZONES.index(request.param) - 1])
    time.tzset()
    found = spark.newSession()
    found.conf.set("spark.sql.session.timeZone", request.param)
    yield found
    monkeypatch.undo()
    time.tzset()


def rows_of(seed: int) -> list[tuple[Any, ...]]:
    return [(number, at, (at, None)) for number, at in enumerate(times(seed, NUMBER))]


def later(at: datetime.datetime) -> datetime.datetime:
    assert at.tzinfo is None
    return at + datetime.timedelta(microseconds=1)


def frame(session: SparkSession, rows: list[tuple[Any, ...]], *, zoned: bool) -> DataFrame:
    kind = TimestampType() if zoned else TimestampNTZType()
    arrow = pa.timestamp("us", "UTC" if zoned else None)
    ids, ats, mores = zip(*rows, strict=True)
    columns = {
        "id": pa.array(ids, pa.int32()),
        "at": pa.array(ats, pa.timestamp("us")).cast(arrow),
        "more": pa.array([list(more) for more in mores], pa.list_(pa.timestamp("us"))).cast(pa.list_(arrow)),
    }
    fields = [StructField("id", IntegerType()), StructField("at", kind), StructField("more", ArrayType(kind))]
    return session.createDataFrame(pa.table(columns), StructType(fields))


def told(table: pa.Table) -> set[tuple[Any, ...]]:
    assert not any("tz=" in str(kind) for kind in table.schema.types), table.schema
    return {tuple(tuple(v) if isinstance(v, list) else v for v in row.values()) for row in table.to_pylist()}


@pytest.mark.parametrize("large", [False, True])
def test_what_goes_in_comes_out(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    """By all ways in and out, with all rows in logs, or with all in segments."""
    if large:
        monkeypatch.setattr(whence.spark.bulk_load, "TAKEN_AS_ROWS", 4)
    rows = rows_of(seed=3)
    third = len(rows) // 3
    with SparkDatabase(session, str(tmp_path / "db"), paging=SMALL if large else Paging()) as db:
        db.function("later", later, returns="TIMESTAMP")
        db.execute(TABLE)
        db.execute(VIEWS)
        db.insert("t", rows[:third])
        db.insert("t", frame(session, rows[third : 2 * third], zoned=False))
        db.insert("t", frame(session, rows[2 * third :], zoned=True))
        db.export("t", tmp_path / "parquet", format="parquet")
        db.export("t", tmp_path / "json")
        assert db.rows("t") == set(rows)
        assert told(db.table("t")) == set(rows)
        assert told(db.df("t").toArrow()) == told(session.table("t").toArrow()) == set(rows)
        assert told(db.query("SELECT * FROM t")) == set(rows)
        seen = session.sql("SELECT id, hour(at) AS h FROM t WHERE at <> TIMESTAMP_NTZ '0001-01-01 00:00:00'")
        assert told(seen.toArrow()) == {(number, at.hour) for number, at, _ in rows if at.year > 1}
        expected = {
            (number, at.hour, (at - datetime.datetime(1970, 1, 1)) // datetime.timedelta(seconds=1))
            for number, at, _ in rows
            if at.year < 9999
        }
        assert {row[:3] for row in db.rows("hours")} == expected
        assert {row[:-1] for row in db.rows("hours")} == told(db.query(QUERY))
        assert {row[-1] for row in db.rows("hours")} == {later(at) for _, at, _ in rows if at.year < 9999}
        newest = max(at for _, at, _ in rows if at < datetime.datetime(2026, 3, 8, 2, 30))
        assert db.rows("last") == {(newest,)}
        assert told(db.changes("t").select(["id", "at", "more"])) == set(rows)
        feed = session.read.format("whence").options(path=str(tmp_path / "db"), relation="t").load()
        assert told(feed.select("id", "at", "more").toArrow()) == set(rows)
        exported = pa.concat_tables(
            parquet.read_table(path) for path in sorted((tmp_path / "parquet").glob("*.parquet"))
        )
        assert told(exported.select(["id", "at", "more"])) == set(rows)
        schema = db.df("t").schema
        assert told(session.read.schema(schema).json(str(tmp_path / "json")).toArrow()) == set(rows)
        going = rows[::2]
        db.delete("t", going[: len(going) // 2])
        db.delete("t", frame(session, going[len(going) // 2 :], zoned=True))
        assert db.rows("t") == set(rows[1::2])
    with SparkDatabase(session, str(tmp_path / "db")) as db:
        assert db.rows("t") == set(rows[1::2])
        assert told(db.df("t").toArrow()) == set(rows[1::2])


@pytest.mark.parametrize("large", [False, True])
def test_streams_bring_the_same_rows(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    if large:
        monkeypatch.setattr("whence.spark.bulk_load.TAKEN_AS_ROWS", 4)
    rows = rows_of(seed=4)
    with SparkDatabase(session, None) as db:
        for zoned in (False, True):
            directory = tmp_path / f"in-{zoned}"
            written = frame(session, rows, zoned=zoned)
            written.write.parquet(str(directory))
            name = f"t_{zoned}"
            db.execute(TABLE.replace("TABLE t", f"TABLE {name}"))
            db.attach(name, session.readStream.schema(written.schema).parquet(str(directory)))
        db.start(trigger="available now").awaitTermination()
        for zoned in (False, True):
            assert db.rows(f"t_{zoned}") == set(rows)


def test_rows_leave_at_their_time(session: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whence.spark.bulk_load, "TAKEN_AS_ROWS", 4)
    rows = [row[:2] for row in rows_of(seed=5)]
    with SparkDatabase(session, None, paging=SMALL) as db:
        db.execute("CREATE TABLE t(id INT, at TIMESTAMP) TBLPROPERTIES ('ttl' = '1 hour', 'ttl_column' = 'at')")
        db.insert("t", frame(session, [(*row, ()) for row in rows], zoned=True).select("id", "at"))
        for hour in (1, 2, 3):
            now = datetime.datetime(2026, 3, 8, hour, 30)
            db.advance(now)
            staying = {row for row in rows if row[1] > now - datetime.timedelta(hours=1)}
            assert db.rows("t") == staying


def test_the_zone_of_a_session_may_change_in_the_middle(session: SparkSession) -> None:
    rows = rows_of(seed=6)
    with SparkDatabase(session, None) as db:
        db.execute(TABLE)
        db.insert("t", frame(session, rows, zoned=True))
        session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        assert told(session.table("t").toArrow()) == told(db.query("SELECT * FROM t")) == set(rows)
        db.delete("t", frame(session, rows, zoned=True))
        assert db.rows("t") == set()


def test_state_of_earlier_versions_is_read(spark: SparkSession, tmp_path: Path) -> None:
    """They stored moments in UTC, in logs as in segments."""
    rows = rows_of(seed=7)
    moments = frame(spark, rows, zoned=True).toDF("c0", "c1", "c2")
    kinds = (INT, TIMESTAMP, ListType(TIMESTAMP))
    relation = Relation("t", tuple(Column(f"c{at}", kind) for at, kind in enumerate(kinds)))
    assert "tz=UTC" in str(moments.toArrow().schema)
    assert set(rows_from_arrow(unpack(memoryview(pack(moments.toArrow()))), relation)) == set(rows)
    files = open_files(spark, str(tmp_path))
    segment = write_segment(files, moments, "segments/0-0")
    found = read_segment(spark, files, segment, relation.columns)
    assert set(rows_from_arrow(found.toArrow(), relation)) == set(rows)
    assert found.where("c1 = TIMESTAMP_NTZ '2026-03-08 02:30:00'").count() == 1
