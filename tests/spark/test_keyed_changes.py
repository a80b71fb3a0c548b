"""upsert, update and delete by key on Spark: of few rows in the driver, of many on the cluster."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import whence
from whence.engines.spark.frames import FrameDelta
from whence.spark import bulk_load


def test_few_rows(spark: SparkSession) -> None:
    with whence.connect(spark) as db:
        db.execute("CREATE TABLE city(name STRING PRIMARY KEY, people INT)")
        db.execute("CREATE VIEW total AS SELECT count(*) AS n, sum(people) AS people FROM city")
        db.upsert("city", [("Oslo", 700), ("Bergen", 290), ("Malmo", 350)])
        commit = db.upsert("city", spark.createDataFrame([("Oslo", 701), ("Bergen", 290)], "name string, people int"))
        assert (commit.inserted["city"], commit.deleted["city"]) == (1, 1)
        db.update("city", "Bergen", {"people": None})
        with db.batch() as batch:
            batch.delete("city", [("Malmo",)])
            batch.upsert("city", [("Paris", 1)])
        assert db.rows("city") == {("Oslo", 701), ("Bergen", None), ("Paris", 1)}
        assert db.rows("total") == {(3, 702)}


def test_statements_in_a_batch(spark: SparkSession) -> None:
    with whence.connect(spark) as db:
        db.execute("CREATE TABLE city(name STRING PRIMARY KEY, people INT); CREATE TABLE log(name STRING)")
        db.insert("city", [("Oslo", 700), ("Bergen", 290)])
        version = db.version
        with db.batch() as batch:
            batch.execute("UPDATE city SET people = people + ? WHERE people > ?", [1, 300])
            batch.execute("INSERT INTO log VALUES ('Oslo')")
            batch.delete("city", [("Bergen",)])
        assert (db.version, db.rows("city"), db.rows("log")) == (version + 1, {("Oslo", 701)}, {("Oslo",)})
        late = db.batch()
        late.insert("city", [("Rome", 1)])
        late.execute("DELETE FROM city WHERE name = 'Rome'")
        with pytest.raises(whence.UnsupportedError, match="reads 'city', which the batch has changed before"), late:
            pass


def test_many_rows_stay_on_the_cluster(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def collected(_: object) -> None:
        raise AssertionError("the rows were brought to the driver")

    monkeypatch.setattr(bulk_load, "TAKEN_AS_ROWS", 20_000)
    with whence.connect(spark) as db:
        db.execute("CREATE TABLE t(v INT, k INT PRIMARY KEY)")
        monkeypatch.setattr(FrameDelta, "_rows", property(collected))
        db.insert("t", spark.range(30_000).selectExpr("cast(id AS int) AS k", "0 AS v"))
        half = "CASE WHEN id < 25000 THEN 0 ELSE 1 END AS v"
        commit = db.upsert("t", spark.range(3_000, 33_000).selectExpr("cast(id AS int) AS k", half))
        assert (commit.inserted, commit.deleted) == ({"t": 8_000}, {"t": 5_000})
        with pytest.raises(whence.DataError, match="several rows of the DataFrame have the same key of 't'"):
            db.upsert("t", spark.range(30_000).selectExpr("cast(id % 29999 AS int) AS k", "cast(id AS int) AS v"))
        keys = spark.range(5_000, 35_000).selectExpr("cast(id AS int) AS k")
        with pytest.raises(whence.DataError, match="is the key of no row of 't'"):
            db.delete("t", keys)
        assert db.delete("t", keys, missing="ignore").deleted == {"t": 28_000}
        assert db.query("SELECT count(*) AS n, max(k) AS k FROM t").to_pylist() == [{"n": 5_000, "k": 4_999}]
