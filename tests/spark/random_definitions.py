"""Random programs and random steps to others on Spark, where everything is large enough for plans."""

from __future__ import annotations

import sys
from collections import Counter

from pyspark.sql import SparkSession

from tests.adapt.random_changes import run_in
from whence.engines.spark.pages import Paging
from whence.spark.database import SparkDatabase

# What Spark compiles for a query takes longer than the few rows here.
SETTINGS = {"spark.sql.codegen.wholeStage": "false", "spark.sql.adaptive.enabled": "false"}


def run(spark: SparkSession, seed: int, steps: int) -> Counter[str]:
    """So many steps from one program. Answers what was done, and how often."""
    with SparkDatabase(spark, None, paging=Paging(whole=2, delta=4, columns=3)) as db:
        for name, value in SETTINGS.items():
            db._engine.spark.conf.set(name, value)  # noqa: SLF001 - a session of its own
        return run_in(db, db._session, seed, steps, views=3, once=True)  # noqa: SLF001 - whose plans are looked at


def main() -> None:
    first, last = int(sys.argv[1]), int(sys.argv[2])
    spark = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 2).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    total: Counter[str] = Counter()
    for seed in range(first, last):
        try:
            total += run(spark, seed, 5)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
        sys.stderr.write(f"{seed}: {dict(total)}\n")
    spark.stop()


if __name__ == "__main__":
    main()
