"""UNION ALL recursion: as in Spark, and kept up to date there as here."""

from __future__ import annotations

import random

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

import whence
from tests.spark.query_shapes import bag, differences, in_spark
from whence.engines.spark.pages import Paging
from whence.model.types import Row
from whence.spark.database import SparkDatabase

TABLES = {"e": "a INT, b INT"}
ROWS: dict[str, list[Row]] = {"e": [(1, 2), (1, 2), (2, 3), (3, 4), (1, 3), (4, 6), (None, 1), (6, None)]}
WALK = "WITH RECURSIVE r(x) AS (SELECT a FROM e WHERE a < 3 UNION ALL SELECT b FROM r JOIN e ON r.x = e.a)"
PATHS = "WITH RECURSIVE r AS (SELECT a, b, 1 AS n FROM e UNION ALL SELECT r.a, e.b, n + 1 FROM r JOIN e ON r.b = e.a)"
QUERIES = [
    f"{WALK} SELECT * FROM r",
    f"{WALK} SELECT x, count(*) AS n FROM r GROUP BY x",
    f"{WALK} SELECT r.x, e.b FROM r LEFT JOIN e ON r.x = e.a",
    "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r WHERE x < 10) SELECT sum(x), count(*) FROM r",
    f"{PATHS} SELECT n, count(*) FROM r GROUP BY n",
    "WITH RECURSIVE r(x, s) AS (SELECT 1, 'a' UNION ALL SELECT x + 1, s || 'b' FROM r WHERE x < 4) SELECT * FROM r",
    "WITH RECURSIVE r(x) AS (VALUES (1), (2) UNION ALL SELECT x + 1 FROM r WHERE x < 5) SELECT x FROM r",
    "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r WHERE x < 99) SELECT max(x) FROM r",
]


def test_as_in_spark(spark: SparkSession) -> None:
    in_spark(spark, TABLES, ROWS)
    assert not differences(spark, QUERIES, TABLES, ROWS)


@pytest.mark.parametrize("last", [100, 101])
def test_the_limit_is_sparks(spark: SparkSession, last: int) -> None:
    query = f"WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r WHERE x < {last}) SELECT max(x) FROM r"
    with whence.connect() as db:
        try:
            expected = [tuple(row) for row in spark.sql(query).collect()]
        except Py4JJavaError:
            with pytest.raises(whence.ConvergenceError, match="more than 100 levels"):
                db.execute(f"CREATE VIEW v AS {query}")
        else:
            db.execute(f"CREATE VIEW v AS {query}")
            assert list(db.rows("v")) == expected


@pytest.mark.parametrize("paging", [Paging(), Paging(whole=0, rows=5, delta=5, mapped=0)])
def test_kept_on_spark(spark: SparkSession, paging: Paging) -> None:
    pick = random.Random(3)
    with SparkDatabase(spark, None, paging=paging) as db, whence.connect() as twin:
        for each in (db, twin):
            each.execute("CREATE TABLE e(a INT, b INT)")
            each.execute(f"CREATE VIEW v AS {QUERIES[1]}")
        rows: list[Row] = []
        for _ in range(4):
            came: list[Row] = [(low, low + pick.randrange(1, 3)) for low in pick.choices(range(8), k=6)]
            gone = pick.sample(rows, min(len(rows), 3))
            for row in gone:
                rows.remove(row)
            rows += came
            for each in (db, twin):
                with each.batch() as batch:
                    if gone:
                        batch.delete("e", gone)
                    batch.insert("e", came)
            assert bag(db.table("v").to_pylist()) == bag(twin.table("v").to_pylist())


def test_levels_on_the_cluster(spark: SparkSession) -> None:
    with SparkDatabase(spark, None, paging=Paging(whole=0, rows=50, delta=50, mapped=0)) as db:
        db.execute("CREATE TABLE e(a INT, b INT)")
        db.execute(
            "CREATE VIEW v AS WITH RECURSIVE r(x, n) AS (SELECT DISTINCT a, 0 FROM e WHERE a < 100 UNION ALL "
            "SELECT b, n + 1 FROM r JOIN e ON r.x = e.a) SELECT n, count(*) AS rows FROM r GROUP BY n"
        )
        db.insert("e", spark.range(20_000).selectExpr("cast(id % 400 AS int) AS a", "cast(id % 400 + 100 AS int) AS b"))
        assert db.rows("v") == {(0, 100), (1, 5_000), (2, 250_000), (3, 12_500_000), (4, 625_000_000)}
