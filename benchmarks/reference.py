"""The reference engine against recomputing in DuckDB, on the backbone example.

The reference engine evaluates naively, in plain Python, so that it is easy to believe: it is expected to lose. The
ratios say by how much, and what any other engine has to make up for.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import duckdb

import whence

EXAMPLE = Path(__file__).parent.parent / "examples" / "backbone"
RUNS = 5
Made = TypeVar("Made")
CUT = "DELETE FROM link WHERE src = 'Reykjavik' OR dst = 'Reykjavik'"

# The views of backbone.sql as DuckDB says them. `recurring` is what earlier rounds found.
IN_DUCKDB = {
    "reachable": """
        WITH RECURSIVE reach(src, dst) AS (
          SELECT src, dst FROM link
          UNION
          SELECT l.src, r.dst FROM link l JOIN reach r ON l.dst = r.src WHERE l.src <> r.dst)
        SELECT src, dst FROM reach""",
    "shortest": """
        WITH RECURSIVE way(src, dst, km) USING KEY (src, dst) AS (
          SELECT src, dst, min(km) FROM link GROUP BY src, dst
          UNION
          SELECT l.src, w.dst, min(l.km + w.km)
          FROM link l JOIN way w ON l.dst = w.src
            LEFT JOIN recurring.way known ON known.src = l.src AND known.dst = w.dst
          WHERE l.src <> w.dst AND (known.km IS NULL OR l.km + w.km < known.km)
          GROUP BY l.src, w.dst)
        SELECT src, dst, km FROM way""",
    "distance": "SELECT dst AS router, km FROM shortest WHERE src = 'London'",
    "cut_off": """
        SELECT name, country FROM router WHERE name <> 'London'
          AND NOT EXISTS (SELECT * FROM reachable WHERE src = 'London' AND dst = name)""",
}


def in_whence() -> whence.Database:
    db = whence.connect()
    db.execute((EXAMPLE / "backbone.sql").read_text(), directory=EXAMPLE)
    return db


def in_duckdb() -> duckdb.DuckDBPyConnection:
    db = duckdb.connect()
    for table in ("router", "link"):
        db.execute(f"CREATE TABLE {table} AS FROM '{EXAMPLE / table}.csv'")
    recompute(db)
    return db


def recompute(db: duckdb.DuckDBPyConnection) -> None:
    for view, query in IN_DUCKDB.items():
        db.execute(f"CREATE OR REPLACE TABLE {view} AS {query}")


def cut_in_duckdb(db: duckdb.DuckDBPyConnection) -> None:
    db.execute(CUT)
    recompute(db)


def check_same_rows(ours: whence.Database, theirs: duckdb.DuckDBPyConnection) -> None:
    for view in IN_DUCKDB:
        if ours.rows(view) != set(theirs.execute(f"FROM {view}").fetchall()):
            raise SystemExit(f"{view} has other rows in DuckDB")


def median_seconds(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(RUNS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def median_seconds_to_change(make: Callable[[], Made], change: Callable[[Made], object]) -> float:
    """Each run changes a database of its own."""
    waiting = [make() for _ in range(RUNS)]
    return median_seconds(lambda: change(waiting.pop()))


def main() -> None:
    ours, theirs = in_whence(), in_duckdb()
    check_same_rows(ours, theirs)
    ours.execute(CUT)
    cut_in_duckdb(theirs)
    check_same_rows(ours, theirs)

    measured = {
        "load and build the views": (median_seconds(in_whence), median_seconds(in_duckdb)),
        "cut a router off": (
            median_seconds_to_change(in_whence, lambda db: db.execute(CUT)),
            median_seconds_to_change(in_duckdb, cut_in_duckdb),
        ),
    }
    print(f"GÉANT backbone, {len(IN_DUCKDB)} views; median of {RUNS} runs, in milliseconds")
    print(f"{'':26}{'reference':>12}{'DuckDB':>10}{'reference / DuckDB':>22}")
    for what, (reference, other) in measured.items():
        print(f"{what:26}{reference * 1000:12.1f}{other * 1000:10.1f}{reference / other:21.1f}x")


if __name__ == "__main__":
    main()
