"""DuckDB, the opponent that recomputes: two threads, tables of its own, and a check that both have the same rows."""

from __future__ import annotations

from collections.abc import Sequence

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


def check_same_rows(ours: whence.Database, view: str, theirs: duckdb.DuckDBPyConnection, query: str) -> None:
    """Ends the benchmark where the view differs from what DuckDB answers: a fast wrong answer has no time."""
    theirs.register("our_rows", ours.table(view))
    theirs.execute(f"CREATE OR REPLACE TEMP TABLE their_rows AS {query}")
    for one, other in (("our_rows", "their_rows"), ("their_rows", "our_rows")):
        extra = theirs.execute(f"SELECT * FROM {one} EXCEPT ALL SELECT * FROM {other} LIMIT 3").fetchall()
        if extra:
            raise SystemExit(f"{view} differs from DuckDB: {extra} only in {one}")
    theirs.unregister("our_rows")
