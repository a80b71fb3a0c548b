"""Window functions and LIMIT: values and types as in Spark, and kept up to date there as here."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from pyspark.sql import SparkSession

import whence
from tests.lang.sql.shapes import TABLES, row_of_t, row_of_u
from tests.spark.query_shapes import ROWS, bag, differences, in_spark
from whence.engines.spark.pages import Paging
from whence.model.types import Row
from whence.spark import bulk_load
from whence.spark.database import SparkDatabase

# With an order that tells all rows apart, or functions that do not look at it.
BY_ALL = "x DESC, id"
FRAMES = (
    "",
    "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING",
    "ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "ROWS 2 PRECEDING",
)
PLACES = (
    "row_number() rank() dense_rank() percent_rank() cume_dist() ntile(3) lag(x) lag(x,2,9) lead(y) lead(d,1,0) "
    "lag(x,-1) lag(id,0)"
).split()
PEERS = "rank() dense_rank() percent_rank() cume_dist() sum(x) count(*) avg(y) max(d) min(g)".split()
FOLDS = [
    *"count(y) sum(x) sum(d) avg(d) avg(x) min(y) max(x) first_value(y) last_value(x) last_value(x,true)".split(),
    *"nth_value(x,2) first(x) last(y)".split(),
    "first_value(y) IGNORE NULLS",
    "nth_value(y, 2) IGNORE NULLS",
    "sum(x) FILTER (WHERE y > 0)",
]
RANGES = (
    "1 PRECEDING AND 1 FOLLOWING",
    "2 PRECEDING AND CURRENT ROW",
    "CURRENT ROW AND UNBOUNDED FOLLOWING",
    "1 FOLLOWING AND 2 FOLLOWING",
    "UNBOUNDED PRECEDING AND 1 PRECEDING",
)


# Spark has no tables with maps.
READ = {name: columns for name, columns in TABLES.items() if "MAP<" not in columns}


def together(functions: Iterable[str], window: str) -> str:
    columns = ", ".join(f"{function} OVER ({window}) AS w{at}" for at, function in enumerate(functions))
    return f"SELECT id, {columns} FROM t"


QUERIES = [
    together(PLACES, f"PARTITION BY g ORDER BY {BY_ALL}"),
    together(PEERS, "ORDER BY g NULLS LAST, x"),
    *(together(FOLDS, f"PARTITION BY g ORDER BY {BY_ALL} {frame}") for frame in FRAMES),
    *(
        together(["sum(id)", "max(x)"], f"PARTITION BY g ORDER BY {order} RANGE BETWEEN {frame}")
        for order in ("x DESC", "x NULLS LAST")
        for frame in RANGES
    ),
    "SELECT id, sum(x) OVER (ORDER BY d RANGE BETWEEN 1.5 PRECEDING AND CURRENT ROW) FROM t",
    "SELECT id, max(x) OVER (ORDER BY date_add(DATE '2026-01-01', x) RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t",
    together(
        ["count(*)"],
        "ORDER BY date_add(DATE '2026-01-01', id) RANGE BETWEEN INTERVAL '3' DAY PRECEDING AND CURRENT ROW",
    ),
    together(
        ["count(*)"],
        "ORDER BY CAST(date_add(DATE '2026-01-01', id) AS TIMESTAMP) "
        "RANGE BETWEEN INTERVAL '40' HOUR PRECEDING AND INTERVAL '24' HOUR FOLLOWING",
    ),
    "SELECT g, sum(x) AS s, rank() OVER (ORDER BY sum(x) DESC) AS r, sum(sum(x)) OVER () AS whole FROM t GROUP BY g",
    "SELECT id, x - lag(x) OVER w AS step, y * sum(x) OVER w FROM t WINDOW w AS (PARTITION BY g ORDER BY id)",
    "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY g ORDER BY d DESC, id) AS n FROM t) WHERE n <= 2",
    "SELECT * FROM (SELECT id, rank() OVER (PARTITION BY g ORDER BY x) AS n FROM t) WHERE 3 >= n AND n > 1",
    "SELECT * FROM (SELECT id, dense_rank() OVER (PARTITION BY g ORDER BY x) AS n FROM t) WHERE n BETWEEN 2 AND 3",
    "SELECT t.id, u.z, row_number() OVER (PARTITION BY u.id ORDER BY t.id) AS n FROM t JOIN u ON t.g = u.g",
    "SELECT t.id, count(*) OVER (PARTITION BY u.id) FROM t LEFT JOIN u ON t.g = u.g AND t.x = u.z",
    "SELECT max(n) FROM (SELECT row_number() OVER (ORDER BY id) AS n FROM t)",
    "SELECT DISTINCT g, max(x) OVER (PARTITION BY g) AS best FROM t",
    "SELECT id FROM t ORDER BY x DESC, id LIMIT 5",
    "SELECT g, x FROM t ORDER BY y, id DESC LIMIT 5 OFFSET 3",
    "SELECT g, count(*) AS n FROM t GROUP BY g ORDER BY sum(x) DESC NULLS LAST, g LIMIT 2",
    "SELECT DISTINCT g FROM t ORDER BY g DESC LIMIT 2",
    "SELECT g FROM t UNION SELECT g FROM u ORDER BY g NULLS LAST LIMIT 3",
    "(SELECT id FROM t ORDER BY id LIMIT 10) ORDER BY id DESC LIMIT 2",
    "SELECT id FROM (SELECT id, x FROM t ORDER BY x NULLS LAST, id LIMIT 20) WHERE x > 1",
    "SELECT count(*) FROM (SELECT id FROM t LIMIT 7)",
    "SELECT id FROM t ORDER BY id OFFSET 35",
    "SELECT id FROM t ORDER BY id LIMIT 0",
    "SELECT id FROM t ORDER BY id LIMIT ALL",
    "SELECT id FROM t WHERE x = (SELECT z FROM u ORDER BY z DESC NULLS LAST, id LIMIT 1)",
    "SELECT id FROM t WHERE x IN (SELECT z FROM u WHERE z IS NOT NULL ORDER BY z LIMIT 2)",
]
# Ties are up to Spark there: what the rule of this system says of them can be told to it.
TIES = (
    ("SELECT g, x, row_number() OVER (PARTITION BY g ORDER BY x{}) AS n FROM t", ", g, x"),
    ("SELECT x, y, lag(y) OVER (ORDER BY g{}) AS before FROM t", ", x, y, g"),
    ("SELECT g, sum(x) OVER (ORDER BY g DESC{} ROWS UNBOUNDED PRECEDING) AS s FROM t", ", x"),
    ("SELECT x, y FROM t ORDER BY x{} LIMIT 9", ", x, y"),
    ("SELECT y, d FROM t {} LIMIT 4", "ORDER BY y, d"),
)


def test_as_in_spark(spark: SparkSession) -> None:
    in_spark(spark)
    assert not differences(spark, QUERIES)


def test_ties(spark: SparkSession) -> None:
    in_spark(spark)
    assert not differences(spark, [query.format(more) for query, more in TIES])
    with whence.connect() as db:
        db.execute(f"CREATE TABLE t({TABLES['t']})")
        db.insert("t", ROWS["t"])
        for query, more in TIES:
            db.execute(f"CREATE OR REPLACE VIEW v AS {query.format('')}")
            db.execute(f"CREATE OR REPLACE VIEW w AS {query.format(more)}")
            assert bag(db.table("v").to_pylist()) == bag(db.table("w").to_pylist()), query


VIEWS = (
    "SELECT id, g, row_number() OVER w AS n, sum(x) OVER w AS s FROM t WINDOW w AS (PARTITION BY g ORDER BY x)",
    "SELECT * FROM t QUALIFY rank() OVER (PARTITION BY g ORDER BY y DESC) <= 2",
    "SELECT id, lead(d) OVER (ORDER BY id) AS following FROM t",
    "SELECT t.id, u.z FROM t JOIN u ON t.g = u.g ORDER BY u.z DESC, t.x LIMIT 5 OFFSET 1",
)


# With so few rows in the driver, partitions are fetched, or all is computed on the cluster.
@pytest.mark.parametrize("paging", [Paging(), Paging(whole=0, mapped=0), Paging(whole=0, rows=5, delta=5, mapped=0)])
def test_kept_on_spark(spark: SparkSession, paging: Paging) -> None:
    pick = random.Random(paging.rows)
    with SparkDatabase(spark, None, paging=paging) as db, whence.connect() as twin:
        rows: list[Row] = []
        for each in (db, twin):
            for name, columns in READ.items():
                each.execute(f"CREATE TABLE {name}({columns})")
            for number, query in enumerate(VIEWS):
                each.execute(f"CREATE VIEW v{number} AS {query}")
        for step in range(4):
            came = [row_of_t(pick, pick.randrange(1000)) for _ in range(30 if step == 0 else 3)]
            more = [row_of_u(pick, pick.randrange(1000)) for _ in range(3)]
            gone = pick.sample(rows, min(len(rows), 4))
            rows = [row for row in rows if row not in gone] + came
            for each in (db, twin):
                with each.batch() as batch:
                    batch.insert("t", came)
                    batch.insert("u", more)
                    if gone:
                        batch.delete("t", gone)
            for number in range(len(VIEWS)):
                found = [sorted(map(repr, each.table(f"v{number}").to_pylist())) for each in (db, twin)]
                assert found[0] == found[1], VIEWS[number]


def test_computed_on_the_cluster(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that came as a frame stay there, and partitions are put in order where they are."""
    monkeypatch.setattr(bulk_load, "TAKEN_AS_ROWS", 100)
    with SparkDatabase(spark, None, paging=Paging(whole=0, rows=50, delta=50, mapped=0)) as db:
        db.execute("CREATE TABLE t(g INT, x INT)")
        db.execute(
            "CREATE VIEW best AS SELECT * FROM t QUALIFY row_number() OVER (PARTITION BY g ORDER BY x DESC) <= 2"
        )
        db.execute("CREATE VIEW top AS SELECT * FROM t ORDER BY x DESC LIMIT 3")
        db.insert("t", spark.range(3_000).selectExpr("cast(id % 300 AS int) AS g", "cast(id AS int) AS x"))
        assert "on the cluster" in db.explain("best", analyze=True)
        assert db.query("SELECT count(*) AS n, min(x) AS low FROM best").to_pylist() == [{"n": 600, "low": 2400}]
        assert db.rows("top") == {(297, 2997), (298, 2998), (299, 2999)}
        db.delete("t", [(7, 2707), (299, 2999)])
        db.insert("t", [(7, 9_999)])
        assert {row for row in db.rows("best") if row[0] == 7} == {(7, 2407), (7, 9_999)}
        assert db.rows("top") == {(297, 2997), (298, 2998), (7, 9_999)}
