"""Values for ? and :name in queries that Spark answers, and in statements of a database on Spark."""

from __future__ import annotations

import datetime
from decimal import Decimal

from pyspark.sql import SparkSession

import whence

ROW = (-7, 10_000_000_000, -0.1, Decimal("-12.500"), "'; -- ?", datetime.date(2026, 1, 31))
MOMENT = datetime.datetime(2026, 1, 31, 12, 30)


def test_every_type(spark: SparkSession) -> None:
    with whence.connect(spark) as db:
        db.execute("CREATE TABLE t(i INT, n BIGINT, x DOUBLE, d DECIMAL(20,3), s STRING, day DATE, at TIMESTAMP)")
        db.execute("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?)", [*ROW, MOMENT])
        assert db.rows("t") == {(*ROW, MOMENT)}
        same = "SELECT count(*) AS n FROM t WHERE i = ? AND n = ? AND x = ? AND d = ? AND s = ? AND day = ? AND at = ?"
        assert db.query(same, [*ROW, MOMENT]).to_pylist() == [{"n": 1}]
        assert db.query("SELECT :a - i AS a FROM t WHERE at > :b", {"a": 1, "b": MOMENT}).to_pylist() == []
        assert db.query("SELECT :a - i AS a FROM t WHERE s = :s", {"a": 1, "s": ROW[4]}).to_pylist() == [{"a": 8}]
