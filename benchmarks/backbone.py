"""A small network with four views, the example of this project: where every system is quick."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

import whence
from benchmarks import duck
from benchmarks.harness import ROOT, Report, Stopwatch, main, repeat

EXAMPLE = ROOT / "examples" / "backbone"
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


@dataclass(frozen=True)
class Sizes:
    runs: int = 5


def run(sizes: Sizes) -> Report:
    report = Report(
        "backbone",
        "The backbone example: a router is cut off",
        f"The GÉANT backbone with its {len(IN_DUCKDB)} views. One commit cuts off a router; DuckDB, with two threads, "
        f"deletes the same links and recomputes the views.",
    )
    ours, theirs = in_whence(), in_duckdb()
    check(ours, theirs)
    in_one_commit, recomputed = Stopwatch(), Stopwatch()
    for _ in range(sizes.runs):
        ours, theirs = in_whence(), in_duckdb()
        with in_one_commit:
            ours.execute(CUT)
        with recomputed:
            theirs.execute(CUT)
            recompute(theirs)
        check(ours, theirs)
    build = repeat(in_whence, sizes.runs), repeat(in_duckdb, sizes.runs)
    report.compare("load and build the views", build[0], duck.NAME, build[1])
    report.compare("cut a router off", in_one_commit.timing, duck.NAME, recomputed.timing)
    return report


def in_whence() -> whence.Database:
    db = whence.connect()
    db.execute((EXAMPLE / "backbone.sql").read_text(), directory=EXAMPLE)
    return db


def in_duckdb() -> duckdb.DuckDBPyConnection:
    db = duck.connect()
    for table in ("router", "link"):
        db.execute(f"CREATE TABLE {table} AS FROM '{EXAMPLE / table}.csv'")
    recompute(db)
    return db


def recompute(db: duckdb.DuckDBPyConnection) -> None:
    for view, query in IN_DUCKDB.items():
        db.execute(f"CREATE OR REPLACE TABLE {view} AS {query}")


def check(ours: whence.Database, theirs: duckdb.DuckDBPyConnection) -> None:
    for view in IN_DUCKDB:
        duck.check_same_rows(ours, view, theirs, f"SELECT * FROM {view}")


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes())
