"""Intervals and lambdas in a database on Spark: views under changes, against the reference engine, and frames."""

from __future__ import annotations

import datetime
import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import whence
from whence.model.types import Row

TABLE = """
    CREATE TABLE t(
      id INT, d DATE, ym INTERVAL YEAR TO MONTH, dt INTERVAL DAY TO SECOND, days INTERVAL DAY, n INT, a ARRAY<INT>
    )
"""
VIEWS = {
    "moved": "SELECT d + ym AS x, d + dt AS y, days * n AS z, d - d AS u FROM t WHERE ym > INTERVAL '1' YEAR",
    "totals": "SELECT n, sum(dt) AS s, avg(ym) AS a, min(days) AS m, count(DISTINCT dt) AS c FROM t GROUP BY n",
    "pairs": "SELECT a.id, b.id AS other, a.dt - b.dt AS none FROM t a JOIN t b ON a.dt = b.dt AND a.id < b.id",
    "lists": "SELECT transform(a, x -> x + n), aggregate(a, 0, (s, x) -> s + x) FROM t WHERE exists(a, x -> x = n)",
}


def row(pick: random.Random, number: int) -> Row:
    def perhaps(value: object) -> object:
        return pick.choice([None, value, value, value])

    length = datetime.timedelta(minutes=pick.randrange(-3, 4) * 30, microseconds=pick.choice([0, 1]))
    return (
        number,
        perhaps(datetime.date(2026, 1, 1) + datetime.timedelta(days=pick.randrange(90))),
        perhaps(pick.randrange(-20, 20)),
        perhaps(length),
        perhaps(datetime.timedelta(days=pick.randrange(3))),
        perhaps(pick.randrange(3)),
        perhaps(tuple(perhaps(pick.randrange(3)) for _ in range(pick.randrange(4)))),
    )  # type: ignore[return-value]


@pytest.mark.usefixtures("spark")
def test_views_follow_changes(tmp_path: Path) -> None:
    pick = random.Random(3)
    rows: list[Row] = []
    with whence.connect(str(tmp_path), engine="spark") as database, whence.connect(engine="reference") as oracle:
        for each in (database, oracle):
            each.execute(TABLE)
            for name, query in VIEWS.items():
                each.execute(f"CREATE VIEW {name} AS {query}")
        for step in range(3):
            came = [row(pick, 20 * step + number) for number in range(12)]
            gone = pick.sample(rows, min(len(rows), 4))
            rows = [each for each in rows if each not in gone] + came
            for each in (database, oracle):
                with each.batch() as batch:
                    batch.insert("t", came)
                    batch.delete("t", gone)
            for name, query in VIEWS.items():
                assert sorted(map(repr, database.rows(name))) == sorted(map(repr, oracle.rows(name))), query
        kept = {name: database.rows(name) for name in VIEWS}
    with whence.connect(str(tmp_path), engine="spark") as database:
        assert {name: database.rows(name) for name in VIEWS} == kept


def test_rows_come_and_go_as_frames(spark: SparkSession) -> None:
    with whence.connect(spark) as database:
        database.execute("CREATE TABLE t(id INT, y INTERVAL YEAR, h INTERVAL HOUR TO SECOND)")
        database.execute("CREATE VIEW v AS SELECT id, y + INTERVAL '1' MONTH AS m, h FROM t")
        text = "SELECT 1 AS id, INTERVAL '3' YEAR AS y, INTERVAL '1:02:03' HOUR TO SECOND AS h"
        database.insert("t", spark.sql(text))
        assert database.rows("v") == {(1, 37, datetime.timedelta(hours=1, minutes=2, seconds=3))}
        shown = database.df("v")
        kinds = [field.dataType.simpleString() for field in shown.schema]
        assert kinds == ["int", "interval year to month", "interval hour to second"]
        database.execute("INSERT INTO t VALUES (2, NULL, NULL)")
        found = spark.sql("SELECT CAST(m AS STRING), CAST(h AS STRING) FROM v ORDER BY id").collect()
        assert [tuple(each) for each in found] == [
            ("INTERVAL '3-1' YEAR TO MONTH", "INTERVAL '01:02:03' HOUR TO SECOND"),
            (None, None),
        ]
