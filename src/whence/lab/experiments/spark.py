"""The same deletes on the Spark engine: what its tasks shuffle, beside what the nodes of the laboratory ship."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from whence.lab.experiments.catalog import Pairs, links_of, network_of
from whence.lab.experiments.figure import ABSORPTION_LAZY, DRED, Settings
from whence.lab.experiments.pictures import new_canvas, save
from whence.lab.network.wire import Traffic
from whence.lab.workloads.transit_stub import DENSE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = "CREATE TABLE link(src INT NOT NULL, dst INT NOT NULL, PRIMARY KEY (src, dst))"
VIEW = "reachable(x, y) :- link(x, y). reachable(x, y) :- link(x, z), reachable(z, y)."
MAINTENANCE = ("recompute", "dred", "absorption")
# Rows beyond which a change is followed in rounds on the cluster.
LARGE_CHANGE = 100


@dataclass(frozen=True, slots=True)
class Cost:
    """Of all deletes. Jobs are Spark's; in the laboratory the rounds are those in which nodes worked."""

    where: str
    way: str
    bytes: int
    jobs: int
    rounds: int
    seconds: float


def compare_with_spark(settings: Settings) -> list[Path]:
    """Inserts all links, and deletes some, one by one."""
    if find_spec("pyspark") is None:
        settings.tell("spark: skipped, because PySpark is not installed; pip install 'whence[spark]'")
        return []
    links = links_of(settings.scale.nodes, DENSE, 1)
    deleted = links[: settings.scale.spark_deletions]
    with _session() as spark:
        costs = list(_on_spark(spark, settings, links, deleted))
    costs += _in_the_laboratory(settings, links, deleted)
    table, picture = settings.output / "spark.csv", settings.output / "spark.svg"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([field.name for field in fields(Cost)])
        writer.writerows([*astuple(cost)[:-1], f"{cost.seconds:.3f}"] for cost in costs)
    _draw(costs, len(links), len(deleted), picture)
    return [table, picture]


def _on_spark(spark: SparkSession, settings: Settings, links: Pairs, deleted: Pairs) -> Iterator[Cost]:
    from whence.engines.spark.pages import Paging
    from whence.spark.database import SparkDatabase, use_this_python

    # A view of this size would not leave the driver: it is treated like one of many millions of rows.
    paging = Paging(whole=0, mapped=0, delta=LARGE_CHANGE)
    use_this_python(spark)
    for maintenance in MAINTENANCE:
        settings.tell(f"spark: {maintenance}")
        with SparkDatabase(spark, None, maintenance, paging=paging) as db:
            db.execute(TABLE)
            db.insert("link", links)
            db.rules(VIEW)
            started = time.perf_counter()
            spent = [db.delete("link", [link]).metrics for link in deleted]
            seconds = time.perf_counter() - started
        shuffled, jobs, rounds = (
            sum(int(each[name]) for each in spent) for name in ("shuffled_bytes", "jobs", "rounds")
        )
        yield Cost("Spark", maintenance, shuffled, jobs, rounds, seconds)


def _session() -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("whence experiments")
    for option, value in {
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }.items():
        builder = builder.config(option, value)
    return builder.getOrCreate()


def _in_the_laboratory(settings: Settings, links: Pairs, deleted: Pairs) -> Iterator[Cost]:
    for line in (DRED, ABSORPTION_LAZY):
        settings.tell(f"spark: the laboratory, {line.name}")
        network = network_of(line, settings.scale.processors)
        network.insert("link", links)
        started = time.perf_counter()
        traffic = sum((network.delete("link", [link]) for link in deleted), Traffic())
        seconds = time.perf_counter() - started
        yield Cost("network", line.name, traffic.bytes, 0, traffic.rounds, seconds)


def _draw(costs: list[Cost], links: int, deletes: int, path: Path) -> None:
    canvas = new_canvas(figsize=(11, 3.6))
    names = [f"{cost.where}\n{cost.way}" for cost in costs]
    quantities = {
        "kilobytes shuffled or shipped": [cost.bytes / 1000 for cost in costs],
        "jobs (Spark) or rounds (network)": [cost.jobs or cost.rounds for cost in costs],
        "time (s)": [cost.seconds for cost in costs],
    }
    for axes, (label, values) in zip(canvas.subplots(1, len(quantities)), quantities.items(), strict=True):
        bars = axes.bar(names, values)
        axes.bar_label(bars, fmt="{:,.1f}", fontsize="small")
        axes.set_ylabel(label)
        axes.tick_params(axis="x", labelsize="x-small")
    canvas.suptitle(f"reachable, {links} links, {deletes} of them deleted one by one")
    save(canvas, path)
