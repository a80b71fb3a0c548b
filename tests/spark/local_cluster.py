"""A database on a cluster of two executors of this machine, which are killed while it commits, beside the reference.

A process has one Spark, so it runs in one of its own: `python -m tests.spark.local_cluster DIRECTORY SEED CYCLES`.
Three executors die in a cycle.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql.classic.dataframe import DataFrame

import whence
from whence.engines.spark.fetch import Fetcher
from whence.engines.spark.pages import Paging
from whence.spark import bulk_load, journal
from whence.spark.database import SparkDatabase
from whence.spark.home import StorageHome

PROGRAM = """
    .decl link(src: number, dst: number, cost: number) key(src, dst)
    .decl node(id: number, region: symbol) key(id)
    reachable(x, y) :- link(x, y, _).
    reachable(x, y) :- link(x, z, _), reachable(z, y).
    .decl cheapest(x: number, y: number, cost: number)
    cheapest(x, y, min<c>) :- link(x, y, c).
    cheapest(x, y, min<c + d>) :- link(x, z, c), cheapest(z, y, d).
    .decl region(name: symbol, nodes: number, cost: number)
    region(r, count<y>, sum<c>) :- node(x, r), cheapest(x, y, c).
"""
RELATIONS = {
    "link": ("src", "dst", "cost"),
    "node": ("id", "region"),
    "reachable": ("x", "y"),
    "cheapest": ("x", "y", "cost"),
    "region": ("name", "nodes", "cost"),
}
NODES = 10
# So many rows of a frame are loaded on the cluster. All else is followed in the driver, where no rows stay.
LARGE = 10
PAGING = Paging(whole=0, mapped=0)

Link = tuple[int, int, int]


def cluster(home: Path) -> SparkSession:
    """Executors write into Spark's home, so they get one of their own."""
    home.mkdir()
    for part in ("bin", "jars"):
        (home / part).symlink_to(Path(pyspark.__file__).parent / part)
    os.environ.update(SPARK_HOME=str(home), PYSPARK_PYTHON=sys.executable)
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.driver.memory", "1g")
        .config("spark.executor.memory", "1g")
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    return session


def executors() -> list[int]:
    """Those that the JVM of this process has started."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            if b"CoarseGrainedExecutorBackend" in command and _parent(_parent(process.name)) == str(os.getpid()):
                found.append(int(process.name))
        except OSError:
            # It has just ended.
            continue
    return found


def _parent(process: str) -> str:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1]


@contextmanager
def losing_an_executor(spark: SparkSession, owner: object, function: str, call: int) -> Iterator[list[int]]:
    """Kill one while Spark is at work for the `call`th call of a function. Gives those that were killed."""
    calls = count(1)
    original = getattr(owner, function)
    killed: list[int] = []

    def kill_at_work() -> None:
        tracker = spark.sparkContext.statusTracker()
        while not tracker.getActiveStageIds():
            time.sleep(0.001)
        victim = executors()[0]
        os.kill(victim, signal.SIGKILL)
        killed.append(victim)

    def called(*arguments: Any, **options: Any) -> Any:
        if next(calls) == call:
            threading.Thread(target=kill_at_work, daemon=True).start()
        return original(*arguments, **options)

    with mock.patch.object(owner, function, called):
        yield killed


class Twins:
    """The same changes to a database on the cluster and to the reference. After each, all rows must be the same."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self._spark = spark
        self._root = root
        self._database = SparkDatabase(spark, str(root), paging=PAGING)
        self._reference = whence.connect(engine="reference")
        for database in (self._database, self._reference):
            database.rules(PROGRAM)

    def insert(self, table: str, rows: list[Any]) -> None:
        for database in (self._database, self._reference):
            database.insert(table, rows)
        self.check()

    def load(self, table: str, rows: list[Any]) -> None:
        """As a frame."""
        self._database.insert(table, self._spark.createDataFrame(rows, list(RELATIONS[table])).coalesce(1))
        self._reference.insert(table, rows)
        self.check()

    def change(self, going: list[Link], coming: list[Link]) -> None:
        for database in (self._database, self._reference):
            with database.batch() as batch:
                batch.delete("link", going)
                batch.insert("link", coming)
        self.check()

    def check(self) -> None:
        # All of them in one job.
        queries = [
            f"SELECT '{name}', array({', '.join(f'CAST({column} AS STRING)' for column in columns)}) FROM {name}"
            for name, columns in RELATIONS.items()
        ]
        found = Counter((name, *row) for name, row in self._spark.sql(" UNION ALL ".join(queries)).collect())
        expected = Counter((name, *map(str, row)) for name in RELATIONS for row in self._reference.rows(name))
        assert found == expected

    def open_again(self) -> None:
        self.close()
        self._database = SparkDatabase(self._spark, str(self._root), paging=PAGING)
        self.check()

    def close(self) -> None:
        self._database.close()


class Network:
    """Links between nodes that come, go and change their costs; with cycles."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._links: dict[tuple[int, int], int] = {}

    def more(self, number: int) -> list[Link]:
        coming: dict[tuple[int, int], int] = {}
        while len(coming) < number:
            ends = self._chance.randrange(NODES), self._chance.randrange(NODES)
            if ends not in self._links:
                coming[ends] = self._links[ends] = self._chance.randrange(1, 9)
        return [(*ends, cost) for ends, cost in coming.items()]

    def change(self) -> tuple[list[Link], list[Link]]:
        """Two go, one becomes dearer, two come."""
        going = [(*ends, self._links.pop(ends)) for ends in self._chance.sample(sorted(self._links), 3)]
        source, target, cost = going[0]
        self._links[source, target] = cost + 1
        return going, [(source, target, cost + 1), *self.more(2)]


def run(directory: Path, chance: Random, cycles: int) -> None:
    spark = cluster(directory / "home")
    network = Network(chance)
    twins = Twins(spark, directory / "state")
    twins.insert("node", [(node, "north" if node % 3 else "south") for node in range(NODES)])

    def load() -> None:
        twins.load("link", network.more(2 * LARGE))

    def change() -> None:
        twins.change(*network.change())

    def survive(commit: Callable[[], None], owner: object, function: str, call: int) -> None:
        with losing_an_executor(spark, owner, function, call) as killed:
            commit()
        assert killed, function

    for _ in range(cycles):
        # In a recursion, while rows are fetched that a change touches, and while a new base is written.
        survive(load, DataFrame, "localCheckpoint", chance.randrange(2, 7))
        survive(change, Fetcher, "ask", chance.randrange(1, 3))
        with mock.patch.object(journal, "SMALL_OVERLAY", 0):
            survive(change, StorageHome, "keep", 1)
        twins.open_again()
        change()
    twins.close()
    spark.stop()


if __name__ == "__main__":
    directory, seed, cycles = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    with mock.patch.object(bulk_load, "TAKEN_AS_ROWS", LARGE - 1):
        run(directory, Random(seed), cycles)
