"""Event time that follows the rows of a stream."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tests.spark.inbox import Inbox
from tests.spark.test_streams import replay_last
from whence.spark.database import SparkDatabase

TABLE = """
    CREATE TABLE reading(sensor INT, at TIMESTAMP, value INT)
    TBLPROPERTIES ('ttl' = '10 seconds', 'ttl_column' = 'at')
"""
SCHEMA = "sensor INT, at TIMESTAMP_NTZ, value INT, _change_type STRING"


def reading(sensor: int, second: int, change: str = "insert") -> dict[str, object]:
    return {"sensor": sensor, "at": f"2026-01-01T00:00:{second:02}", "value": 1, "_change_type": change}


def seconds(db: SparkDatabase) -> list[int]:
    return sorted(at.second for at in db.table("reading").column("at").to_pylist())


def test_rows_expire_with_the_batch(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "db"
    inbox = Inbox(spark, tmp_path / "in", SCHEMA)
    with SparkDatabase(spark, str(root)) as db:
        db.execute(TABLE)
        db.execute("CREATE VIEW busy AS SELECT sensor, count(*) AS n FROM reading GROUP BY sensor")
        db.attach("reading", inbox.stream, advance="5 seconds")
        running = db.start()
        inbox.put(reading(1, 0), reading(1, 0), reading(1, 3), reading(2, 9))
        running.processAllAvailable()
        # It is 00:00:04, and nobody is ten seconds old.
        assert seconds(db) == [0, 0, 3, 9] and db.version == 3
        inbox.put(reading(2, 16), reading(1, 0, "delete"))
        running.processAllAvailable()
        # It is 00:00:11: one of two copies was deleted, and the other one expired.
        assert seconds(db) == [3, 9, 16] and db.version == 4
        # Time stands still for an old row, and one that is too old is turned away.
        inbox.put(reading(3, 2), reading(3, 1))
        running.processAllAvailable()
        assert seconds(db) == [2, 3, 9, 16] and db.version == 5
        # A row that is too old as soon as its batch has come.
        inbox.put(reading(4, 30), reading(4, 10), reading(2, 9, "delete"))
        running.processAllAvailable()
        assert seconds(db) == [16, 30] and db.version == 6
        assert db.rows("busy") == {(2, 1), (4, 1)}
    replay_last(root, "reading")
    with SparkDatabase(spark, str(root)) as db:
        db.attach("reading", inbox.stream, advance="5 seconds")
        inbox.put(reading(5, 14), reading(5, 16))
        db.start(trigger="available now").awaitTermination()
        # It is 00:00:25 since before the replay.
        assert seconds(db) == [16, 16, 30] and db.version == 7


def test_the_time_zone_of_the_session_does_not_matter(spark: SparkSession, tmp_path: Path) -> None:
    elsewhere = spark.newSession()
    elsewhere.conf.set("spark.sql.session.timeZone", "America/Los_Angeles")
    inbox = Inbox(elsewhere, tmp_path / "in", "a TIMESTAMP, b TIMESTAMP_NTZ, c DATE")
    with SparkDatabase(elsewhere, None) as db:
        db.execute("CREATE TABLE times(a TIMESTAMP, b TIMESTAMP, c TIMESTAMP)")
        db.attach("times", inbox.stream)
        inbox.put({"a": "2026-07-01T12:00:00Z", "b": "2026-07-01T12:00:00", "c": "2026-07-01"})
        db.start(trigger="available now").awaitTermination()
        (row,) = db.rows("times")
        assert [str(value) for value in row] == ["2026-07-01 12:00:00", "2026-07-01 12:00:00", "2026-07-01 00:00:00"]
