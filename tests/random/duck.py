"""DuckDB as the oracle."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import duckdb
import sqlglot
from sqlglot import exp

from tests.random.tables import Table, literal
from whence.model.types import Row


class Duck:
    """One DuckDB for all programs."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(config={"threads": 1})
        # DuckDB 2.0 rewrites some semi joins wrongly: reordered, their rows come twice; and a condition that can be
        # NULL is lost where a filter is made of it.
        self.connection.execute("SET disabled_optimizers = 'join_order,statistics_propagation,join_filter_pushdown'")

    def load(self, tables: Sequence[Table]) -> None:
        self.connection.execute("DROP SCHEMA IF EXISTS program CASCADE; CREATE SCHEMA program; USE program")
        for table in tables:
            self.create(table.create())
            self.fill(table.name, table.rows)

    def create(self, statement: str) -> None:
        self.connection.execute(statement)

    def fill(self, relation: str, rows: Iterable[Row]) -> None:
        """Exactly these rows in a table."""
        self.connection.execute(f"DELETE FROM {relation}")
        values = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
        if values:
            self.connection.execute(f"INSERT INTO {relation} VALUES {values}")

    def rows(self, relation: str, columns: Sequence[str] | None = None) -> list[Row]:
        """A relation's rows, its columns in the order given."""
        names = "*" if columns is None else ", ".join(columns)
        return self.connection.execute(f"SELECT {names} FROM {relation}").fetchall()


@cache
def duck() -> Duck:
    return Duck()


def to_duckdb(text: str) -> str:
    tree = sqlglot.parse_one(text, read="spark")
    # sqlglot takes Spark's CAST for one that gives NULL where it fails; with ANSI on it is an error in both.
    for node in list(tree.find_all(exp.TryCast)):
        node.replace(exp.Cast(this=node.this, to=node.args["to"]))
    return tree.sql("duckdb")
