"""`spark.sql` over a table with changes that are not in its base yet, against the same rows in a table of Parquet."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession

import whence
from benchmarks import plain_spark
from benchmarks.harness import SCRATCH, Report, Stopwatch, main

TABLE = "CREATE TABLE item(id BIGINT NOT NULL, orders BIGINT NOT NULL, price DOUBLE NOT NULL, PRIMARY KEY (id))"
ROWS = "SELECT id, id % 500000 AS orders, id / 7.0D AS price FROM range({})"
FULL = "SELECT sum(price), max(orders) FROM {}"
BY_KEY = "SELECT * FROM {} WHERE id = {}"
PARQUET = "a table of Parquet"


@dataclass(frozen=True)
class Sizes:
    rows: int = 1_500_000
    changes: int = 10
    runs: int = 7


def run(sizes: Sizes) -> Report:
    report = Report(
        "spark_reads",
        "Reading on Spark",
        f"A table of {sizes.rows:,} rows, of which {sizes.changes} have gone and {sizes.changes} have come in commits "
        "of their own since its base was written, is read by spark.sql, as is a table of Parquet with the same rows. "
        "Both take turns. The first read is of a view that the session has not read before.",
    )
    spark = plain_spark.local_spark()
    path = str(SCRATCH / "spark_reads" / str(sizes.rows))
    with whence.connect(spark) as db:
        db.execute(TABLE)
        db.insert("item", spark.sql(ROWS.format(sizes.rows)))
        for number in range(sizes.changes):
            db.delete("item", [(number,)])
            db.insert("item", [(sizes.rows + number, 0, 0.5)])
        db.df("item").write.mode("overwrite").parquet(path)
        spark.read.parquet(path).createOrReplaceTempView("plain")
        first, opponent = Stopwatch(), Stopwatch()
        _timed(spark, opponent, FULL.format("plain"))
        _timed(spark, first, FULL.format("item"))
        report.figure("the first read, full", first.seconds[0], "s")
        report.figure(f"the first read, full, of {PARQUET}", opponent.seconds[0], "s")
        assert spark.sql(FULL.format("item")).collect() == spark.sql(FULL.format("plain")).collect()
        for what, query in (("full", FULL.format), ("by key", lambda name: BY_KEY.format(name, sizes.rows // 2))):
            view, parquet = Stopwatch(), Stopwatch()
            for _ in range(sizes.runs):
                _timed(spark, parquet, query("plain"))
                _timed(spark, view, query("item"))
            report.compare(f"a later read, {what}", view.timing, PARQUET, parquet.timing)
    spark.stop()
    return report


def _timed(spark: SparkSession, watch: Stopwatch, query: str) -> None:
    with watch:
        spark.sql(query).collect()


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(rows=20_000, changes=3, runs=5))
