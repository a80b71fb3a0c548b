"""Sites: what provenance and causal lengths cost, how fast updates travel, and what a long absence costs."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import whence
from benchmarks.harness import Report, Timing, main, resident_bytes
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
        "A site works out ids, lengths and derivations when another one asks, which is told apart. Processor time. "
        "Then updates that go from one process to another over HTTP, and a site that comes back after a long time.",
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
    asked: list[float] = []
    for _ in range(RUNS):
        for is_site in (False, True):
            with _database(view, is_site=is_site) as db:
                inserts[is_site].append(_processor_time(db.insert, parts))
                if isinstance(db, Site):
                    asked.append(_ask(db))
                deletes[is_site].append(_processor_time(db.delete, parts))
    for what, times in (("insert", inserts), ("delete", deletes)):
        report.compare(f"{name}: {what} {count:,} rows", Timing(times[True]), "counting", Timing(times[False]))
    together = [first + later for first, later in zip(inserts[True], asked, strict=True)]
    report.compare(
        f"{name}: insert {count:,} rows, and work out what others are told",
        Timing(together),
        "counting",
        Timing(inserts[False]),
    )
    site, plain = (_memory(name, count, batch, is_site=is_site) for is_site in (True, False))
    report.figure(f"{name}: memory for {count:,} rows, a site", site / 2**20, "MiB")
    report.figure(f"{name}: memory for {count:,} rows, counting", plain / 2**20, "MiB")


def _ask(site: Site) -> float:
    """What waits until somebody asks: ids, causal lengths and derivations of what changed."""
    started = time.process_time()
    site.status()
    return time.process_time() - started


def _memory(name: str, count: int, batch: int, *, is_site: bool) -> int:
    """Resident memory that a database with all rows takes up, in a process of its own, in bytes."""
    command = [sys.executable, "-m", "benchmarks.replica", "--memory-of", name, str(count), str(batch), str(is_site)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)  # noqa: S603 - this module


def tell_memory(name: str, count: int, batch: int, *, is_site: bool) -> None:
    rows = rows_of(count)
    with _database(VIEWS[name], is_site=is_site) as warm:
        for at in range(0, 20_000, batch):
            warm.insert("r1", rows_of(20_000, seed=3)[at : at + batch])
        if isinstance(warm, Site):
            warm.status()
    gc.collect()
    before = resident_bytes()
    with _database(VIEWS[name], is_site=is_site) as db:
        for at in range(0, count, batch):
            db.insert("r1", rows[at : at + batch])
        if isinstance(db, Site):
            db.status()
        gc.collect()
        print(resident_bytes() - before)


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
site.introduce("client")
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
    base.insert("reading", [(7, number) for number in range(sizes.matter)])
    phone.membership.peers.clear()
    traffic = phone.exchange(base)
    assert phone.rows("mine") == base.rows("mine") and len(phone.rows("mine")) == 1_000 + sizes.matter
    report.figure(
        f"back with its notes lost, {sizes.matter:,} of {changes:,} rows matter: traffic", traffic.total / 1024, "KiB"
    )
    _lost_count(report, sizes, base)


def _lost_count(report: Report, sizes: Sizes, base: Site) -> None:
    """A replica of the whole table, which knows no numbers of the site that it meets: they compare summaries."""
    copy = whence.site("copy")
    copy.follow("base", "reading")
    first = copy.exchange(base)
    base.delete("reading", [(8 + n % 90, n) for n in range(sizes.matter)])
    for what in (f"{sizes.matter:,} rows of a whole table differ", "nothing differs"):
        copy.membership.peers.clear()
        started = time.perf_counter()
        traffic = copy.exchange(base)
        seconds = time.perf_counter() - started
        assert copy.rows("reading") == base.rows("reading")
        report.figure(f"notes lost, {what}: time", seconds, "s")
        report.figure(f"notes lost, {what}: traffic", traffic.total / 1024, "KiB")
        # So that both have seen that the rows went, and remember them no more.
        for _ in range(2):
            copy.exchange(base)
    report.figure("all rows of that table: traffic", first.total / 1024, "KiB")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--memory-of"]:
        tell_memory(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), is_site=sys.argv[5] == "True")
        sys.exit()
    main(run, full=Sizes(), quick=Sizes(rows=(10_000,), travelling=20_000, absent=50_000))
