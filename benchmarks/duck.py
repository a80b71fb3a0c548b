"""DuckDB, the opponent that recomputes: two threads, tables of its own, and a check that both have the same rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa

import whence
from benchmarks.harness import Stopwatch, Timing

NAME = "DuckDB"


def connect() -> duckdb.DuckDBPyConnection:
    db = duckdb.connect()
    db.execute("SET threads = 2")
    return db


def fill(db: duckdb.DuckDBPyConnection, table: str, columns: str, rows: Sequence[tuple[int | None, ...]]) -> None:
    """A table of the rows."""
    names = columns.split()
    arrays = [pa.array([row[index] for row in rows], pa.int32()) for index in range(len(names))]
    db.register("rows", pa.table(arrays, names=names))
    db.execute(f"CREATE TABLE {table} AS FROM rows")
    db.unregister("rows")


class Recompute:
    """A query, timed each time it is called.

    The rows are counted and not stored or fetched: less than anyone who wants the view would have to pay.
    """

    def __init__(self, db: duckdb.DuckDBPyConnection, query: str) -> None:
        self._db = db
        self._query = f"SELECT count(*) FROM ({query})"
        self._watch = Stopwatch()
        self._db.execute(self._query).fetchall()

    def __call__(self) -> None:
        with self._watch:
            self._db.execute(self._query).fetchall()

    @property
    def timing(self) -> Timing:
        return self._watch.timing


class RecomputeAll:
    """Several queries, timed together each time they are called; their rows are handed over."""

    def __init__(self, db: duckdb.DuckDBPyConnection, views: Mapping[str, str]) -> None:
        self._db, self._queries = db, tuple(views.values())
        self._watch = Stopwatch()
        self.once()

    def once(self) -> None:
        for query in self._queries:
            self._db.sql(query).to_arrow_table()

    def __call__(self) -> None:
        with self._watch:
            self.once()

    @property
    def timing(self) -> Timing:
        return self._watch.timing


def check_same_rows(ours: whence.Database, view: str, theirs: duckdb.DuckDBPyConnection, query: str) -> None:
    """Ends the benchmark where the view differs from what DuckDB answers: a fast wrong answer has no time."""
    theirs.register("our_rows", ours.table(view))
    theirs.execute(f"CREATE OR REPLACE TEMP TABLE their_rows AS {query}")
    for one, other in (("our_rows", "their_rows"), ("their_rows", "our_rows")):
        extra = theirs.execute(f"SELECT * FROM {one} EXCEPT ALL SELECT * FROM {other} LIMIT 3").fetchall()
        if extra:
            raise SystemExit(f"{view} differs from DuckDB: {extra} only in {one}")
    theirs.unregister("our_rows")


def check_similar_rows(ours: whence.Database, view: str, theirs: duckdb.DuckDBPyConnection, query: str) -> None:
    """As above, where DOUBLEs are added up in another order, or DECIMALs are divided into another type."""
    expected = theirs.sql(query).to_arrow_table()
    found = ours.table(view)
    inexact = [index for index, field in enumerate(expected.schema) if pa.types.is_floating(field.type)]
    our_rows, their_rows = (_in_order(table, inexact) for table in (found, expected))
    if len(our_rows) != len(their_rows):
        raise SystemExit(f"{view} differs from DuckDB: {len(our_rows)} rows and {len(their_rows)}")
    for mine, yours in zip(our_rows, their_rows, strict=True):
        pairs = enumerate(zip(mine, yours, strict=True))
        if not all(_is_similar(*pair) if index in inexact else pair[0] == pair[1] for index, pair in pairs):
            raise SystemExit(f"{view} differs from DuckDB: {mine} and {yours}")


def _in_order(table: pa.Table, inexact: list[int]) -> list[tuple[Any, ...]]:
    """The rows, sorted by their exact columns first, so that equal rows stand side by side."""
    exact = [index for index in range(table.num_columns) if index not in inexact]
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return sorted(rows, key=lambda row: [(row[i] is None, row[i]) for i in (*exact, *inexact)])


def _is_similar(mine: float | Decimal | None, yours: float | None) -> bool:
    if mine is None or yours is None:
        return mine is yours
    # A DECIMAL is rounded at its scale.
    exponent = mine.as_tuple().exponent if isinstance(mine, Decimal) else None
    rounding = 0.5 * 10.0**exponent if isinstance(exponent, int) else 0.0
    return math.isclose(mine, yours, rel_tol=1e-9, abs_tol=1.01 * rounding)
