"""Views of TPC-H on Spark while orders change with their items, against Spark running the queries again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow.parquet as parquet
import sqlglot
from pyspark.sql import SparkSession

import whence
from benchmarks import plain_spark
from benchmarks.harness import ROOT, SCRATCH, Report, Stopwatch, changes_view, main
from benchmarks.tpch import RowUpdate, order_stream, tpch_tables
from whence.database.database import Database
from whence.model.updates import Commit

TEXTS = ROOT / "tests" / "tpch"
QUERIES = tuple(f"q{number:02}" for number in range(1, 23))
# How often a commit should fit into running the query again, for most of the queries and for each.
FAST, SLOW = 3.0, 0.8


@dataclass(frozen=True)
class Sizes:
    scale: float = 1.0
    shares: tuple[float, ...] = (0.001, 0.01)
    commits: int = 3
    queries: tuple[str, ...] = QUERIES


def run(sizes: Sizes) -> Report:
    data = tpch_tables(sizes.scale, SCRATCH / "tpch" / str(sizes.scale))
    report = Report(
        "spark_tpch",
        "TPC-H views on Spark, while orders and their items change",
        f"The queries of TPC-H at scale {sizes.scale:g} ({data['lineitem'].num_rows:,} items), one after the other as "
        f"the only view of a database on Spark, which runs on the two processors of this machine. A commit changes "
        f"a share of all orders, with their items: rows leave and come back with other values; the next commit takes "
        f"that back. In turns with the commits, the opponent runs the query again over the first tables in Parquet, "
        f"and computes every row and column of the answer.",
    )
    spark = plain_spark.local_spark()
    directory = SCRATCH / "spark_tpch" / str(sizes.scale)
    directory.mkdir(parents=True, exist_ok=True)
    for name, table in data.items():
        parquet.write_table(table, directory / name)
    streams = {}
    for share in sizes.shares:
        orders = max(1, int(share * data["orders"].num_rows))
        streams[share] = order_stream(data, commits=sizes.commits, orders=orders)
    with whence.connect(spark) as db:
        db.execute((TEXTS / "schema.sql").read_text())
        for name in data:
            db.insert(name, spark.read.parquet(str(directory / name)))
        # By now the database shows its own relations under these names.
        for name in data:
            spark.read.parquet(str(directory / name)).createOrReplaceTempView(f"plain_{name}")
        ratios = {share: dict[str, float]() for share in sizes.shares}
        for query in sizes.queries:
            measure(spark, db, query, streams, ratios, report)
    for share, found in ratios.items():
        fast, slow = sum(each >= FAST for each in found.values()), sum(each < SLOW for each in found.values())
        report.figure(f"{share:.1%} of orders: queries at least {FAST:g} times faster", fast, "")
        report.figure(f"{share:.1%} of orders: queries below {SLOW:g} times", slow, "")
    spark.stop()
    return report


def measure(
    spark: SparkSession,
    db: Database,
    name: str,
    streams: dict[float, list[RowUpdate]],
    ratios: dict[float, dict[str, float]],
    report: Report,
) -> None:
    definition = (TEXTS / f"{name}.sql").read_text()
    run_again = partial(_run_again, spark, _over_plain_tables(definition))
    run_again()
    build, built = Stopwatch(), Stopwatch()
    with build:
        db.execute(definition)
    with built:
        run_again()
    report.figure(f"{name}: define the view, against running it once", build.seconds[0] / built.seconds[0], "times")
    for share, stream in streams.items():
        watch, opponent, jobs, changed = Stopwatch(), Stopwatch(), 0, 0
        for number, update in enumerate(_there_and_back(stream)):
            if number < 2:
                # The first ones of a size find nothing in memory.
                _commit(db, update)
                continue
            with watch:
                commit = _commit(db, update)
            jobs = max(jobs, int(commit.metrics["jobs"]))
            changed += changes_view(commit, name)
            with opponent:
                run_again()
        report.compare(f"{name}: {share:.1%} of orders", watch.timing, plain_spark.NAME, opponent.timing)
        report.figure(f"{name}, {share:.1%}: jobs of a commit, at most", jobs, "jobs")
        report.figure(f"{name}, {share:.1%}: commits that changed the view", 100 * changed / len(watch.seconds), "%")
        ratios[share][name] = opponent.timing.median / watch.timing.median
    db.execute(f"DROP VIEW {name}")


def _there_and_back(stream: Sequence[RowUpdate]) -> list[RowUpdate]:
    """A commit and what takes it back, twice to begin with."""
    return [each for update in (stream[0], *stream) for each in (update, update.taken_back())]


def _commit(db: Database, update: RowUpdate) -> Commit:
    with db.batch() as batch:
        for table, rows in update.deleted.items():
            batch.delete(table, rows)
            batch.insert(table, update.inserted[table])
    assert batch.commit is not None
    return batch.commit


def _over_plain_tables(definition: str) -> str:
    query = sqlglot.parse_one(definition, read="spark").expression
    named = {each.alias for each in query.find_all(sqlglot.exp.CTE)}
    for table in list(query.find_all(sqlglot.exp.Table)):
        if table.name not in named:
            alias = table.alias or table.name
            table.replace(sqlglot.exp.to_table(f"plain_{table.name}", alias=alias))
    return str(query.sql(dialect="spark"))


def _run_again(spark: SparkSession, text: str) -> None:
    # A count would let Spark leave out the columns, and with them most of the work.
    spark.sql(text).write.format("noop").mode("overwrite").save()


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(scale=0.01, queries=("q01", "q03", "q05", "q10")))
