"""Window functions that follow changes, against DuckDB, which computes them again."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import duckdb
import pyarrow as pa

import whence
from benchmarks import duck
from benchmarks.harness import Report, Stopwatch, main

TOP = "SELECT k, g, v FROM t QUALIFY row_number() OVER (PARTITION BY g ORDER BY v DESC, k) <= 10"
NUMBERED = "SELECT k, v, row_number() OVER (ORDER BY v, k) AS n FROM t"
SUMMED = "SELECT k, v, sum(v) OVER (ORDER BY v, k ROWS UNBOUNDED PRECEDING) AS s FROM t"
LIMITED = "SELECT k, g, v FROM t ORDER BY v DESC, k LIMIT 100"


@dataclass(frozen=True)
class Sizes:
    rows: int = 1_000_000
    groups: int = 10_000
    commits: int = 20


def run(sizes: Sizes) -> Report:
    report = Report(
        "windows",
        "Window functions",
        f"A table of {sizes.rows:,} rows in {sizes.groups:,} groups, and a view of it: the 10 best of each group, the "
        "100 best of all, row_number and a running sum over all rows as one partition. Each of the commits replaces a "
        "row; of the one partition, near its end, or in the middle with a value from near the end, so that half of all "
        "rows get another number. DuckDB computes the view again and adds up its last column.",
    )
    pick = random.Random(7)  # noqa: S311 - data, and the same each time
    rows = [(key, pick.randrange(sizes.groups), pick.randrange(1_000_000_000)) for key in range(sizes.rows)]
    high = sorted((row for row in rows), key=lambda row: (row[2], row[0]))
    near_end, middle = high[-100:], high[len(high) // 2 :][:100]
    _measure(report, sizes, "top 10 of each group: a row", TOP, rows, lambda: pick.choice(rows), sizes.commits)
    _measure(report, sizes, "LIMIT 100: a row", LIMITED, rows, lambda: pick.choice(near_end), sizes.commits)
    _measure(
        report, sizes, "row_number: a row near the end", NUMBERED, rows, lambda: pick.choice(near_end), sizes.commits
    )
    _measure(
        report, sizes, "running sum: a row near the end", SUMMED, rows, lambda: pick.choice(near_end), sizes.commits
    )
    _measure(
        report, sizes, "row_number: a row in the middle", NUMBERED, rows, lambda: pick.choice(middle), 5, 499_000_000
    )
    return report


def _measure(
    report: Report,
    sizes: Sizes,
    what: str,
    view: str,
    rows: list[tuple[int, int, int]],
    chosen: Callable[[], tuple[int, int, int]],
    commits: int,
    change: int = 1,
) -> None:
    there = {row[0]: row for row in rows}
    last = {NUMBERED: "n", SUMMED: "s"}.get(view, "v")
    opponent = duck.connect()
    duck.fill(opponent, "t", "k g v", rows)
    # It would leave out a column that nobody looks at.
    recompute = duck.Recompute(opponent, f"SELECT * FROM (SELECT sum({last}) AS s FROM ({view})) WHERE s > 0")
    build, commit = Stopwatch(), Stopwatch()
    with whence.connect() as db:
        db.execute("CREATE TABLE t(k INT PRIMARY KEY, g INT NOT NULL, v INT NOT NULL)")
        columns = [pa.array(column, pa.int32()) for column in zip(*rows, strict=True)]
        db.insert("t", pa.table(columns, names=["k", "g", "v"]))
        with build:
            db.execute(f"CREATE VIEW w AS {view}")
        for _ in range(commits):
            key, group, value = there[chosen()[0]]
            value += change
            there[key] = (key, group, value)
            with commit:
                db.upsert("t", [there[key]])
            opponent.execute("UPDATE t SET v = ? WHERE k = ?", [value, key])
            recompute()
        _check(db, opponent, view)
    report.compare(what, commit.timing, duck.NAME, recompute.timing)
    report.figure(f"{what}: defining the view over {sizes.rows:,} rows", build.seconds[0], "s")


def _check(db: whence.Database, opponent: duckdb.DuckDBPyConnection, view: str) -> None:
    ours = set(db.rows("w"))
    theirs = set(opponent.execute(view).fetchall())
    if ours != theirs:
        raise AssertionError(f"{len(ours ^ theirs)} rows differ in {view}")


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(rows=20_000, groups=500, commits=5))
