"""A random SQL program in whence and in DuckDB."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache

import duckdb
import sqlglot
from sqlglot import exp

from tests.random.compare import Disagreement, difference
from tests.random.sql_programs import SqlProgram, View
from tests.random.tables import Table
from whence.analysis.analyze import analyze
from whence.engines.reference.evaluate import evaluate
from whence.lang.sql.parse import parse_sql
from whence.model.catalog import Catalog
from whence.model.program import Program
from whence.model.statements import CreateTable, CreateView, Statement
from whence.model.types import Row


def statements_of(program: SqlProgram) -> tuple[Statement, ...]:
    return parse_sql(program.script, Catalog())


def in_whence(statements: Sequence[Statement], tables: Sequence[Table]) -> Mapping[str, Mapping[Row, int]]:
    """Every relation's counts, by the reference engine."""
    relations = [s.relation for s in statements if isinstance(s, CreateTable)]
    views = [s.definition for s in statements if isinstance(s, CreateView)]
    whole = Program(
        (*relations, *(r for view in views for r in view.relations)), tuple(r for view in views for r in view.rules)
    )
    return evaluate(analyze(whole), {table.name: Counter(table.rows) for table in tables})


class Duck:
    """One DuckDB for all programs."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(config={"threads": 1})

    def load(self, tables: Sequence[Table]) -> None:
        self.connection.execute("DROP SCHEMA IF EXISTS program CASCADE; CREATE SCHEMA program; USE program")
        for table in tables:
            self.connection.execute(to_duckdb(table.create()))
            if table.rows:
                self.connection.execute(table.insert(table.rows))

    def define(self, view: View) -> None:
        self.connection.execute(f"CREATE VIEW {view.name} AS {to_duckdb(view.duckdb or view.query)}")

    def rows(self, relation: str) -> list[Row]:
        return self.connection.execute(f"FROM {relation}").fetchall()


@cache
def duck() -> Duck:
    return Duck()


def to_duckdb(text: str) -> str:
    tree = sqlglot.parse_one(text, read="spark")
    # sqlglot takes Spark's CAST for one that gives NULL where it fails; with ANSI on it is an error in both.
    for node in list(tree.find_all(exp.TryCast)):
        node.replace(exp.Cast(this=node.this, to=node.args["to"]))
    return tree.sql("duckdb")


def expected(program: SqlProgram) -> dict[str, list[Row]]:
    """The views' rows by DuckDB; duckdb.Error where it cannot."""
    database = duck()
    database.load(program.tables)
    for view in program.views:
        database.define(view)
    return {view.name: database.rows(view.name) for view in program.views}


def compare(program: SqlProgram, ours: Mapping[str, Mapping[Row, int]], theirs: Mapping[str, list[Row]]) -> None:
    for view in program.views:
        only_whence, only_duckdb = difference(ours[view.name], theirs[view.name])
        if only_whence or only_duckdb:
            raise Disagreement(
                f"{view.name}: only whence has {only_whence[:8]}, only DuckDB has {only_duckdb[:8]}\n{shown(program)}"
            )


def shown(program: SqlProgram) -> str:
    """The program as text that can be run: its seed, its definitions and its rows."""
    rows = "".join(f"{table.insert(table.rows)};\n" for table in program.tables if table.rows)
    return f"seed {program.seed}\n{program.script}{rows}"
