"""A database on Spark that follows streams for a long time: does anything grow that should not?

`make bench-long` runs it for half an hour, `python -m benchmarks.soak --quick` for a minute.
"""

from __future__ import annotations

import datetime
import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import whence
from benchmarks.harness import Report, children, main, resident_bytes, slope
from whence.lab.workloads.transit_stub import TransitStub, transit_stub_links
from whence.spark.streams.handle import CHECKPOINTS

PROGRAM = """
    CREATE TABLE node(id INT NOT NULL, network INT NOT NULL, PRIMARY KEY (id));
    CREATE TABLE gateway(id INT NOT NULL, PRIMARY KEY (id));
    CREATE TABLE link(src INT NOT NULL, dst INT NOT NULL, cost INT NOT NULL, PRIMARY KEY (src, dst));
    CREATE TABLE report(node INT NOT NULL, load INT NOT NULL, at TIMESTAMP NOT NULL)
        TBLPROPERTIES ('ttl' = '60 seconds', 'ttl_column' = 'at');
    CREATE VIEW busy AS
        SELECT network, count(*) AS reports, sum(load) AS load, max(load) AS most
        FROM report JOIN node ON report.node = node.id GROUP BY network;
"""
RULES = """
    reachable(x, y) :- link(x, y, _).
    reachable(x, y) :- link(x, z, _), reachable(z, y).
    .decl cheapest(x: number, y: number, cost: number)
    cheapest(x, y, min<c>) :- gateway(x), link(x, y, c).
    cheapest(x, y, min<c + d>) :- cheapest(x, z, c), link(z, y, d).
"""
VIEWS = ("busy", "reachable", "cheapest")
BEGINNING = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
# Event time goes on by so much with each file of reports.
SECONDS_PER_FILE = 2
MEGABYTE = 1e6
# Change feeds go back so far. Until there are as many versions, files get more.
KEPT_VERSIONS = 200


@dataclass(frozen=True)
class Sizes:
    minutes: int = 30
    networks: int = 24
    nodes: int = 50
    links_per_file: int = 3
    reports_per_file: int = 400
    seconds_per_sample: int = 5


@dataclass
class Samples:
    """What was seen, each at a time in minutes."""

    started: float = field(default_factory=time.monotonic)
    series: dict[tuple[str, str], list[tuple[float, float]]] = field(default_factory=dict)

    def note(self, what: str, unit: str, value: float) -> None:
        self.series.setdefault((what, unit), []).append(((time.monotonic() - self.started) / 60, value))

    def second_half(self, what: str, unit: str) -> list[tuple[float, float]]:
        points = self.series[what, unit]
        return points[len(points) // 2 :]

    def thirds(self, what: str, unit: str) -> tuple[float, float]:
        """The median of the first third, and that of the last."""
        values = [value for _, value in self.series[what, unit]]
        third = max(1, len(values) // 3)
        return statistics.median(values[:third]), statistics.median(values[-third:])


def run(sizes: Sizes) -> Report:
    report = Report(
        "soak",
        "Following streams for a long time, on Spark",
        f"Two streams of files for {sizes.minutes} minutes, as fast as they are taken: links of {sizes.networks} "
        f"transit-stub networks of {sizes.nodes} nodes that come, go and change their costs, {sizes.links_per_file} in "
        f"a file, and {sizes.reports_per_file} reports in a file, which expire after a minute of event time. Three "
        f"views follow: which nodes reach which, what the cheapest paths from gateways cost, and how busy networks "
        f"are. Change feeds go back {KEPT_VERSIONS} versions. The amount of data stays the same, and so should all "
        f"else. Spark runs on the two processors of this machine, with 1 GB for the JVM, which collects its garbage "
        f"before every sample. Spark's checkpoints are beside the database, and name every file that a stream has ever "
        f"read.",
    )
    with tempfile.TemporaryDirectory() as name:
        samples = soak(Path(name), sizes)
    for (what, unit), points in samples.series.items():
        report.curve(what, "minutes", unit, points)
    for what in (
        "Python, resident",
        "JVM, resident",
        "JVM, live after a collection",
        "files of the database",
        "checkpoints of Spark",
    ):
        report.figure(f"{what}, median of the last third", samples.thirds(what, "MB")[1], "MB")
        growth = 60 * slope(samples.second_half(what, "MB"))
        report.figure(f"{what}, growth in the second half", growth, "MB per hour")
    for what, unit in (
        ("a commit of links", "s"),
        ("a commit of reports", "s"),
        ("jobs for a commit of links", "jobs"),
    ):
        first, last = samples.thirds(what, unit)
        report.figure(f"{what}, median of the first third", first, unit)
        report.figure(f"{what}, median of the last third", last, unit)
    return report


def soak(directory: Path, sizes: Sizes) -> Samples:
    spark = local_spark()
    db: Any = whence.connect(directory / "state", engine="spark", keep_versions=KEPT_VERSIONS)
    networks = Networks(Random(3), sizes)  # noqa: S311 - chance is not a secret here
    db.execute(PROGRAM)
    db.insert("node", [(node, node // sizes.nodes) for node in range(sizes.networks * sizes.nodes)])
    db.insert("gateway", [(first,) for first in range(0, sizes.networks * sizes.nodes, sizes.nodes)])
    db.insert("link", networks.rows())
    db.rules(RULES)
    links = Inbox(spark, directory / "links", "src INT, dst INT, cost INT, _change_type STRING")
    reports = Inbox(spark, directory / "reports", "node INT, load INT, at TIMESTAMP")
    db.attach("link", links.stream)
    db.attach("report", reports.stream, advance="0 seconds")
    running = db.start()
    samples = Samples()
    sampler = Sampler(samples, spark, db, directory / "state", sizes.seconds_per_sample)
    while time.monotonic() < samples.started + 60 * sizes.minutes:
        for what, inbox, records in (
            ("links", links, networks.changes()),
            ("reports", reports, networks.reports()),
        ):
            inbox.put(records)
            running.processAllAvailable()
            samples.note(f"a commit of {what}", "s", running.lastProgress.elapsed)
            samples.note(f"jobs for a commit of {what}", "jobs", running.lastProgress.jobs)
        sampler.look()
    running.stop()
    check(db)
    db.close()
    spark.stop()
    return samples


def local_spark() -> SparkSession:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


class Networks:
    """Links that change, and nodes that report how busy they are; always about as many of both."""

    def __init__(self, chance: Random, sizes: Sizes) -> None:
        self._chance = chance
        self._sizes = sizes
        self._links = {
            (first + source, first + target): cost
            for first in range(0, sizes.networks * sizes.nodes, sizes.nodes)
            for source, target, cost in transit_stub_links(TransitStub.of_size(sizes.nodes))
        }
        self._gone: dict[tuple[int, int], int] = {}
        self._files = 0

    def rows(self) -> list[tuple[int, int, int]]:
        return [(*ends, cost) for ends, cost in self._links.items()]

    def changes(self) -> Iterator[dict[str, Any]]:
        """Of the links that a file is about, some go, as many come back, and others change their costs."""
        going = self._chance.sample(sorted(self._links), self._sizes.links_per_file)
        moved = max(1, len(going) // 3)
        for ends, cost in self._gone.items():
            yield _change(ends, cost, "insert")
        self._links.update(self._gone)
        self._gone = {ends: self._links.pop(ends) for ends in going[:moved]}
        for ends, cost in self._gone.items():
            yield _change(ends, cost, "delete")
        for ends in going[moved:]:
            yield _change(ends, self._links[ends], "update_preimage")
            self._links[ends] = self._chance.randrange(1, 60)
            yield _change(ends, self._links[ends], "update_postimage")

    def reports(self) -> Iterator[dict[str, Any]]:
        self._files += 1
        now = BEGINNING + datetime.timedelta(seconds=SECONDS_PER_FILE * self._files)
        for _ in range(self._sizes.reports_per_file):
            node = self._chance.randrange(self._sizes.networks * self._sizes.nodes)
            at = now - datetime.timedelta(milliseconds=self._chance.randrange(1000))
            yield {"node": node, "load": self._chance.randrange(100), "at": at.isoformat()}


def _change(ends: tuple[int, int], cost: int, kind: str) -> dict[str, Any]:
    return {"src": ends[0], "dst": ends[1], "cost": cost, "_change_type": kind}


class Inbox:
    """A directory that Spark follows, and in which it removes what it has taken."""

    def __init__(self, spark: SparkSession, directory: Path, schema: str) -> None:
        directory.mkdir()
        self._spark = spark
        self._directory = directory
        self._schema = schema
        self._files = 0

    @property
    def stream(self) -> DataFrame:
        return self._spark.readStream.schema(self._schema).option("cleanSource", "delete").json(str(self._directory))

    def put(self, records: Iterator[dict[str, Any]]) -> None:
        self._files += 1
        hidden = self._directory / f".{self._files}.json"
        hidden.write_text("".join(f"{json.dumps(record)}\n" for record in records))
        hidden.rename(self._directory / f"{self._files}.json")


class Sampler:
    """Looks now and then at what could grow."""

    def __init__(self, samples: Samples, spark: SparkSession, db: Any, root: Path, seconds: float) -> None:
        self._samples = samples
        self._java = spark.sparkContext._jvm.java.lang  # type: ignore[union-attr] # noqa: SLF001 - to ask the JVM
        self._jvm = next(child for child in children() if Path(f"/proc/{child}/comm").read_text() == "java\n")
        self._registry = db._engine.registry  # noqa: SLF001 - it tells how large bases and overlays are
        self._root = root
        self._seconds = seconds
        self._last = 0.0

    def look(self) -> None:
        if time.monotonic() < self._last + self._seconds:
            return
        self._last = time.monotonic()
        note = self._samples.note
        note("Python, resident", "MB", resident_bytes() / MEGABYTE)
        self._java.System.gc()
        note("JVM, resident", "MB", resident_bytes(self._jvm) / MEGABYTE)
        used = self._java.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()
        note("JVM, live after a collection", "MB", used / MEGABYTE)
        for what, roots in (
            ("files of the database", [path for path in self._root.iterdir() if path.name != CHECKPOINTS]),
            ("checkpoints of Spark", [self._root / CHECKPOINTS]),
        ):
            paths = (path for root in roots for path in (root, *root.rglob("*")))
            sizes = [size for path in paths if (size := _size(path)) is not None]
            note(what, "MB", sum(sizes) / MEGABYTE)
            note(what, "files", len(sizes))
        states = [self._registry[name] for name in self._registry.names()]
        note("rows in bases", "rows", sum(len(state.base) for state in states))
        note("rows that have changed since", "rows", sum(len(state.overlay_rows) for state in states))


def _size(path: Path) -> int | None:
    """Of a file that is still there."""
    try:
        return path.stat().st_size if path.is_file() else None
    except FileNotFoundError:
        return None


def check(db: Any) -> None:
    """The views must be those of the rows that are in the tables at the end."""
    with whence.connect() as local:
        local.execute(PROGRAM)
        local.rules(RULES)
        for table in ("node", "gateway", "link", "report"):
            local.insert(table, db.table(table))
        for view in VIEWS:
            if db.rows(view) != local.rows(view):
                raise SystemExit(f"{view!r} is not the view of what is in the tables")


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(minutes=1, networks=2))
