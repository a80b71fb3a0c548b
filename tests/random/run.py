"""A random SQL program in whence and in DuckDB."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import duckdb

from tests.random.compare import DisagreementError, difference
from tests.random.duck import Duck, duck, to_duckdb
from tests.random.shrink import shrink
from tests.random.sql_programs import SqlProgram, View
from tests.random.tables import Table
from whence.analysis.analyze import analyze
from whence.engines.reference.evaluate import evaluate
from whence.errors import EvaluationError, UnsupportedError
from whence.lang.datalog.parse import parse_datalog
from whence.lang.datalog.write import to_datalog
from whence.lang.sql.parse import parse_sql
from whence.lang.sql.write import to_sql
from whence.model.program import Catalog, CreateTable, CreateView, Program, Statement
from whence.model.types import Row

SAME = "agreed with DuckDB"
REFUSED = "refused by whence"
BEYOND_DUCKDB = "refused by DuckDB"


def check(program: SqlProgram) -> str:
    """What came of it; DisagreementError, or whence's own error, where something is wrong."""
    try:
        statements = parse_sql(program.script, Catalog())
    except UnsupportedError:
        return REFUSED
    check_round_trips(statements)
    try:
        ours = contents(statements, program.tables)
    except EvaluationError:
        # An overflow, say; then DuckDB must not have an answer either.
        ours = None
    try:
        database = load(program)
        found = {view.name: database.rows(view.name, columns(statements, view)) for view in program.views}
    except duckdb.Error as error:
        if isinstance(error, duckdb.InternalException | duckdb.FatalException):
            duck.cache_clear()
        return BEYOND_DUCKDB
    if ours is None:
        raise DisagreementError("whence cannot evaluate this, and DuckDB can")
    for view, rows in found.items():
        compare(view, ours[view], rows)
    return SAME


def check_round_trips(statements: Sequence[Statement]) -> None:
    """Written as SQL and read again it is the same, and so is each view's definition as Datalog."""
    text = to_sql(statements)
    if parse_sql(text, Catalog()) != tuple(statements):
        raise DisagreementError(f"as SQL this is another program:\n{text}")
    for statement in statements:
        if isinstance(statement, CreateView):
            text = to_datalog(statement.definition)
            if parse_datalog(text) != statement.definition:
                raise DisagreementError(f"as Datalog this is another program:\n{text}")


def contents(statements: Sequence[Statement], tables: Sequence[Table]) -> Mapping[str, Mapping[Row, int]]:
    """Every relation's rows and how often each is there, by the reference engine."""
    relations = [s.relation for s in statements if isinstance(s, CreateTable)]
    views = [s.definition for s in statements if isinstance(s, CreateView)]
    whole = Program(
        (*relations, *(r for view in views for r in view.relations)), tuple(r for view in views for r in view.rules)
    )
    return evaluate(analyze(whole), {table.name: Counter(table.rows) for table in tables})


def load(program: SqlProgram) -> Duck:
    """The program in DuckDB, views and all."""
    database = duck()
    database.load(program.tables)
    for view in program.views:
        database.create(f"CREATE VIEW {view.name} AS {to_duckdb(view.duckdb or view.query)}")
    return database


def columns(statements: Sequence[Statement], view: View) -> Sequence[str]:
    """A view's columns. After a join with USING, * has them in another order in DuckDB than in Spark."""
    found = next(s for s in statements if isinstance(s, CreateView) and s.name == view.name)
    return found.definition.relations[-1].column_names


def compare(relation: str, ours: Mapping[Row, int], theirs: Iterable[Row]) -> None:
    only_whence, only_duckdb = difference(ours, theirs)
    if only_whence or only_duckdb:
        raise DisagreementError(f"{relation}: only whence has {only_whence[:8]}, only DuckDB has {only_duckdb[:8]}")


def explained(program: SqlProgram, error: BaseException) -> str:
    """The seed, and a small program that goes wrong in the same way."""

    def fails(candidate: SqlProgram) -> bool:
        try:
            check(candidate)
        except Exception as other:  # noqa: BLE001 - whatever went wrong before is what must go wrong again
            return type(other) is type(error) and str(other)[:12] == str(error)[:12]
        return False

    return f"seed {program.seed}, made small:\n{shown(shrink(program, fails, attempts=1000))}"


def shown(program: SqlProgram) -> str:
    """The program as text that can be run: its definitions and its rows."""
    return program.script + "".join(f"{table.insert(table.rows)};\n" for table in program.tables if table.rows)
