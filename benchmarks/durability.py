"""What it costs to keep every commit, and whether any is lost when the process is killed."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from random import Random

import whence
from benchmarks import columns
from benchmarks.harness import Report, Stopwatch, main
from benchmarks.killing import Victims, check
from benchmarks.reachable import LINEAR, TABLE, change_one_by_one, network, some, warm_up

IN_MEMORY = "in memory"
ROWS_TABLE = "CREATE TABLE visit(who STRING NOT NULL, place STRING, score INT)"
ROWS_VIEW = "CREATE VIEW popular AS SELECT place, count(*) AS visits, sum(score) AS score FROM visit GROUP BY place"


@dataclass(frozen=True)
class Sizes:
    kills: int = 200
    nodes: int = 1000
    rows: int = 300_000
    items: int = 1_000_000
    changes: int = 200
    runs: int = 5


def run(sizes: Sizes) -> Report:
    report = Report(
        "durability",
        "A database in a directory",
        f"Every commit is on disk before it returns. Compared with the same commits in memory: all reachable pairs of "
        f"a transit-stub network of {sizes.nodes:,} nodes, loaded at once, {sizes.changes} links that go and come back "
        f"one by one, and the network opened again; {sizes.rows:,} rows of a table with a view that groups them; "
        f"{sizes.items:,} items with the three views over them, opened again, and the first item that goes then.",
    )
    warm_up()
    with tempfile.TemporaryDirectory() as directory:
        _plain_writes(report, Path(directory), sizes)
        _recursive(report, Path(directory), sizes)
        _grouped(report, Path(directory), sizes)
        _items(report, Path(directory) / "items", sizes)
        _kills(report, Path(directory) / "killed", sizes.kills)
    return report


def _plain_writes(report: Report, directory: Path, sizes: Sizes) -> None:
    """What this disk takes to make a few bytes safe, whoever asks."""
    watch = Stopwatch()
    with (directory / "plain").open("wb", buffering=0) as file:
        for _ in range(sizes.changes):
            with watch:
                file.write(b"x" * 4096)
                os.fsync(file.fileno())
    report.figure("writing and fsync of 4 KiB, median", watch.timing.median * 1000, "ms")


def _recursive(report: Report, directory: Path, sizes: Sizes) -> None:
    links = network(sizes.nodes)
    load, load_in_memory, reopen = Stopwatch(), Stopwatch(), Stopwatch()
    deletes, inserts, deletes_in_memory, inserts_in_memory = (Stopwatch() for _ in range(4))
    for number in range(sizes.runs):
        state = directory / f"links{number}"
        with whence.connect(state) as db, whence.connect() as twin:
            for each, watch in ((twin, load_in_memory), (db, load)):
                each.execute(TABLE)
                each.rules(LINEAR)
                with watch:
                    each.insert("link", links)
            if number == 0:
                change_one_by_one(db, some(links, sizes.changes), deletes, inserts)
                change_one_by_one(twin, some(links, sizes.changes), deletes_in_memory, inserts_in_memory)
        with reopen:
            db = whence.connect(state)
        db.close()
    pairs = "the pairs"
    report.compare(f"load {pairs}", load.timing, IN_MEMORY, load_in_memory.timing)
    report.compare("open again", reopen.timing, f"load {pairs} {IN_MEMORY}", load_in_memory.timing)
    report.compare("delete one link", deletes.timing, IN_MEMORY, deletes_in_memory.timing)
    report.compare("insert one link", inserts.timing, IN_MEMORY, inserts_in_memory.timing)


def _grouped(report: Report, directory: Path, sizes: Sizes) -> None:
    chance = Random(1)  # noqa: S311 - chance is not a secret here
    rows = [
        (f"person {chance.randrange(sizes.rows)}", f"place {chance.randrange(1000)}", chance.randrange(100))
        for _ in range(sizes.rows)
    ]
    load, load_in_memory, reopen = Stopwatch(), Stopwatch(), Stopwatch()
    for number in range(sizes.runs):
        state = directory / f"visits{number}"
        with whence.connect(state) as db, whence.connect() as twin:
            for each, watch in ((twin, load_in_memory), (db, load)):
                each.execute(ROWS_TABLE + ";" + ROWS_VIEW)
                with watch:
                    each.insert("visit", rows)
        with reopen:
            db = whence.connect(state)
        db.close()
    report.compare(f"insert {sizes.rows:,} rows", load.timing, IN_MEMORY, load_in_memory.timing)
    report.compare("open again", reopen.timing, f"insert them {IN_MEMORY}", load_in_memory.timing)


def _items(report: Report, state: Path, sizes: Sizes) -> None:
    """As in the benchmark of columns."""
    columns.warm_up()
    data = columns.make(sizes.items)
    with whence.connect(state) as db:
        columns.define(db, data)
        columns.fill(db, data)
    load, reopen, first, first_in_memory = Stopwatch(), Stopwatch(), Stopwatch(), Stopwatch()
    for number in range(sizes.runs):
        gone = columns.as_tuples(data.item.slice(number, 1))
        with columns.in_whence(data) as twin:
            with load:
                columns.fill(twin, data)
            with first_in_memory:
                twin.delete("item", gone)
        with reopen:
            db = whence.connect(state)
        with db, first:
            db.delete("item", gone)
    report.compare("open the items again", reopen.timing, f"load them {IN_MEMORY}", load.timing)
    report.compare("delete a first item", first.timing, IN_MEMORY, first_in_memory.timing)


def _kills(report: Report, state: Path, kills: int) -> None:
    """Raises where a commit is lost."""
    chance = Random()  # noqa: S311 - chance is not a secret here
    version = in_flight = 0
    with whence.connect() as twin, Victims() as victims:
        for _ in range(kills):
            safe = max(version, victims.kill_one(state, chance))
            version = check(state, safe, twin)
            in_flight += version - safe
    report.figure("killed in the middle of a commit and opened again", kills, "times")
    report.figure("commits that were acknowledged or found complete", version, "commits")
    report.figure("of them on disk, though nobody had been told yet", in_flight, "commits")


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(kills=10, nodes=100, rows=10_000, items=20_000, changes=20))
