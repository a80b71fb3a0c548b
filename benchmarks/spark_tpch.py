"""Views of TPC-H on Spark while rows change, against Spark running the queries again."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.parquet as parquet
import sqlglot
from pyspark.sql import SparkSession

import whence
from benchmarks import plain_spark
from benchmarks.harness import ROOT, SCRATCH, Report, Stopwatch, changes_view, main, repeat
from benchmarks.tpch import Refresh, RowUpdate, refresh_stream, tpch_tables

QUERIES = ("q01", "q03", "q05", "q10")
TEXTS = ROOT / "tests" / "tpch"


@dataclass(frozen=True)
class Sizes:
    scale: float = 1.0
    changed: float = 0.001
    commits: int = 12
    runs: int = 5


def run(sizes: Sizes) -> Report:
    data = tpch_tables(sizes.scale, SCRATCH / "tpch" / str(sizes.scale))
    rows = max(1, int(sizes.changed * data["lineitem"].num_rows))
    report = Report(
        "spark_tpch",
        "TPC-H views on Spark, while orders and items change",
        f"Queries 1, 3, 5 and 10 of TPC-H at scale {sizes.scale:g} ({data['lineitem'].num_rows:,} items), each as a "
        f"view on Spark, which runs on the two processors of this machine. {sizes.commits} commits change {rows:,} "
        f"rows each: a row leaves and comes back with other values. The opponent runs the query again over the same "
        f"tables in Parquet, and computes every row and column of the answer.",
    )
    spark = plain_spark.local_spark()
    directory = SCRATCH / "spark_tpch" / str(sizes.scale)
    directory.mkdir(parents=True, exist_ok=True)
    for name, table in data.items():
        parquet.write_table(table, directory / name)
    stream = refresh_stream(data, Refresh(sizes.commits, rows))
    for query in QUERIES:
        measure(spark, query, stream, str(directory), sizes, report)
    spark.stop()
    return report


def measure(
    spark: SparkSession, name: str, stream: list[RowUpdate], directory: str, sizes: Sizes, report: Report
) -> None:
    definition = (TEXTS / f"{name}.sql").read_text()
    query = sqlglot.parse_one(definition, read="spark").expression
    tables = sorted({"orders", "lineitem", *(table.name for table in query.find_all(sqlglot.exp.Table))})
    text = query.sql(dialect="spark")
    for table in tables:
        spark.read.parquet(f"{directory}/{table}").createOrReplaceTempView(table)

    def run_again() -> None:
        # A count would let Spark leave out the columns, and with them most of the work.
        spark.sql(text).write.format("noop").mode("overwrite").save()

    run_again()
    again = repeat(run_again, sizes.runs)
    with whence.connect(spark) as ours:
        ours.execute((TEXTS / "schema.sql").read_text())
        for table in tables:
            ours.insert(table, spark.read.parquet(f"{directory}/{table}"))
        build, watch = Stopwatch(), Stopwatch()
        with build:
            ours.execute(definition)
        commits = []
        for changed in stream:
            with watch, ours.batch() as batch:
                for table in changed.deleted:
                    batch.delete(table, changed.deleted[table])
                    batch.insert(table, changed.inserted[table])
            assert batch.commit is not None
            commits.append(batch.commit)
        report.compare(f"{name}: a commit", watch.timing, plain_spark.NAME, again)
        report.figure(f"{name}: build the view", build.seconds[0], "s")
        report.figure(f"{name}: jobs for a commit, at most", max(each.metrics["jobs"] for each in commits), "jobs")
        changes = sum(changes_view(each, name) for each in commits)
        report.figure(f"{name}: commits that changed the view", 100 * changes / len(commits), "%")


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(scale=0.01, changed=0.001))
