"""DELETE and UPDATE with a condition and INSERT of a query: the driver takes few rows, and the cluster many."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from pyspark.sql import SparkSession

import whence
from whence.engines.spark.frames import FrameDelta
from whence.engines.spark.pages import DEFAULT_PAGING, Paging
from whence.spark import bulk_statements
from whence.spark.database import SparkDatabase

TABLES = {
    "bag": "CREATE TABLE item(a STRING, b INT); CREATE TABLE picked(a STRING, b INT)",
    "key": "CREATE TABLE item(a STRING, b INT, PRIMARY KEY (b)); CREATE TABLE picked(a STRING, b INT, PRIMARY KEY (b))",
}
VIEW = "CREATE VIEW sums AS SELECT a, count(*) AS n, sum(b) AS total FROM item GROUP BY a"
STATEMENTS = (
    "INSERT INTO picked SELECT a, b FROM item WHERE b % 3 = 0",
    "DELETE FROM item WHERE a IN (SELECT a FROM sums WHERE n > 3) AND b > 30",
    "UPDATE item SET b = b + 200 WHERE a = 'y' AND b < 30",
    "INSERT INTO item SELECT a, b + 1000 FROM picked",
    "UPDATE picked SET a = (SELECT max(a) FROM sums), b = b - 1 WHERE b IN (SELECT b FROM item)",
    """MERGE INTO item USING (SELECT DISTINCT a, b FROM picked) p ON item.b = p.b + 1001 AND item.a = p.a
    WHEN MATCHED AND item.b > 1020 THEN UPDATE SET a = 'm' WHEN MATCHED THEN DELETE""",
    """MERGE INTO picked USING (SELECT DISTINCT a, b FROM item) s ON picked.b = s.b - 1 AND picked.a >= s.a
    WHEN MATCHED AND s.a = 'x' THEN UPDATE SET * WHEN NOT MATCHED AND s.b > 100 THEN INSERT (a, b) VALUES (s.a, s.b)""",
    "INSERT OVERWRITE item SELECT a, b FROM item WHERE b % 2 = 0 UNION ALL SELECT 'w', 2001",
    "INSERT OVERWRITE picked VALUES ('x', 3), ('new', 7)",
    "TRUNCATE TABLE item",
)
NOTHING_IN_THE_DRIVER = Paging(whole=0, delta=0)


@pytest.mark.parametrize(
    ("kind", "paging"), [("bag", DEFAULT_PAGING), ("bag", NOTHING_IN_THE_DRIVER), ("key", NOTHING_IN_THE_DRIVER)]
)
def test_as_in_process(spark: SparkSession, kind: str, paging: Paging) -> None:
    chance = Random(kind)
    copies = 2 if kind == "bag" else 1
    rows = [(chance.choice("xyz"), b) for b in range(50)] * copies
    with SparkDatabase(spark, None, paging=paging) as db, whence.connect() as twin:
        for each in (db, twin):
            each.execute(TABLES[kind])
            each.execute(VIEW)
            each.insert("item", rows)
        for statement in STATEMENTS:
            for each in (db, twin):
                each.execute(statement)
            for name in ("item", "picked", "sums"):
                assert db.table(name) == twin.table(name), statement


def test_large_answers_stay_on_the_cluster(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    with SparkDatabase(spark, None, paging=NOTHING_IN_THE_DRIVER) as db:
        db.execute("CREATE TABLE item(a INT, b INT); CREATE TABLE picked(a INT, b INT)")
        db.insert("item", spark.range(30_000).selectExpr("cast(id AS int) AS a", "cast(id % 7 AS int) AS b"))

        def collected(_: object) -> None:
            raise AssertionError("the rows were brought to the driver")

        monkeypatch.setattr(FrameDelta, "_rows", property(collected))
        inserted = db.execute("INSERT INTO picked SELECT a, b FROM item WHERE b = 1")
        updated = db.execute("UPDATE item SET b = 5 WHERE b > 4")
        deleted = db.execute("DELETE FROM item WHERE b > 1")
        assert inserted is not None
        assert deleted is not None
        assert updated is not None
        assert updated.inserted == updated.deleted == {"item": 4285}
        assert inserted.inserted == {"picked": 4286}
        assert deleted.deleted == {"item": 21428}
        assert db.query("SELECT count(*) AS n FROM item").to_pydict() == {"n": [8572]}
        db.insert("item", spark.range(30_000).selectExpr("cast(id AS int) AS a", "9 AS b"))
        monkeypatch.setattr(bulk_statements, "TAKEN_AS_ROWS", 20_000)
        overwritten = db.execute("INSERT OVERWRITE item VALUES (1, 9), (-1, 9)")
        assert overwritten is not None
        assert (overwritten.inserted, overwritten.deleted) == ({"item": 1}, {"item": 38571})


def test_a_failing_statement_changes_nothing(spark: SparkSession) -> None:
    with SparkDatabase(spark, None, paging=NOTHING_IN_THE_DRIVER) as db:
        db.execute(TABLES["key"])
        db.insert("item", [("x", 1), ("y", 2)])
        before = db.version
        with pytest.raises(whence.WhenceError, match="divi"):
            db.execute("DELETE FROM item WHERE 1 / (b - 2) > 0")
        with pytest.raises(whence.DataError, match="key"):
            db.execute("INSERT INTO picked SELECT a, 1 FROM item")
        with pytest.raises(whence.DataError, match="key"):
            db.execute("UPDATE item SET b = 7, a = 'z'")
        with pytest.raises(whence.DataError, match="several rows of the source match one row of 'item'"):
            db.execute("MERGE INTO item USING item s ON s.b > 0 WHEN MATCHED THEN UPDATE SET a = s.a")
        with pytest.raises(whence.DataError, match="takes no NULL"):
            db.execute("UPDATE item SET b = NULL")
        assert (db.rows("item"), db.rows("picked"), db.version) == ({("x", 1), ("y", 2)}, set(), before)


def test_a_view_that_becomes_a_set_loses_all_copies(spark: SparkSession) -> None:
    """Its feed, read from before, comes to what is there."""
    with whence.connect(spark) as db:
        db.execute("CREATE TABLE item(a INT NOT NULL, b INT NOT NULL); CREATE VIEW of_b AS SELECT b FROM item")
        db.insert("item", [(1, 7), (2, 7), (3, 8), (4, 9), (5, 9)])
        db.execute("CREATE OR REPLACE VIEW of_b AS SELECT DISTINCT b FROM item WHERE b > 7")
        counts: Counter[int] = Counter()
        for change in db.changes("of_b").to_pylist():
            counts[change["b"]] += 1 if change["_change_type"] == "insert" else -1
        assert +counts == {8: 1, 9: 1}
        assert -counts == {}
