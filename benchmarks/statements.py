"""DELETE ... WHERE and INSERT ... SELECT, against the same rows handed over."""

from __future__ import annotations

from dataclasses import dataclass

import whence
from benchmarks.harness import Report, Stopwatch, main

PROGRAM = """
CREATE TABLE t(k INT, g INT, v INT, PRIMARY KEY (k));
CREATE MATERIALIZED VIEW total AS SELECT g, count(*) AS n, sum(v) AS v FROM t GROUP BY g;
CREATE TABLE chosen(g INT, PRIMARY KEY (g));
CREATE MATERIALIZED VIEW picked AS SELECT t.k, t.v FROM t JOIN chosen ON t.g = chosen.g;
"""
GROUPS = 1_000


@dataclass(frozen=True)
class Sizes:
    rows: int = 1_000_000
    runs: int = 200
    scans: int = 5


def run(sizes: Sizes) -> Report:
    report = Report(
        "statements",
        "Statements that look for their rows",
        f"A table of {sizes.rows:,} rows with a key, and views that follow it, one of which has made an index. A "
        f"statement is parsed, its rows are looked for, and they are committed; the opponent is handed the same rows "
        f"and has only the commit to do.",
    )
    with whence.connect() as db:
        db.execute(PROGRAM)
        db.insert("t", [row(number) for number in range(sizes.rows)])
        # To follow this, rows are looked up by their group.
        db.insert("chosen", [(-1,)])
        _by_key(report, db, sizes)
        _by_index(report, db, sizes)
        _scanning(report, db, sizes)
    return report


def row(number: int) -> tuple[int, int, int]:
    return number, number % GROUPS, number


def _by_key(report: Report, db: whence.Database, sizes: Sizes) -> None:
    statements, calls = Stopwatch(), Stopwatch()
    selected, inserted = Stopwatch(), Stopwatch()
    for number in range(sizes.runs):
        with statements:
            db.execute(f"DELETE FROM t WHERE k = {2 * number}")
        with calls:
            db.delete("t", [row(2 * number + 1)])
        first, second = sizes.rows + 2 * number, sizes.rows + 2 * number + 1
        with selected:
            db.execute(f"INSERT INTO t SELECT CAST({first} AS INT), g, v FROM t WHERE k = {sizes.rows - 1}")
        with inserted:
            db.insert("t", [(second, *row(sizes.rows - 1)[1:])])
    report.compare("DELETE WHERE key = ...", statements.timing, "db.delete", calls.timing)
    report.compare("INSERT SELECT WHERE key = ...", selected.timing, "db.insert", inserted.timing)


def _by_index(report: Report, db: whence.Database, sizes: Sizes) -> None:
    statements, calls = Stopwatch(), Stopwatch()
    # Groups of which no row has been touched.
    for group in range(GROUPS // 2, GROUPS // 2 + 2 * sizes.scans, 2):
        one, other = ([row(number) for number in range(each, sizes.rows, GROUPS)] for each in (group, group + 1))
        with statements:
            db.execute(f"DELETE FROM t WHERE g = {group}")
        with calls:
            db.delete("t", other)
        db.insert("t", one + other)
    report.compare(
        f"DELETE WHERE indexed column = ..., {sizes.rows // GROUPS:,} rows",
        statements.timing,
        "db.delete",
        calls.timing,
    )


def _scanning(report: Report, db: whence.Database, sizes: Sizes) -> None:
    nothing = Stopwatch()
    for number in range(sizes.scans):
        with nothing:
            db.execute(f"DELETE FROM t WHERE v % 10 = 3 AND v < {-number}")
    report.figure("DELETE that scans and finds nothing, median", nothing.timing.median * 1000, "ms")


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(rows=20_000, runs=20))
