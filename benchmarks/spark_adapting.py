"""Definitions that change on Spark: derived from what views hold, against plain Spark SQL that writes them again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

import whence
from benchmarks import plain_spark
from benchmarks.harness import SCRATCH, Report, Stopwatch, main
from whence.database.database import Database

# How often a change should fit into writing the view again.
FAST = 10.0
# What a gene has beside its name: a column for each run, which is then dropped.
REMARKS = tuple(f"remark{at}" for at in range(6))


@dataclass(frozen=True)
class Sizes:
    rows: int = 4_000_000
    # Of a source that is added, against those that there are.
    added: float = 0.01
    terms: int = 1_000
    runs: int = 5


def run(sizes: Sizes) -> Report:
    report = Report(
        "spark_adapting",
        "Definitions that change on Spark",
        f"A view of {sizes.rows:,} rows that joins entries with their terms, on the two processors of this machine. "
        f"Its definition changes: one more source in a UNION ALL, which has {sizes.added:.0%} of the rows; a column "
        "less; two columns that change places. Each time the opponent writes the rows of the new definition to Parquet "
        "with Spark SQL, over tables in Parquet. A change of definitions is over when it is durable and in the feed.",
    )
    spark = plain_spark.local_spark()
    directory = SCRATCH / "spark_adapting" / str(sizes.rows)
    tables = _written(spark, directory, sizes)
    with whence.connect(spark) as db:
        for name in tables:
            plain = spark.read.parquet(str(directory / name))
            db.execute(f"CREATE TABLE {name}({_columns(name)})")
            db.insert(name, plain)
            # By its own name the database shows what it holds.
            plain.createOrReplaceTempView(f"plain_{name}")
        watch = _Turns(db, spark, directory / "opponent")
        db.execute(f"CREATE OR REPLACE VIEW gene AS {_query(REMARKS, ())}")
        for what, steps in {
            "one more source": [_query(REMARKS, range(at + 1)) for at in range(sizes.runs)],
            "a column less": [_query(REMARKS[at + 1 :], range(sizes.runs)) for at in range(sizes.runs)],
            "two columns change places": [
                _query(REMARKS[sizes.runs :], range(sizes.runs), turned=at % 2 == 0) for at in range(sizes.runs)
            ],
        }.items():
            watch.measure(report, what, steps)
    return report


class _Turns:
    """A change of the definition, and the same rows written by Spark alone, one after the other."""

    def __init__(self, db: Database, spark: SparkSession, directory: Path) -> None:
        self._db = db
        self._spark = spark
        self._directory = directory

    def measure(self, report: Report, what: str, queries: Sequence[str]) -> None:
        ours, theirs = Stopwatch(), Stopwatch()
        for query in queries:
            with ours:
                self._db.execute(f"CREATE OR REPLACE VIEW gene AS {query}")
            plain = query.replace("FROM ", "FROM plain_").replace("JOIN ", "JOIN plain_")
            with theirs:
                self._spark.sql(plain).write.mode("overwrite").parquet(str(self._directory))
            held, wanted = self._db.df("gene").count(), self._spark.read.parquet(str(self._directory)).count()
            if held != wanted:
                raise AssertionError(f"{held} rows are not {wanted}")
        report.compare(what, ours.timing, plain_spark.NAME, theirs.timing)
        ratio = theirs.timing.median / ours.timing.median
        report.figure(f"{what}: {'at least' if ratio >= FAST else 'less than'} {FAST:g} times faster", ratio, "times")


def _query(remarks: Sequence[str], sources: Sequence[int] | range, *, turned: bool = False) -> str:
    chosen = ", ".join((*(["label", "name"] if turned else ["name", "label"]), *remarks))
    parts = [
        f"SELECT eid, {chosen} FROM {table} e JOIN term t ON e.tid = t.tid"
        for table in ("entry", *(f"source{at}" for at in sources))
    ]
    return " UNION ALL ".join(parts)


def _columns(name: str) -> str:
    if name == "term":
        return "tid INT NOT NULL, label STRING"
    return ", ".join(["eid BIGINT NOT NULL", "tid INT NOT NULL", "name STRING", *(f"{each} INT" for each in REMARKS)])


def _written(spark: SparkSession, directory: Path, sizes: Sizes) -> list[str]:
    """The tables as files, each of which is made once."""
    few = max(1, int(sizes.rows * sizes.added))
    counts = {"term": sizes.terms, "entry": sizes.rows, **{f"source{at}": few for at in range(sizes.runs)}}
    for number, (name, rows) in enumerate(counts.items()):
        if (directory / name).exists():
            continue
        if name == "term":
            columns = ["CAST(id AS INT) AS tid", "concat('term ', id) AS label"]
        else:
            remarks = [f"CAST(id * {at + 3} % 1000 AS INT) AS {each}" for at, each in enumerate(REMARKS)]
            first = number * 10 * sizes.rows
            columns = [f"id + {first} AS eid", f"CAST(id % {sizes.terms} AS INT) AS tid"]
            columns += [f"concat('protein ', (id * 7919) % {sizes.rows}) AS name", *remarks]
        spark.range(rows).selectExpr(*columns).write.parquet(str(directory / name))
    return list(counts)


if __name__ == "__main__":
    main(run, Sizes(), Sizes(rows=100_000))
