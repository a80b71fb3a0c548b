"""Structs in a database on Spark: views under changes, against the reference engine, and rows in and out."""

from __future__ import annotations

import datetime
import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import whence
from tests.lang.sql.shapes import row_of_r
from whence.model.types import Row

TABLE = "CREATE TABLE r(id INT, s STRUCT<a: INT, b: STRING>, l ARRAY<STRUCT<k: STRING, v: STRUCT<n: INT>>>)"
VIEWS = {
    "plain": "SELECT id, s.a, l[0].v.n AS n, struct(s.b, id % 2 AS h) AS q FROM r WHERE size(l) > 0",
    "grouped": "SELECT s, count(*) AS n, max(s.b) AS m FROM r GROUP BY s",
    "best": "SELECT s.b, max_by(s, id) AS m, min_by(id, s) AS n, max(s) AS x FROM r GROUP BY s.b",
    "joined": "SELECT r.id, g.n FROM r JOIN grouped g ON r.s = g.s WHERE r.id < 3",
    "lists": "SELECT l, max(id) AS m, min(s) AS s FROM r GROUP BY l",
    "entries": "SELECT k, count(*) AS n, max(v) AS m FROM r LATERAL VIEW inline(l) q GROUP BY k",
    "reached": "WITH RECURSIVE w(s) AS (SELECT s FROM r WHERE s.b = 'x' "
    "UNION SELECT named_struct('a', w.s.a + 1, 'b', r.s.b) FROM w JOIN r ON r.s = w.s WHERE w.s.a < 4) SELECT s FROM w",
    "ranked": "SELECT id, rank() OVER (PARTITION BY s.a ORDER BY s) AS n FROM r",
}


@pytest.mark.usefixtures("spark")
def test_views_follow_changes(tmp_path: Path) -> None:
    pick = random.Random(5)
    there: list[Row] = []
    with whence.connect(str(tmp_path), engine="spark") as database, whence.connect(engine="reference") as oracle:
        for each in (database, oracle):
            each.execute(TABLE)
            for name, query in VIEWS.items():
                each.execute(f"CREATE VIEW {name} AS {query}")
        for step in range(4):
            # Thousands of rows are followed over columns.
            came = [row_of_r(pick, pick.randrange(20)) for _ in range((15, 3, 2_500, 3)[step])]
            gone = pick.sample(there, min(len(there), 3))
            for row in gone:
                there.remove(row)
            there += came
            for each in (database, oracle):
                with each.batch() as batch:
                    batch.insert("r", came)
                    batch.delete("r", gone)
            for name, query in VIEWS.items():
                found = [sorted(map(repr, each.table(name).to_pylist())) for each in (database, oracle)]
                assert found[0] == found[1], query
        kept = {name: database.rows(name) for name in VIEWS}
    with whence.connect(str(tmp_path), engine="spark") as database:
        assert {name: database.rows(name) for name in VIEWS} == kept


def test_rows_come_and_go_as_frames(spark: SparkSession) -> None:
    moment = datetime.datetime(2026, 1, 1, 12)
    with whence.connect(spark) as database:
        database.execute("CREATE TABLE t(id INT, s STRUCT<at: TIMESTAMP, n: BIGINT>)")
        database.insert(
            "t", spark.sql("SELECT 1 AS id, struct(TIMESTAMP_NTZ '2026-01-01 12:00:00' AS at, 2 AS n) AS s")
        )
        database.insert("t", spark.sql("SELECT 2 AS id, CAST(NULL AS STRUCT<at: TIMESTAMP_NTZ, n: BIGINT>) AS s"))
        assert database.rows("t") == {(1, (moment, 2)), (2, None)}
        frame = database.df("t").orderBy("id")
        assert frame.schema["s"].dataType.simpleString() == "struct<at:timestamp_ntz,n:bigint>"
        assert [row.s for row in frame.collect()] == [(moment, 2), None]
        assert database.query("SELECT s.n FROM t WHERE s.n > 1").to_pylist() == [{"n": 2}]


def test_a_map_is_no_column(spark: SparkSession) -> None:
    with whence.connect(spark) as database:
        with pytest.raises(whence.UnsupportedError, match="Spark compares no maps"):
            database.execute("CREATE TABLE t(m MAP<STRING, INT>)")
        database.execute("CREATE TABLE t(k STRING, v INT)")
        database.execute("CREATE VIEW v AS SELECT map(k, v)[k] AS v, map_keys(map(k, v, 'z', 0)) AS k FROM t")
        database.insert("t", [("a", 1)])
        assert database.rows("v") == {(1, ("a", "z"))}
