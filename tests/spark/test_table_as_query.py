"""CREATE TABLE ... AS SELECT and UPDATE ... FROM on Spark, of few rows and of many."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from whence.engines.spark.pages import Paging
from whence.spark import bulk_load
from whence.spark.database import SparkDatabase


def test_tables_from_queries(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_load, "TAKEN_AS_ROWS", 100)
    with SparkDatabase(spark, None, paging=Paging(whole=0, rows=500, delta=50, mapped=0)) as db:
        db.execute("CREATE TABLE t(k INT PRIMARY KEY, v INT)")
        db.insert("t", spark.range(3_000).selectExpr("cast(id AS int) AS k", "cast(id % 10 AS int) AS v"))
        db.execute(
            "CREATE TABLE whole AS SELECT k, v + 1 AS v FROM t; CREATE TABLE few AS SELECT k, v FROM t WHERE k < 3"
        )
        db.execute("CREATE VIEW total AS SELECT count(*) AS n, sum(v) AS v FROM whole")
        assert db.rows("total") == {(3_000, 16_500)}
        db.execute("UPDATE t SET v = few.v + 100 FROM few WHERE few.k = t.k")
        assert db.query("SELECT count(*) AS n, sum(v) AS v FROM t WHERE v >= 100").to_pylist() == [{"n": 3, "v": 303}]
