"""All 22 queries of TPC-H as views at once, while orders change with their items, against running them again."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import sqlglot

import whence
from benchmarks import duck
from benchmarks.harness import ROOT, SCRATCH, Report, Stopwatch, Timing, main, taking_turns
from benchmarks.tpch import RowUpdate, order_stream, tpch_tables

if TYPE_CHECKING:
    from whence.model.updates import Commit

TEXTS = ROOT / "tests" / "tpch"
ITEM_KEY, ORDER_KEY = "l_orderkey", "o_orderkey"
KEYS = {"orders": ORDER_KEY, "lineitem": ITEM_KEY}

# What `db.explain` says of a component that columns do not hold, and of the last commit.
BY_ROWS = re.compile(r"row by row because of (.*)\)$", re.MULTILINE)
COMPONENT = re.compile(r"^\d+\. ", re.MULTILINE)
OWN_WORK = re.compile(r"^in all: .* ([\d.,]+) ms$", re.MULTILINE)


@dataclass(frozen=True)
class Sizes:
    scale: float = 1.0
    orders: int = 100
    commits: int = 20


@dataclass(frozen=True)
class View:
    name: str
    definition: str
    query: str
    """As DuckDB says it."""


def run(sizes: Sizes) -> Report:
    views = read_views(sizes.scale)
    # Before this process has rows of its own: both together would be twice as large.
    grown, peak = memory(sizes.scale)
    data = read(sizes.scale)
    items = data["lineitem"].num_rows
    report = Report(
        "tpch_all",
        "All of TPC-H as views, while orders and items change",
        f"The 22 queries of TPC-H at scale {sizes.scale:g} ({items:,} items), all of them views of "
        f"one database. The tables come from Arrow, before the views are defined, once. {sizes.commits} commits "
        f"each change {sizes.orders} orders and all of their items, as tuples, and then everything is taken back. "
        f"DuckDB, with two threads, loads the same and runs the queries again. The rows of a single query have the "
        f"time that a commit spends on this view alone, without what all views share; the first view, q01, takes the "
        f"change in for the others.",
    )
    queries = {view.name: view.query for view in views}
    warm_up(views)
    stream = order_stream(data, commits=sizes.commits, orders=sizes.orders)
    schemas = {table: data[table].schema for table in KEYS}
    ours, theirs = load(data, views, report)
    data.clear()
    check(ours, theirs, views)
    recompute_all = duck.RecomputeAll(theirs, queries)
    recompute = {name: duck.RecomputeAll(theirs, {name: query}) for name, query in queries.items()}
    watch, own = Stopwatch(), defaultdict[str, list[float]](list)

    def opponents() -> None:
        recompute_all()
        for each in recompute.values():
            each()

    for changed in taking_turns(stream, opponents, turns=max(5, sizes.commits // 4)):
        note_own_work(ours, apply(ours, changed, watch), views, own)
    for changed in stream:
        apply_in_duckdb(theirs, changed, schemas)
    check(ours, theirs, views)
    for changed in reversed(stream):
        note_own_work(ours, apply(ours, changed.taken_back(), watch), views, own)
        apply_in_duckdb(theirs, changed.taken_back(), schemas)
    check(ours, theirs, views)
    report.compare(f"all views: {sizes.orders} orders", watch.timing, duck.NAME, recompute_all.timing)
    for view in views:
        if own[view.name]:
            report.compare(f"{view.name} alone", Timing(own[view.name]), duck.NAME, recompute[view.name].timing)
    tell_untouched([view.name for view in views if not own[view.name]], report)
    tell_how_kept(ours, views, report)
    report.figure("memory, as the process grows", grown / 2**20, "MB")
    report.figure("the same", grown / items, "bytes per item")
    report.figure("at most, while the tables are there as Arrow as well", peak / 2**20, "MB")
    ours.close()
    theirs.close()
    return report


def read(scale: float) -> dict[str, pa.Table]:
    return tpch_tables(scale, SCRATCH / "tpch" / str(scale))


def read_views(scale: float) -> list[View]:
    views = []
    for path in sorted(TEXTS.glob("q??.sql")):
        definition = path.read_text()
        if path.stem == "q11":
            # The fraction of the specification, which is for this scale.
            definition = definition.replace("* 0.01", f"* {0.0001 / scale:.10f}")
        query = sqlglot.parse_one(definition, read="spark").expression
        views.append(View(path.stem, definition, query.sql(dialect="duckdb")))
    return views


def in_whence() -> whence.Database:
    db = whence.connect()
    db.execute((TEXTS / "schema.sql").read_text())
    return db


def fill(db: whence.Database, data: Mapping[str, pa.Table]) -> None:
    with db.batch() as batch:
        for table, rows in data.items():
            batch.insert(table, rows)


def define(db: whence.Database, views: Sequence[View]) -> None:
    for view in views:
        db.execute(view.definition)


def fill_duckdb(db: duckdb.DuckDBPyConnection, data: Mapping[str, pa.Table]) -> None:
    for table, rows in data.items():
        db.register("rows", rows)
        db.execute(f"CREATE TABLE {table} AS FROM rows")
        db.unregister("rows")


def warm_up(views: Sequence[View]) -> None:
    """Kernels are compiled, or read from the cache, once in a process."""
    data = read(0.01)
    with in_whence() as db:
        fill(db, data)
        define(db, views)
        for changed in order_stream(data, commits=1, orders=10):
            apply(db, changed, Stopwatch())


def load(
    data: Mapping[str, pa.Table], views: Sequence[View], report: Report
) -> tuple[whence.Database, duckdb.DuckDBPyConnection]:
    """Both with the same rows, and how long that took; once, since at full size it takes a minute."""
    tables, defined, computed = Stopwatch(), Stopwatch(), Stopwatch()
    ours, theirs = in_whence(), duck.connect()
    with tables:
        fill(ours, data)
    with defined:
        define(ours, views)
    with computed:
        fill_duckdb(theirs, data)
        for view in views:
            theirs.sql(view.query).to_arrow_table()
    (first,), (second,), (third,) = tables.seconds, defined.seconds, computed.seconds
    report.figure("load the tables", first, "seconds")
    report.figure("define the views over them", second, "seconds")
    report.figure(f"{duck.NAME}: load the tables and compute the views", third, "seconds")
    report.figure("whence takes, of that", (first + second) / third, "times as long")
    return ours, theirs


def apply(db: whence.Database, changed: RowUpdate, watch: Stopwatch) -> Commit:
    with watch, db.batch() as batch:
        for table in changed.deleted:
            batch.delete(table, changed.deleted[table])
            batch.insert(table, changed.inserted[table])
    assert batch.commit is not None
    return batch.commit


def apply_in_duckdb(db: duckdb.DuckDBPyConnection, changed: RowUpdate, schemas: Mapping[str, pa.Schema]) -> None:
    orders = ", ".join(str(row[0]) for row in changed.deleted["orders"])
    for table, key in KEYS.items():
        db.execute(f"DELETE FROM {table} WHERE {key} IN ({orders})")
        schema = schemas[table]
        columns = zip(*changed.inserted[table], strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        db.register("rows", pa.table(arrays, names=schema.names))
        db.execute(f"INSERT INTO {table} FROM rows")
        db.unregister("rows")


def note_own_work(db: whence.Database, commit: Commit, views: Sequence[View], own: dict[str, list[float]]) -> None:
    """What the commit cost each view that it touched, in seconds."""
    assert commit.version == db.version
    for view in views:
        found = OWN_WORK.search(db.explain(view.name, analyze=True))
        assert found is not None
        if milliseconds := float(found[1].replace(",", "")):
            own[view.name].append(milliseconds / 1000)


def tell_untouched(names: Sequence[str], report: Report) -> None:
    if names:
        report.figure(f"views that read neither orders nor items ({', '.join(names)})", len(names), "views")


def tell_how_kept(db: whence.Database, views: Sequence[View], report: Report) -> None:
    texts = {view.name: str(db.explain(view.name)) for view in views}
    reasons = [(name, why) for name, text in texts.items() for why in BY_ROWS.findall(text)]
    report.figure("components of all views", sum(len(COMPONENT.findall(text)) for text in texts.values()), "components")
    report.figure("of which are kept row by row, and not in columns", len(reasons), "components")
    for name, why in dict.fromkeys(reasons):
        report.figure(f"{name}: row by row because of {why}", reasons.count((name, why)), "components")


def check(ours: whence.Database, theirs: duckdb.DuckDBPyConnection, views: Sequence[View]) -> None:
    for view in views:
        duck.check_similar_rows(ours, view.name, theirs, view.query)


PROGRAM = """
import resource
import sys

import pyarrow

from benchmarks import tpch_all
from benchmarks.harness import resident_bytes

scale = float(sys.argv[1])
views = tpch_all.read_views(scale)
tpch_all.warm_up(views)
pool = pyarrow.default_memory_pool()
pool.release_unused()
before = resident_bytes()
data = tpch_all.read(scale)
db = tpch_all.in_whence()
tpch_all.fill(db, data)
tpch_all.define(db, views)
del data
pool.release_unused()
print(resident_bytes() - before)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def memory(scale: float) -> tuple[float, float]:
    """The bytes by which a process of its own grows: the tables, the views and what they need. And all that it had."""
    command = [sys.executable, "-c", PROGRAM, str(scale)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603 - the program above
    grown, peak = map(float, done.stdout.split())
    return grown, peak


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(scale=0.01, orders=10, commits=5))
