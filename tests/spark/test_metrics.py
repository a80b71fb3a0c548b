"""What a commit on Spark says about its cost, and what `explain` says about each view."""

from __future__ import annotations

from unittest import mock

import pyspark.sql.functions as F
from pyspark.sql import SparkSession

from whence.engines.spark.metrics import Phases, Spent
from whence.engines.spark.pages import Paging
from whence.spark import bulk_load
from whence.spark.database import SparkDatabase

PROGRAM = """
    .decl link(src: number, dst: number)
    reachable(x, y) :- link(x, y).
    reachable(x, y) :- link(x, z), reachable(z, y).
    .decl leaving(src: number, n: number)
    leaving(x, count<y>) :- reachable(x, y).
    .decl city(id: number, name: symbol) key(id)
"""


def shuffled_so_far(spark: SparkSession) -> int:
    """By all that Spark has ever done on this machine."""
    context = spark.sparkContext._jsc.sc()  # noqa: SLF001 - PySpark has no other way to it
    context.listenerBus().waitUntilEmpty()
    executors = context.statusStore().executorList(True)
    assert executors.length() == 1
    return int(executors.apply(0).totalShuffleWrite())


def test_what_jobs_took(spark: SparkSession) -> None:
    phases = Phases(spark)
    before = shuffled_so_far(spark)
    with phases.phase("a", "first"):
        assert spark.range(1000).repartition(3).count() == 1000
    with phases.phase("b", "second"):
        pass
    after = shuffled_so_far(spark)
    spark.range(1000).repartition(3).count()
    spent = phases.spent()
    assert spent["a"].shuffled == after - before > 0
    assert spent["a"].jobs >= 1
    assert spent["b"] == Spent()


def test_what_commits_took(spark: SparkSession) -> None:
    chain = spark.range(5).select(F.col("id").cast("int").alias("src"), (F.col("id") + 1).cast("int").alias("dst"))
    cities = spark.createDataFrame([(1, "Athens"), (2, "Berlin")], "id INT, name STRING")
    with (
        mock.patch.object(bulk_load, "TAKEN_AS_ROWS", 1),
        SparkDatabase(spark, None, paging=Paging(whole=0, mapped=0, delta=3)) as db,
    ):
        db.rules(PROGRAM)
        large = db.insert("link", chain).metrics
        # The longest way has five links, and in the last round nothing is new.
        assert (large["rounds"], large["derived_anew"], large["tries"]) == (6, 2, 0)
        assert large["jobs"] > 6 and large["shuffled_bytes"] > 0
        told = str(db.explain("leaving", analyze=True))
        assert "on the cluster, because the change was large; 0 tries, 6 rounds, 5 rows in, 15 rows out, " in told
        assert told.endswith(
            f"in all: {large['jobs']} Spark jobs for the last commit, {large['shuffled_bytes']:,} bytes shuffled, "
            f"{large['read_bytes']:,} read, {large['written_bytes']:,} written"
        )
        small = db.insert("link", [(7, 8)]).metrics
        assert (small["rounds"], small["derived_anew"]) == (0, 0)
        assert small["jobs"] > 0 and small["tries"] > 2
        db.insert("city", cities)
        # The row that has the key is looked up before the commit, and nothing else is needed.
        assert db.delete("city", [(1, "Athens")]).metrics["jobs"] == 1
        assert db.insert("city", []).metrics["jobs"] == 0
