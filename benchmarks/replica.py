"""Sites: what provenance and causal lengths cost, how fast updates travel, and what a long absence costs."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import whence
from benchmarks.harness import Report, Timing, main
from whence.model.types import Row
from whence.replica.site import Site

# The paper's relations: R1(ABCDE), R2(KC), of which R2 has 1,000 rows.
TABLES = """
CREATE TABLE r1(a INT, b INT, c INT, d INT, e INT, PRIMARY KEY (a, b, c, d, e));
CREATE TABLE r2(k INT, c INT, PRIMARY KEY (k, c));
"""
VIEWS = {
    "projection": "CREATE VIEW v AS SELECT DISTINCT b, c FROM r1",
    "join": "CREATE VIEW v AS SELECT DISTINCT a, b, r1.c, d, e, k FROM r1 JOIN r2 ON r1.c = r2.c",
}
RUNS = 5


@dataclass(frozen=True)
class Sizes:
    rows: tuple[int, ...] = (10_000, 100_000)
    batch: int = 1_000
    travelling: int = 100_000
    absent: int = 1_000_000
    matter: int = 1_000


def run(sizes: Sizes) -> Report:
    report = Report(
        "replica",
        "Sites that agree later",
        f"Figures 3 to 6 of the paper: inserts and deletes in commits of {sizes.batch:,} rows under a projection and a "
        "join, in a site whose view others follow, against a plain database that maintains the same view by counting. "
        "Processor time. Then updates that go from one process to another over HTTP, and a site that comes back after "
        "a long time.",
    )
    for name, view in VIEWS.items():
        for count in sizes.rows:
            _figure(report, name, view, count, sizes.batch)
    _travel(report, sizes)
    _absence(report, sizes)
    return report


def rows_of(count: int, seed: int = 1) -> list[Row]:
    """As many distinct (b, c) as the paper has: some 72,000 of 100,000."""
    chance = Random(seed)  # noqa: S311 - chance is not a secret here
    return [
        (n, chance.randrange(200), chance.randrange(1000), chance.randrange(9), chance.randrange(9))
        for n in range(count)
    ]


def _database(view: str, *, is_site: bool) -> whence.Database:
    chance = Random(2)  # noqa: S311 - chance is not a secret here
    db = whence.site("base") if is_site else whence.connect()
    db.execute(TABLES)
    db.insert("r2", [(k, chance.randrange(1600)) for k in range(1000)])
    db.execute(view)
    if isinstance(db, Site):
        db.share("r1")
        db.share("r2")
        follower = whence.site("edge")
        follower.follow("base", "v")
        follower.exchange(db)
    return db


def _figure(report: Report, name: str, view: str, count: int, batch: int) -> None:
    rows = rows_of(count)
    parts = [rows[at : at + batch] for at in range(0, count, batch)]
    inserts: dict[bool, list[float]] = {True: [], False: []}
    deletes: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(RUNS):
        for is_site in (False, True):
            with _database(view, is_site=is_site) as db:
                inserts[is_site].append(_processor_time(db.insert, parts))
                deletes[is_site].append(_processor_time(db.delete, parts))
    for what, times in (("insert", inserts), ("delete", deletes)):
        report.compare(f"{name}: {what} {count:,} rows", Timing(times[True]), "counting", Timing(times[False]))
    # After all that, so that nothing is loaded while memory is counted.
    more = _memory(view, parts, is_site=True) - _memory(view, parts, is_site=False)
    report.figure(f"{name}: more memory with {count:,} rows", more / 2**20, "MiB")


def _memory(view: str, parts: Sequence[Sequence[Row]], *, is_site: bool) -> int:
    """What Python and its arrays take up for a database with all rows, in bytes."""
    gc.collect()
    tracemalloc.start()
    with _database(view, is_site=is_site) as db:
        for part in parts:
            db.insert("r1", part)
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return taken


def _processor_time(change: Callable[[str, Sequence[Row]], object], parts: Sequence[Sequence[Row]]) -> float:
    gc.collect()
    started = time.process_time()
    for part in parts:
        change("r1", part)
    return time.process_time() - started


SERVER = """
import sys, whence
from benchmarks.replica import TABLES, rows_of
from whence.web.site import ServedSite
site = whence.site("server")
site.execute(TABLES)
site.share("r1")
site.insert("r1", rows_of(int(sys.argv[1])))
with ServedSite(site, port=0) as served:
    print(served.url, served.token, flush=True)
    sys.stdin.read()
"""


def _travel(report: Report, sizes: Sizes) -> None:
    command = [sys.executable, "-c", SERVER, str(sizes.travelling)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:  # noqa: S603
        assert child.stdout is not None
        url, token = child.stdout.readline().split()
        site = whence.site("client")
        site.execute(TABLES)
        site.share("r1")
        started = time.perf_counter()
        traffic = site.pull(url, token=token)
        seconds = time.perf_counter() - started
        assert len(site.rows("r1")) == sizes.travelling
        report.figure("over HTTP, from one process to another", sizes.travelling / seconds, "updates/s")
        report.figure("over HTTP, an update takes", traffic.total / sizes.travelling, "bytes")
        child.communicate()


def _absence(report: Report, sizes: Sizes) -> None:
    base, phone = whence.site("base"), whence.site("phone")
    base.execute("CREATE TABLE reading(region INT, number INT, PRIMARY KEY (region, number))")
    base.share("reading")
    base.execute("CREATE VIEW mine AS SELECT DISTINCT number FROM reading WHERE region = 7")
    phone.follow("base", "mine")
    base.insert("reading", [(7, number) for number in range(-1_000, 0)])
    phone.exchange(base)
    base.insert("reading", [(7, number) for number in range(sizes.matter)])
    alone = phone.exchange(base)
    step = 100_000
    for at in range(0, sizes.absent, step):
        base.insert("reading", [(8 + n % 90, n) for n in range(at, min(at + step, sizes.absent))])
    base.delete("reading", [(7, number) for number in range(sizes.matter)])
    started = time.perf_counter()
    traffic = phone.exchange(base)
    seconds = time.perf_counter() - started
    assert phone.rows("mine") == base.rows("mine") and len(phone.rows("mine")) == 1_000
    changes = sizes.absent + sizes.matter
    report.figure(
        f"back after {changes:,} changes of which {sizes.matter:,} matter: traffic", traffic.total / 1024, "KiB"
    )
    report.figure(f"the traffic of {sizes.matter:,} changes that matter, and no others", alone.total / 1024, "KiB")
    report.figure(f"back after {changes:,} changes: time", seconds, "s")


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(rows=(10_000,), travelling=20_000, absent=50_000))
