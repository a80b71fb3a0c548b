"""Items and their orders in typed columns, with three views over them, against DuckDB computing the views again."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import duckdb
import numpy as np
import pyarrow as pa

import whence
from benchmarks import duck
from benchmarks.harness import ROOT, Comparison, Report, Stopwatch, main, taking_turns

SCHEMA = """
CREATE TABLE item(id INT, ord INT, part INT, qty INT, price DOUBLE{more});
CREATE TABLE orders(ord INT PRIMARY KEY, cust INT, seg STRING);
"""
THREE = {
    "by_part": "SELECT part, count(*) AS n, sum(qty) AS q FROM item GROUP BY part",
    "by_seg": "SELECT o.seg, count(*) AS n, sum(i.qty * i.price) AS rev FROM item i JOIN orders o ON i.ord = o.ord "
    "WHERE i.qty > 5 GROUP BY o.seg",
    "big": "SELECT ord, sum(qty) AS q FROM item GROUP BY ord HAVING sum(qty) > 250",
}
NINE = {
    **THREE,
    "by_cust": "SELECT o.cust, count(*) AS n, sum(i.qty) AS q FROM item i JOIN orders o ON i.ord = o.ord "
    "GROUP BY o.cust",
    "segments": "SELECT seg, count(*) AS n, count(DISTINCT cust) AS c FROM orders GROUP BY seg",
    "prices": "SELECT o.seg, i.part, min(i.price) AS lo, max(i.price) AS hi FROM item i JOIN orders o ON i.ord = o.ord "
    "GROUP BY o.seg, i.part",
    "dear": "SELECT i.id, i.price, o.cust, o.seg FROM item i JOIN orders o ON i.ord = o.ord WHERE i.price > 95",
    "empty": "SELECT o.ord, o.seg FROM orders o WHERE NOT EXISTS (SELECT * FROM item i WHERE i.ord = o.ord)",
    "lost": "SELECT i.part, count(*) AS n, count(o.ord) AS found FROM item i LEFT JOIN orders o ON i.ord = o.ord "
    "GROUP BY i.part",
}
TABLES = ("item", "orders")
COMMITS = (1, 100, 10_000, 100_000)
# Rows that come one by one come as tuples; whoever has many has them in columns.
AS_TUPLES = (1, 100)
# Commits of few rows come one after the other: between two turns of DuckDB, which empties the processor's caches, there
# are so many of them. The first of each turn is among the slowest twentieth.
IN_A_TURN = 20
PARTS, CUSTOMERS, SEGMENTS = 1_001, 1_000, ("A", "B", "C", "D", "E")
MORE_COLUMNS = 20
OPPONENT = f"{duck.NAME}, all views"

Given: TypeAlias = "pa.Table | list[tuple[Any, ...]]"


@dataclass(frozen=True)
class Sizes:
    items: int = 1_000_000
    varied: int = 200_000
    orders_gone: int = 15_000
    runs: int = 5


@dataclass(frozen=True)
class Data:
    """The two tables. Several variations of the same size differ in their items."""

    item: pa.Table
    orders: pa.Table

    @property
    def schema(self) -> str:
        return SCHEMA.format(more="".join(f", {name} BIGINT" for name in self.item.column_names[5:]))


def run(sizes: Sizes) -> Report:
    data = make(sizes.items)
    report = Report(
        "columns",
        "A million items in columns, and three views",
        f"{data.item.num_rows:,} items without a key and {data.orders.num_rows:,} orders come from Arrow; whence keeps "
        f"three views: a count and a sum of each of {PARTS:,} parts, the revenue of each segment over a join, and the "
        f"orders of more than 250 pieces. Random items leave and come back, {sizes.runs} commits of each size, of up "
        f"to {max(AS_TUPLES)} rows {IN_A_TURN} at a time. DuckDB, with two threads, loads the same and computes all "
        f"three views again, and hands over their rows. "
        f"Then {sizes.varied:,} items: with a tenth of the orders and quantities NULL, with half of all items of one "
        f"order, with {MORE_COLUMNS} columns more; of inserts and deletes, as Arrow and as tuples, the worst is shown. "
        f"Then half of the million leave and come back, and nine tenths, after which the views are computed again. "
        f"Last, {sizes.orders_gone:,} orders leave under nine views, and DuckDB computes all nine.",
    )
    warm_up()
    load(data, sizes, report)
    for comparison in changes(data, sizes):
        report.comparisons.append(comparison)
    variations = {
        "a tenth is NULL": partial(make, nulls=True),
        "half of one order": partial(make, skew=True),
        f"{MORE_COLUMNS} columns more": partial(make, wide=True),
    }
    for what, varied in variations.items():
        report.comparisons.extend(worst(what, list(changes(varied(sizes.varied), sizes))))
    most_leave(data, sizes, report)
    nine_views(data, sizes, report)
    grown, in_use = memory(sizes.items)
    report.figure("memory, as the process grows", grown / sizes.items, "bytes per item")
    report.figure("of it in use, and not kept by the C library for later", in_use / sizes.items, "bytes per item")
    return report


def make(items: int, *, nulls: bool = False, skew: bool = False, wide: bool = False) -> Data:
    rng = np.random.default_rng(1)
    count = items // 4
    order = rng.integers(0, count, items).astype(np.int32)
    if skew:
        order[rng.random(items) < 0.5] = count // 2
    missing = [rng.random(items) < 0.1 if nulls else None for _ in range(2)]
    item = {
        "id": pa.array(np.arange(items, dtype=np.int32)),
        "ord": pa.array(order, mask=missing[0]),
        "part": pa.array(rng.integers(0, PARTS, items).astype(np.int32)),
        "qty": pa.array(rng.integers(0, 51, items).astype(np.int32), mask=missing[1]),
        "price": pa.array(rng.integers(0, 10_001, items) / 100.0),
    }
    if wide:
        item |= {f"x{number}": pa.array(rng.integers(0, items, items)) for number in range(MORE_COLUMNS)}
    orders = {
        "ord": pa.array(np.arange(count, dtype=np.int32)),
        "cust": pa.array(rng.integers(0, CUSTOMERS, count).astype(np.int32)),
        "seg": pa.array(np.array(SEGMENTS)[rng.integers(0, len(SEGMENTS), count)]),
    }
    return Data(pa.table(item), pa.table(orders))


def in_whence(data: Data, views: Mapping[str, str] = THREE) -> whence.Database:
    """Without rows."""
    db = whence.connect()
    define(db, data, views)
    return db


def define(db: whence.Database, data: Data, views: Mapping[str, str] = THREE) -> None:
    db.execute(data.schema)
    for name, query in views.items():
        db.execute(f"CREATE MATERIALIZED VIEW {name} AS {query}")


def fill(db: whence.Database, data: Data) -> None:
    db.insert("orders", data.orders)
    db.insert("item", data.item)


def in_duckdb(data: Data) -> duckdb.DuckDBPyConnection:
    db = duck.connect()
    fill_duckdb(db, data)
    return db


def fill_duckdb(db: duckdb.DuckDBPyConnection, data: Data) -> None:
    for name, rows in (("orders", data.orders), ("item", data.item)):
        db.register("rows", rows)
        db.execute(f"CREATE TABLE {name} AS FROM rows")
        db.unregister("rows")


def warm_up() -> None:
    """Kernels are compiled, or read from the cache, once in a process."""
    data = make(20_000)
    with in_whence(data, NINE) as db:
        fill(db, data)
        for rows in (data.item.slice(0, 100), as_tuples(data.item.slice(0, 1))):
            db.delete("item", rows)
            db.insert("item", rows)


def load(data: Data, sizes: Sizes, report: Report) -> None:
    ours, theirs = Stopwatch(), Stopwatch()
    for _ in range(sizes.runs):
        with in_whence(data) as db, ours:
            fill(db, data)
        with duck.connect() as other, theirs:
            fill_duckdb(other, data)
            for query in THREE.values():
                other.sql(query).to_arrow_table()
    report.compare("load from Arrow", ours.timing, f"{duck.NAME}, load and compute", theirs.timing)


def changes(data: Data, sizes: Sizes) -> Iterator[Comparison]:
    """Items leave and come back, in commits of all sizes; the views are compared when they are gone and at the end."""
    rng = np.random.default_rng(2)
    with in_whence(data) as ours, in_duckdb(data) as theirs:
        fill(ours, data)
        recompute = duck.RecomputeAll(theirs, THREE)
        for count in COMMITS:
            # Ten times as many rows stay as leave.
            if 10 * count > data.item.num_rows:
                continue
            for what, given in WAYS.items():
                if given is as_tuples and count not in AS_TUPLES:
                    continue
                in_a_turn = IN_A_TURN if count in AS_TUPLES else 1
                some = [picked(data.item, count, rng) for _ in range(sizes.runs * in_a_turn)]
                deletes, inserts = Stopwatch(), Stopwatch()
                for rows in taking_turns(some, recompute, sizes.runs):
                    change(ours, given(rows), deletes, inserts)
                rows_are = f"{count:,} row{'s' if count > 1 else ''}{what}"
                yield Comparison(f"insert {rows_are}", inserts.timing, OPPONENT, recompute.timing)
                yield Comparison(f"delete {rows_are}", deletes.timing, OPPONENT, recompute.timing)
            check_without(ours, theirs, "item", "id", picked(data.item, count, rng), THREE)


def as_arrow(rows: pa.Table) -> Given:
    return rows


def as_tuples(rows: pa.Table) -> Given:
    return list(zip(*(column.to_pylist() for column in rows.columns), strict=True))


WAYS: Mapping[str, Callable[[pa.Table], Given]] = {"": as_arrow, ", as tuples": as_tuples}


def picked(rows: pa.Table, count: int, rng: np.random.Generator) -> pa.Table:
    return rows.take(pa.array(rng.choice(rows.num_rows, count, replace=False)))


def change(db: whence.Database, rows: Given, deletes: Stopwatch, inserts: Stopwatch) -> None:
    with deletes:
        db.delete("item", rows)
    with inserts:
        db.insert("item", rows)


def worst(what: str, found: Sequence[Comparison]) -> Iterator[Comparison]:
    """For each size of a commit what is least faster than the opponent."""
    for count in COMMITS:
        same = [each for each in found if each.what.split()[1] == f"{count:,}"]
        if same:
            least = min(same, key=lambda each: each.ratio)
            yield Comparison(f"{what}: {least.what}", least.ours, least.opponent, least.theirs)


def most_leave(data: Data, sizes: Sizes, report: Report) -> None:
    """Changes that are as large as what they change, or larger."""
    rng = np.random.default_rng(4)
    for what, tenths in {"half": 5, "nine tenths": 9}.items():
        deletes, inserts = Stopwatch(), Stopwatch()
        with in_whence(data) as ours, in_duckdb(data) as theirs:
            fill(ours, data)
            recompute = duck.RecomputeAll(theirs, THREE)
            count = data.item.num_rows * tenths // 10
            for rows in taking_turns([picked(data.item, count, rng) for _ in range(sizes.runs)], recompute):
                change(ours, rows, deletes, inserts)
            check_without(ours, theirs, "item", "id", picked(data.item, count, rng), THREE)
        report.compare(f"delete {what} of all items", deletes.timing, OPPONENT, recompute.timing)
        report.compare(f"insert {what} of all items", inserts.timing, OPPONENT, recompute.timing)


def nine_views(data: Data, sizes: Sizes, report: Report) -> None:
    rng = np.random.default_rng(3)
    deletes, inserts = Stopwatch(), Stopwatch()
    with in_whence(data, NINE) as ours, in_duckdb(data) as theirs:
        fill(ours, data)
        recompute = duck.RecomputeAll(theirs, NINE)
        for _ in range(sizes.runs):
            gone = picked(data.orders, sizes.orders_gone, rng)
            recompute()
            with deletes:
                ours.delete("orders", gone)
            with inserts:
                ours.insert("orders", gone)
        check_without(ours, theirs, "orders", "ord", picked(data.orders, sizes.orders_gone, rng), NINE)
    what = f"nine views: {{}} {sizes.orders_gone:,} orders"
    report.compare(what.format("delete"), deletes.timing, OPPONENT, recompute.timing)
    report.compare(what.format("insert"), inserts.timing, OPPONENT, recompute.timing)


def check_without(
    ours: whence.Database,
    theirs: duckdb.DuckDBPyConnection,
    table: str,
    key: str,
    rows: pa.Table,
    views: Mapping[str, str],
) -> None:
    """Both have the same views while these rows are gone, and after they have come back."""
    theirs.register("gone", rows)
    ours.delete(table, rows)
    theirs.execute(f"DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM gone)")
    check(ours, theirs, views)
    ours.insert(table, rows)
    theirs.execute(f"INSERT INTO {table} FROM gone")
    theirs.unregister("gone")
    check(ours, theirs, views)


def check(ours: whence.Database, theirs: duckdb.DuckDBPyConnection, views: Mapping[str, str]) -> None:
    for name, query in views.items():
        duck.check_similar_rows(ours, name, theirs, query)


# Kernels are warm and nothing else is there before; afterwards what came in is gone, and what was made of it stays. It
# comes in from files that are mapped: what the C library keeps of freed memory is then that of whence alone.
PROGRAM = """
import ctypes
import sys

import pyarrow

from benchmarks.columns import fill, in_whence, mapped, warm_up
from benchmarks.harness import resident_bytes

warm_up()
pool = pyarrow.default_memory_pool()
pool.release_unused()
before = resident_bytes()
data = mapped(sys.argv[1])
db = in_whence(data)
fill(db, data)
del data
pool.release_unused()
print(resident_bytes() - before)
trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
if trim is not None:
    trim(0)
print(resident_bytes() - before)
"""


def memory(items: int) -> tuple[float, float]:
    """The bytes by which a process of its own grows, the orders and the views included; and those that are in use."""
    data = make(items)
    with tempfile.TemporaryDirectory() as folder:
        for name in TABLES:
            table = getattr(data, name)
            with pa.OSFile(f"{folder}/{name}.arrow", "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)
        command = [sys.executable, "-c", PROGRAM, folder]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603 - the program above
    grown, in_use = map(float, done.stdout.split())
    return grown, in_use


def mapped(folder: str) -> Data:
    """The tables as they are on disk."""
    return Data(*(pa.ipc.open_file(pa.memory_map(f"{folder}/{name}.arrow")).read_all() for name in TABLES))


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(items=20_000, varied=10_000, orders_gone=500))
