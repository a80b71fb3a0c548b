"""Ad hoc SQL: the Spark dialect, run by DuckDB over the current contents."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel
from sqlglot.errors import ParseError as GlotParseError
from sqlglot.errors import UnsupportedError as GlotUnsupportedError
from sqlglot.parsers.spark import SparkParser

from whence.errors import (
    EvaluationError,
    Hint,
    ParseError,
    UnknownNameError,
    UnsupportedError,
    Way,
    WhenceError,
    did_you_mean,
)
from whence.lang.sql.dialect import statements
from whence.lang.sql.positions import span_of
from whence.model.schema import Relation
from whence.model.span import Source, Span
from whence.session.definitions import Definitions

if TYPE_CHECKING:
    import pyarrow as pa

EXECUTING = Way("execute", "execute")
# The query sees the tables it is given and nothing else: no files, no network, no variables of this process.
ISOLATION: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "lock_configuration": "true",
}


class AnsiSpark(Spark):
    """Spark SQL in which a CAST that fails is an error, as it is since Spark 4."""

    class Parser(SparkParser):
        STRICT_CAST = True


def run_query(
    text: str,
    definitions: Definitions,
    table: Callable[[Relation], pa.Table],
    limit: int | None = None,
    timeout: float | None = None,
) -> pa.Table:
    """The query's answer. `table` gives the contents of a relation."""
    tree, used = checked_query(text, definitions)
    with duckdb.connect(":memory:", config=ISOLATION) as connection:
        for relation in used:
            connection.register(relation.name, table(relation))
        try:
            with _stopped_after(timeout, connection):
                answer = connection.sql(_translated(tree))
                answer = answer if limit is None else answer.limit(limit)
                return _narrowed(answer.to_arrow_table(), answer.types)
        except duckdb.InterruptException:
            raise too_long(timeout) from None
        except duckdb.Error as error:
            raise _in_our_words(error, used) from None


def too_long(timeout: float | None) -> EvaluationError:
    return EvaluationError(
        f"the query was stopped after {timeout:g} seconds",
        hint="ask for less, or make it a view, which is kept up to date",
    )


@contextmanager
def _stopped_after(seconds: float | None, connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def checked_query(text: str, definitions: Definitions) -> tuple[exp.Expr, Sequence[Relation]]:
    """A text that is one query over relations that there are, as a tree, and these relations."""
    source = Source("<query>", text)
    tree = _one_query(source)
    _check_functions(tree, definitions, source)
    return tree, _relations(tree, definitions, source)


def _one_query(source: Source) -> exp.Expr:
    # Our own parser goes first, because its errors show the place; sqlglot's Spark dialect translates the functions.
    found = list(statements(source))
    if not found:
        raise ParseError("the query is empty")
    if len(found) > 1:
        raise UnsupportedError(
            "query takes one statement", span=found[1][1], hint=Hint("{} takes several", (EXECUTING,))
        )
    if not isinstance(found[0][0], exp.Query | exp.Values):
        raise UnsupportedError(
            "query only reads: it takes SELECT, WITH or VALUES",
            span=found[0][1],
            hint=Hint("{} runs statements that change something", (EXECUTING,)),
        )
    try:
        return _named(sqlglot.parse_one(source.text, read=AnsiSpark))
    except GlotParseError as error:
        raise _misused(error, source) from None


def _misused(error: GlotParseError, source: Source) -> ParseError:
    """What the first parser lets pass and the second does not: a function with the wrong arguments."""
    place = error.errors[0]
    end = source.line_starts[(place["line"] or 1) - 1] + (place["col"] or 1)
    return ParseError("this function does not take these arguments", span=Span(source, max(end - 1, 0), end))


def _translated(tree: exp.Expr) -> str:
    try:
        return tree.sql("duckdb", unsupported_level=ErrorLevel.RAISE)
    except GlotUnsupportedError as error:
        raise UnsupportedError(f"the query cannot be answered: {error}") from None


def _named(tree: exp.Expr) -> exp.Expr:
    """With a name for every computed column: the words of the query, where DuckDB would take its own."""
    first = tree
    while isinstance(first, exp.SetOperation | exp.Subquery):
        first = first.this
    if isinstance(first, exp.Select):
        for computed in [each for each in first.expressions if not each.output_name]:
            name = computed.sql("spark", normalize_functions="lower")
            computed.replace(exp.alias_(computed.copy(), name, quoted=True))
    return tree


def _relations(tree: exp.Expr, definitions: Definitions, source: Source) -> list[Relation]:
    """The relations that the query names."""
    local = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    used: dict[str, Relation] = {}
    for node in tree.find_all(exp.Table):
        if not isinstance(node.this, exp.Identifier):
            continue
        found = None if node.db else definitions.find(node.name)
        if found is not None:
            used[found.name] = found
        elif node.db or node.name.lower() not in local:
            raise UnknownNameError(
                f"there is no relation {node.sql('spark')!r}",
                span=span_of(node, source),
                hint=did_you_mean(node.name, definitions.visible),
            )
    return list(used.values())


def _check_functions(tree: exp.Expr, definitions: Definitions, source: Source) -> None:
    for call in tree.find_all(exp.Anonymous):
        if call.name.lower() in definitions.functions:
            raise UnsupportedError(
                f"query cannot call the registered function {call.name!r}",
                span=span_of(call, source),
                hint="call it in a view, and query the view",
            )


def _narrowed(table: pa.Table, types: Sequence[object]) -> pa.Table:
    """Sums of integers as BIGINT, which they are in Spark; DuckDB computes them in 128 bits."""
    import pyarrow as pa

    for position, kind in enumerate(types):
        if str(kind) == "HUGEINT":
            try:
                column = table.column(position).cast(pa.int64())
            except pa.ArrowInvalid:
                raise EvaluationError(f"column {table.column_names[position]!r} does not fit BIGINT") from None
            table = table.set_column(position, table.column_names[position], column)
    return table


def _in_our_words(error: duckdb.Error, used: Sequence[Relation]) -> WhenceError:
    """DuckDB's first line without its prefix. The lines below it quote SQL that the user never wrote."""
    message = str(error).partition("\n")[0].partition(": ")[2].rstrip("!.")
    column = re.match(r'Referenced (?:column|table) "(.*?)" not found', message)
    if column is not None:
        known = [name for relation in used for name in (relation.name, *relation.column_names)]
        return UnknownNameError(f"there is no column {column[1]!r}", hint=did_you_mean(column[1], known))
    if isinstance(error, duckdb.PermissionException):
        return UnsupportedError("a query reads the relations of this database, and no files")
    kind = EvaluationError if isinstance(error, duckdb.DataError) else UnsupportedError
    return kind(f"the query cannot be answered: {message}")
