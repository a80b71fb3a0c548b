"""Micro-batches on a standalone cluster, which the benchmark starts, against Spark running the query again there."""

from __future__ import annotations

import shutil

from benchmarks import plain_spark
from benchmarks.harness import SCRATCH, Report, main
from benchmarks.spark_batches import DAYS, REGIONS, Sizes, batches
from tests.spark.standalone_cluster import standalone_cluster


def run(sizes: Sizes) -> Report:
    report = Report(
        "spark_cluster",
        "Micro-batches on a cluster",
        f'What "Micro-batches of all sizes on Spark" measures, with {sizes.items:,} items, {sizes.orders:,} orders and '
        f"{REGIONS * DAYS:,} groups, on a standalone cluster: a master and two workers of one processor each, on this "
        f"machine, beside the driver.",
    )
    directory = SCRATCH / "spark_cluster"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    with standalone_cluster(directory) as master:
        spark = plain_spark.local_spark(master=master)
        batches(spark, sizes, directory, report)
        spark.stop()
    return report


if __name__ == "__main__":
    main(
        run,
        full=Sizes(items=1_500_000, orders=375_000, batches=(1, 1_000, 20_000, 100_000)),
        quick=Sizes(items=60_000, orders=15_000, batches=(1, 1_000)),
    )
