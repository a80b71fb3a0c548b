"""Views of TPC-H while orders and their items change, against running the queries again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb
import sqlglot

import whence
from benchmarks import duck
from benchmarks.harness import ROOT, SCRATCH, Report, Stopwatch, changes_view, main, taking_turns
from benchmarks.tpch import Refresh, RowUpdate, refresh_stream, tpch_tables
from whence.model.updates import Commit

if TYPE_CHECKING:
    import pyarrow as pa

QUERIES = ("q01", "q03", "q05", "q10")
TEXTS = ROOT / "tests" / "tpch"
KEYS = {"orders": {"o_orderkey": 0}, "lineitem": {"l_orderkey": 0, "l_linenumber": 3}}


@dataclass(frozen=True)
class Sizes:
    scale: float = 0.1
    rows: int = 100
    commits: int = 20


@dataclass(frozen=True)
class View:
    name: str
    definition: str
    query: str
    """As DuckDB says it."""
    items: str
    """The keys of the items that the query adds up, likewise."""
    tables: frozenset[str]
    """Those that it reads, and those that change."""


def run(sizes: Sizes) -> Report:
    data = tpch_tables(sizes.scale, SCRATCH / "tpch" / str(sizes.scale))
    report = Report(
        "tpch_views",
        "TPC-H views, while orders and items change",
        f"Queries 1, 3, 5 and 10 of TPC-H at scale {sizes.scale:g} ({data['lineitem'].num_rows:,} items), each as a "
        f"view. Up to {sizes.commits} commits each change {sizes.rows} rows drawn from all, {sizes.rows} rows drawn "
        f"from those that the view uses, and one row that it uses; then everything is taken back. A changed row leaves "
        f"and comes back with other values. DuckDB, with two threads, runs the query again and counts the rows of the "
        f"answer.",
    )
    for name in QUERIES:
        measure(read_view(name), data, sizes, report)
    return report


def measure(view: View, data: dict[str, pa.Table], sizes: Sizes, report: Report) -> None:
    ours, theirs = whence.connect(), duck.connect()
    ours.execute((TEXTS / "schema.sql").read_text())
    for table in sorted(view.tables):
        ours.insert(table, data[table])
        theirs.register("rows", data[table])
        theirs.execute(f"CREATE TABLE {table} AS FROM rows")
        theirs.unregister("rows")
    ours.execute(view.definition)
    recompute = duck.Recompute(theirs, view.query)
    for what, stream in streams(data, used_rows(theirs, view), sizes).items():
        watch = Stopwatch()
        commits = [apply(ours, changed, watch) for changed in taking_turns(stream, recompute)]
        for changed in stream:
            apply_in_duckdb(theirs, changed)
        check_alike(ours, theirs, view)
        for changed in reversed(stream):
            commits.append(apply(ours, changed.taken_back(), watch))
            apply_in_duckdb(theirs, changed.taken_back())
        check_alike(ours, theirs, view)
        effective = sum(changes_view(commit, view.name) for commit in commits)
        report.compare(f"{view.name}: {what}", watch.timing, duck.NAME, recompute.timing)
        report.figure(f"{view.name}: {what}: commits that changed the view", 100 * effective / len(commits), "%")
    ours.close()
    theirs.close()


def streams(data: dict[str, pa.Table], used: dict[str, pa.Table], sizes: Sizes) -> dict[str, list[RowUpdate]]:
    enough = min(used[table].num_rows for table in KEYS) // sizes.rows
    return {
        f"{sizes.rows} rows": refresh_stream(data, Refresh(sizes.commits, sizes.rows)),
        f"{sizes.rows} rows it uses": refresh_stream(used, Refresh(min(sizes.commits, enough), sizes.rows)),
        "one row it uses": refresh_stream(used, Refresh(sizes.commits, 1)),
    }


def used_rows(db: duckdb.DuckDBPyConnection, view: View) -> dict[str, pa.Table]:
    """The items that the view's answer is made of, and their orders."""
    items = "l_orderkey, l_linenumber"
    orders = f"SELECT * FROM orders WHERE o_orderkey IN (SELECT l_orderkey FROM ({view.items})) ORDER BY o_orderkey"
    return {
        "orders": db.sql(orders).to_arrow_table(),
        "lineitem": db.sql(
            f"SELECT * FROM lineitem WHERE ({items}) IN (SELECT ({items}) FROM ({view.items})) ORDER BY {items}"
        ).to_arrow_table(),
    }


def read_view(name: str) -> View:
    definition = (TEXTS / f"{name}.sql").read_text()
    query = sqlglot.parse_one(definition, read="spark").expression
    tables = frozenset({*KEYS, *(table.name for table in query.find_all(sqlglot.exp.Table))})
    items = query.copy().select("l_orderkey", "l_linenumber", append=False)
    items.set("group", None)
    return View(name, definition, query.sql(dialect="duckdb"), items.sql(dialect="duckdb"), tables)


def apply(db: whence.Database, changed: RowUpdate, watch: Stopwatch) -> Commit:
    with watch, db.batch() as batch:
        for table in changed.deleted:
            batch.delete(table, changed.deleted[table])
            batch.insert(table, changed.inserted[table])
    assert batch.commit is not None
    return batch.commit


def apply_in_duckdb(db: duckdb.DuckDBPyConnection, changed: RowUpdate) -> None:
    for table in changed.deleted:
        key = " AND ".join(f"{column} = ?" for column in KEYS[table])
        for row in changed.deleted[table]:
            db.execute(f"DELETE FROM {table} WHERE {key}", [row[position] for position in KEYS[table].values()])
        places = ", ".join("?" * len(changed.inserted[table][0]))
        db.executemany(f"INSERT INTO {table} VALUES ({places})", changed.inserted[table])


def check_alike(ours: whence.Database, theirs: duckdb.DuckDBPyConnection, view: View) -> None:
    """As many rows, and the same total in each column of numbers. The test suite compares row by row."""
    theirs.register("our_rows", ours.table(view.name))
    theirs.execute(f"CREATE OR REPLACE TEMP TABLE their_rows AS {view.query}")
    described = theirs.execute("DESCRIBE their_rows").fetchall()
    numeric = [name for name, kind, *_ in described if kind.startswith(("DECIMAL", "DOUBLE", "BIGINT", "INT"))]
    totals = ", ".join(f"sum({name}::DOUBLE)" for name in numeric)
    mine, yours = (
        theirs.execute(f"SELECT count(*), {totals} FROM {rows}").fetchall()[0] for rows in ("our_rows", "their_rows")
    )
    # An average of DECIMAL is rounded to six digits in whence, and a DOUBLE in DuckDB.
    rounding = 1e-6 * mine[0]
    if not mine[0]:
        raise SystemExit(f"{view.name} has no rows at this scale: times would say nothing")
    if not all(math.isclose(a or 0, b or 0, rel_tol=1e-9, abs_tol=rounding) for a, b in zip(mine, yours, strict=True)):
        raise SystemExit(f"{view.name} differs from DuckDB: {mine} and {yours}")


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(scale=0.005, rows=10, commits=5))
