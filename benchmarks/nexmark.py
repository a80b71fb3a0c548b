"""Queries of Nexmark as views while people, auctions and bids come, in whence and in Pathway."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import sqlglot

import whence
from benchmarks import duck, nexmark_events
from benchmarks.against_pathway import install, last_line
from benchmarks.harness import ROOT, Report, SkippedError, Stopwatch, Timing, main
from benchmarks.nexmark_events import Events

PROGRAM = "benchmarks.nexmark_program"
TABLES = ("person", "auction", "bid")
SCHEMA = """
CREATE TABLE person(id BIGINT PRIMARY KEY, name STRING, city STRING, state STRING, date_time BIGINT);
CREATE TABLE auction(id BIGINT PRIMARY KEY, item_name STRING, seller BIGINT, category BIGINT, date_time BIGINT,
  expires BIGINT);
CREATE TABLE bid(auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, date_time BIGINT);
CREATE TABLE hop(back BIGINT PRIMARY KEY);
INSERT INTO hop VALUES (0), (1), (2), (3), (4);
"""
# A query, and the column of it that is added up to be compared with Pathway.
VIEWS = {
    "q0": ("SELECT auction, bidder, price, date_time FROM bid", "price"),
    "q1": ("SELECT auction, bidder, CAST(0.908 AS DOUBLE) * price AS price, date_time FROM bid", "price"),
    "q2": ("SELECT auction, price FROM bid WHERE auction % 123 = 0", "price"),
    "q3": (
        """
        SELECT p.name, p.city, p.state, a.id FROM auction a JOIN person p ON a.seller = p.id
        WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')
        """,
        "id",
    ),
    "q4": (
        """
        SELECT category, avg(final) AS average FROM (
          SELECT a.category, max(b.price) AS final FROM auction a JOIN bid b ON a.id = b.auction
          WHERE b.date_time BETWEEN a.date_time AND a.expires GROUP BY a.id, a.category) AS sold
        GROUP BY category
        """,
        "average",
    ),
    "q5": (
        """
        WITH counts(auction, start, num) AS (
          SELECT b.auction, (b.date_time div 2000 - h.back) * 2000, count(*) FROM bid b CROSS JOIN hop h
          GROUP BY b.auction, (b.date_time div 2000 - h.back) * 2000)
        SELECT c.auction, c.start, c.num FROM counts c
        JOIN (SELECT start, max(num) AS num FROM counts GROUP BY start) AS most
          ON c.start = most.start AND c.num = most.num
        """,
        "num",
    ),
    "q7": (
        """
        SELECT b.auction, b.price, b.bidder, b.date_time FROM bid b
        JOIN (SELECT date_time div 10000 AS period, max(price) AS price FROM bid GROUP BY date_time div 10000) AS m
          ON b.price = m.price AND b.date_time div 10000 = m.period
        """,
        "price",
    ),
    "q8": (
        """
        SELECT p.id, p.name, p.date_time div 10000 * 10000 AS start FROM person p
        JOIN (SELECT DISTINCT seller, date_time div 10000 AS period FROM auction) AS a
          ON p.id = a.seller AND p.date_time div 10000 = a.period
        """,
        "id",
    ),
}
# Views by name: how many rows, and a sum.
Totals: TypeAlias = dict[str, tuple[int, int]]


@dataclass(frozen=True)
class Sizes:
    events: int = 1_000_000
    one_by_one: int = 10_000


@dataclass(frozen=True)
class Measured:
    """What one run of the program in Pathway's environment found."""

    seconds: Sequence[float]
    total: float
    found: Mapping[str, tuple[int, int]]


def run(sizes: Sizes) -> Report:
    report = Report(
        "nexmark",
        "Auctions and bids: Nexmark in whence and in Pathway",
        f"{sizes.events:,} events, of fifty a person, three auctions and 46 bids, come in commits of 10,000 and of "
        f"100, and the first {sizes.one_by_one:,} of them one by one. Both keep {', '.join(VIEWS)} at once; windows "
        f"are written as divisions. whence keeps the rows of the views, and gets tuples, or Arrow where it says so; "
        f"Pathway, with its one worker, adds up a column of each. Each commit is waited for until all of its effects "
        f"are out; since Pathway need not be waited for, its events per second are also those of a second run that "
        f"does not wait. In the end the views are compared with DuckDB's answers, and the sums with Pathway's.",
    )
    python = install()
    warm_up()
    for size in (1, 100, 10_000):
        events = sizes.one_by_one if size == 1 else sizes.events
        # At least five commits, or there is no median.
        if events >= 5 * size:
            measure(python, events, size, report)
    return report


def measure(python: str, events: int, size: int, report: Report) -> None:
    theirs, unhurried = (in_pathway(python, events, size, waits=waits) for waits in (True, False))
    of_size = f"{size:,} event{'s' if size > 1 else ''}"
    for what, given in WAYS.items():
        if given is as_arrow and size < 10_000:
            continue
        watch, found = in_whence(nexmark_events.make(events), events, size, given)
        compare_sums(found, theirs.found)
        report.compare(f"a commit of {of_size}{what}", watch.timing, "Pathway", Timing(theirs.seconds))
        report.figure(f"commits of {of_size}{what}: whence", events / sum(watch.seconds), "events per second")
    for what, seconds in {"": sum(theirs.seconds), ", not waited for": unhurried.total}.items():
        report.figure(f"commits of {of_size}: Pathway{what}", events / seconds, "events per second")


def in_whence(
    events: Events, count: int, size: int, given: Callable[[Events, int, int, int], Any]
) -> tuple[Stopwatch, Totals]:
    """The time of each commit, and what the views hold in the end."""
    # Made before the time is taken, as on the other side.
    commits = [
        [
            (table, given(events, kind, first, last))
            for kind, (table, (first, last)) in enumerate(zip(TABLES, events.between(start, start + size), strict=True))
            if first < last
        ]
        for start in range(0, count, size)
    ]
    watch = Stopwatch()
    with database() as db:
        for commit in commits:
            with watch, db.batch() as batch:
                for table, rows in commit:
                    batch.insert(table, rows)
        check(db, events)
        return watch, totals(db)


def database() -> whence.Database:
    db = whence.connect()
    db.execute(SCHEMA)
    for name, (query, _) in VIEWS.items():
        db.execute(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    return db


def warm_up() -> None:
    """Kernels are compiled, or read from the cache, once in a process."""
    events = nexmark_events.make(20_000)
    in_whence(events, 20_000, 10_000, as_arrow)


def as_tuples(events: Events, kind: int, first: int, last: int) -> list[tuple[Any, ...]]:
    return nexmark_events.rows({name: column[first:last] for name, column in events.columns[kind].items()})


def as_arrow(events: Events, kind: int, first: int, last: int) -> pa.Table:
    return pa.table({name: pa.array(column[first:last]) for name, column in events.columns[kind].items()})


WAYS: Mapping[str, Callable[[Events, int, int, int], Any]] = {"": as_tuples, ", as Arrow": as_arrow}


def totals(db: whence.Database) -> Totals:
    found = {}
    for name, (_, column) in VIEWS.items():
        values = db.table(name)[column].to_pylist()
        found[name] = len(values), sum(map(int, values))
    return found


def check(db: whence.Database, events: Events) -> None:
    """Ends the benchmark where a view differs from what DuckDB answers."""
    with duck.connect() as theirs:
        for kind, table in enumerate(TABLES):
            theirs.register("rows", as_arrow(events, kind, 0, len(events.places[kind])))
            theirs.execute(f"CREATE TABLE {table} AS FROM rows")
            theirs.unregister("rows")
        theirs.execute("CREATE TABLE hop AS SELECT unnest([0, 1, 2, 3, 4]) AS back")
        for name, (query, _) in VIEWS.items():
            duck.check_similar_rows(db, name, theirs, sqlglot.transpile(query, read="spark", write="duckdb")[0])


def compare_sums(ours: Totals, theirs: Mapping[str, tuple[int, int]]) -> None:
    for name, (rows, total) in ours.items():
        # A view that never had a row is not told of.
        their_rows, their_total = theirs.get(name, (0, 0))
        if rows != their_rows or not math.isclose(total, their_total, rel_tol=1e-12):
            raise SystemExit(
                f"{name} has {rows} rows and the sum {total} in whence, {their_rows}, {their_total} in Pathway"
            )


def in_pathway(python: str, events: int, size: int, *, waits: bool) -> Measured:
    done = subprocess.run(  # noqa: S603 - a module of this package
        [python, "-m", PROGRAM],
        cwd=ROOT,
        input=json.dumps({"events": events, "size": size, "waits": waits}),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SkippedError(f"Pathway does not run here: {last_line(done.stderr)}")
    return Measured(**json.loads(done.stdout))


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(events=50_000, one_by_one=500))
