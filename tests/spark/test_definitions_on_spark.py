"""Constraints, windows of event time and aggregate selection on Spark: refused, kept and told there as here."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import whence
from tests.lang.sql.shapes import EVENT_TIME, TABLES, row_of_a, row_of_e
from whence.engines.spark.pages import Paging
from whence.model.types import Row
from whence.spark.database import SparkDatabase

TABLE = "CREATE TABLE p(id INT PRIMARY KEY, name VARCHAR(5) DEFAULT 'anon', code STRING UNIQUE)"
CHILD = "CREATE TABLE c(a INT, p INT REFERENCES p(id), v INT DEFAULT 7 CHECK (v > 0))"
PATHS = """
    CREATE VIEW best AS WITH RECURSIVE path(src, dst, cost) AS (
        SELECT src, dst, cost FROM link
        UNION SELECT p.src, l.dst, p.cost + l.cost FROM path p JOIN link l ON p.dst = l.src)
    SELECT src, dst, min(cost) AS cost FROM path GROUP BY src, dst"""


def test_constraints(spark: SparkSession, tmp_path: Path) -> None:
    with SparkDatabase(spark, str(tmp_path)) as db:
        db.execute(f"{TABLE}; {CHILD}")
        db.execute("INSERT INTO p(id, code) VALUES (1, 'x'), (2, NULL)")
        db.execute("INSERT INTO c(a, p) VALUES (1, 1)")
        for change, told in (
            ("INSERT INTO c VALUES (2, 9, 1)", "refers by p to no row of 'p'"),
            ("INSERT INTO c VALUES (2, 1, 0)", "does not pass its CHECK"),
            ("INSERT INTO p VALUES (3, 'a', 'x')", "the same code, which is UNIQUE"),
            ("INSERT INTO p VALUES (3, 'toolong', 'y')", "more characters in name"),
            ("DELETE FROM p WHERE id = 1", "the row that it refers to went"),
        ):
            with pytest.raises(whence.DataError) as caught:
                db.execute(change)
            assert told in str(caught.value)
        assert db.rows("p") == {(1, "anon", "x"), (2, "anon", None)}
        frame = spark.range(10, 20_010).selectExpr(
            "CAST(id AS INT)", "'n' AS name", "CAST(id % 20000 AS STRING) AS code"
        )
        db.insert("p", frame)
        with pytest.raises(whence.DataError, match="which is UNIQUE"):
            db.insert("p", frame.selectExpr("id + 50000 AS id", "name", "code"))
        assert db.query("SELECT count(*) AS n FROM p").to_pylist() == [{"n": 20_002}]
        assert [row["col_name"] for row in db.query("DESCRIBE c").to_pylist()] == ["a", "p", "v"]
    with SparkDatabase(spark, str(tmp_path)) as db, pytest.raises(whence.DataError, match="does not pass its CHECK"):
        db.execute("INSERT INTO c VALUES (2, 1, 0)")


@pytest.mark.parametrize("paging", [Paging(), Paging(whole=0, rows=5, delta=5, mapped=0)])
def test_views_are_those_of_the_local_engine(spark: SparkSession, paging: Paging) -> None:
    pick = random.Random(5)
    queries = [EVENT_TIME[0], EVENT_TIME[2], EVENT_TIME[8]]
    with SparkDatabase(spark, None, paging=paging) as db, whence.connect() as twin:
        for each in (db, twin):
            each.execute(f"CREATE TABLE a({TABLES['a']}); CREATE TABLE e({TABLES['e']})")
            each.execute("CREATE TABLE link(src INT, dst INT, cost INT)")
            each.execute(PATHS)
            for number, query in enumerate(queries):
                each.execute(f"CREATE VIEW v{number} AS {query}")
        assert "aggregate selection" in db.explain("best")
        rows: dict[str, list[Row]] = {"a": [], "e": [], "link": []}
        for _ in range(3):
            coming: dict[str, list[Row]] = {
                "a": [row_of_a(pick, pick.randrange(5))],
                "e": [row_of_e(pick, number) for number in range(8)],
                "link": [(pick.randrange(4), pick.randrange(4), pick.randrange(1, 9)) for _ in range(3)],
            }
            going = {name: pick.sample(there, min(2, len(there))) for name, there in rows.items()}
            for each in (db, twin):
                with each.batch() as batch:
                    for name in rows:
                        batch.insert(name, coming[name])
                        batch.delete(name, going[name])
            rows = {
                name: list((Counter(there) + Counter(coming[name]) - Counter(going[name])).elements())
                for name, there in rows.items()
            }
            for view in ("best", *(f"v{number}" for number in range(len(queries)))):
                assert db.rows(view) == twin.rows(view)
