"""Ad hoc SQL: the Spark dialect, run by DuckDB over the current contents."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ErrorLevel
from sqlglot.errors import ParseError as GlotParseError
from sqlglot.errors import UnsupportedError as GlotUnsupportedError
from sqlglot.generators.duckdb import DuckDBGenerator

from whence.deadline import may_give_up
from whence.errors import (
    EvaluationError,
    Hint,
    NextStep,
    ParseError,
    UnknownNameError,
    UnsupportedError,
    WhenceError,
    did_you_mean,
)
from whence.interrupts import held
from whence.lang.sql.dialect import room_to_descend, statements
from whence.lang.sql.grammar import OperatorParser, ZonelessSpark
from whence.lang.sql.literals import refuse_zone
from whence.lang.sql.parameters import Binding
from whence.lang.sql.positions import span_of
from whence.lang.sql.schemas import join_names
from whence.model.schema import Relation
from whence.model.span import SourceText, Span
from whence.session.asked_recursions import with_starts
from whence.session.definitions import Definitions
from whence.session.isolation import ISOLATION, SETTINGS, plain

if TYPE_CHECKING:
    import pyarrow as pa


# What DuckDB has by the same name and computes otherwise, by how many arguments it has then; None for any.
_OTHERWISE: Mapping[str, int | None] = {
    **dict.fromkeys(("skewness", "kurtosis", "corr", "typeof"), None),
    **dict.fromkeys(("json_array_length", "json_object_keys", "get_json_object"), None),
    **dict.fromkeys(("datediff", "date_diff", "timestampdiff"), 3),
}

EXECUTING = NextStep("execute", "execute")
SMALLER = "ask for less, or make it a view, which is kept up to date"


class AnsiSpark(ZonelessSpark):
    """Spark SQL in which a CAST that fails is an error, as it is since Spark 4."""

    class Parser(OperatorParser):
        STRICT_CAST = True


class ZonelessDuckDB(DuckDB):
    """DuckDB in which text that names a zone becomes the TIMESTAMP in UTC. Left alone, it drops the zone.

    Its days of the week count from 0, and Spark's from 1. Its seconds have no fraction.
    """

    class Generator(DuckDBGenerator):
        TRANSFORMS: ClassVar[dict[Any, Any]] = {
            **DuckDBGenerator.TRANSFORMS,
            exp.DayOfWeek: lambda self, expression: f"(DAYOFWEEK({self.sql(expression, 'this')}) + 1)",
        }

        def extract_sql(self, expression: exp.Extract) -> str:
            if expression.name.upper() not in ("SECOND", "SECONDS"):
                return super().extract_sql(expression)
            # DuckDB counts the microseconds of the whole minute.
            return f"CAST(EXTRACT(MICROSECOND FROM {self.sql(expression, 'expression')}) / 1e6 AS DECIMAL(8, 6))"

        def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
            if expression.to.this not in (exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPNTZ):
                return super().cast_sql(expression, safe_prefix)
            moment = expression.copy()
            moment.set("to", exp.DataType.build("TIMESTAMPTZ", "duckdb"))
            return f"CAST({super().cast_sql(moment, safe_prefix)} AS TIMESTAMP)"


class Query(Protocol):
    """A SELECT that is ready to be run, wherever that is."""

    def run(self, limit: int | None = None, timeout: float | None = None) -> pa.Table:
        """Its first `limit` rows, unless it takes `timeout` seconds."""


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """A query in DuckDB's words, with the contents of every relation it reads: it runs without the database."""

    sql: str
    used: Sequence[Relation]
    tables: Mapping[str, pa.Table]

    def run(self, limit: int | None = None, timeout: float | None = None) -> pa.Table:
        with duckdb.connect(":memory:", config=ISOLATION) as connection:
            connection.execute(SETTINGS)
            # DuckDB takes an interrupt for a table that cannot be read.
            with held():
                for name, table in self.tables.items():
                    connection.register(name, table)
            try:
                with _stopped_after(timeout, connection):
                    answer = connection.sql(self.sql)
                    answer = answer if limit is None else answer.limit(limit)
                    return plain(answer.to_arrow_table(), answer.types)
            except duckdb.InterruptException:
                raise too_long(timeout) from None
            except duckdb.Error as error:
                raise self.in_our_words(error) from None

    def in_our_words(self, error: duckdb.Error) -> WhenceError:
        """DuckDB's first line without its prefix. The lines below it quote SQL that the user never wrote."""
        message = str(error).partition("\n")[0].partition(": ")[2].rstrip("!.")
        column = re.match(r'Referenced (?:column|table) "(.*?)" not found', message)
        if column is not None:
            known = [name for relation in self.used for name in (relation.name, *relation.column_names)]
            return UnknownNameError(f"there is no column {column[1]!r}", hint=did_you_mean(column[1], known))
        if isinstance(error, duckdb.PermissionException):
            return UnsupportedError("a query reads the relations of this database, and no files")
        if isinstance(error, duckdb.OutOfMemoryException):
            return EvaluationError("the query needs more memory than it may use", hint=SMALLER)
        kind = EvaluationError if isinstance(error, duckdb.DataError) else UnsupportedError
        return kind(f"the query cannot be answered: {message}")


def too_long(timeout: float | None) -> EvaluationError:
    return EvaluationError(
        "the query was stopped" + ("" if timeout is None else f" after {timeout:g} seconds"),
        hint=SMALLER,
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


def parsed_query(text: str, parameters: object = None) -> ParsedQuery:
    """A text that is one query. It needs no database, and is given up when nobody waits for it any more.

    `parameters` are the values for ? and :name.
    """
    source = SourceText("<query>", text)
    with may_give_up():
        return ParsedQuery(source, _one_query(source, parameters))


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query whose names nobody has looked up yet."""

    source: SourceText
    tree: exp.Expr

    def relations(self, definitions: Definitions, *, calls_functions: bool = False) -> Sequence[Relation]:
        """The relations that it reads, after a look at whether a query can read them, and call what it calls."""
        if not calls_functions:
            _check_functions(self.tree, definitions, self.source)
        return _relations(self.tree, definitions, self.source)

    def prepared(self, definitions: Definitions, table: Callable[[Relation], pa.Table]) -> PreparedQuery:
        """`table` gives the contents of a relation."""
        used = self.relations(definitions)
        return PreparedQuery(self._translated(), used, {relation.name: table(relation) for relation in used})

    def _translated(self) -> str:
        try:
            with room_to_descend(self._whole):
                return _bound_as_read(with_starts(self.tree)).sql(ZonelessDuckDB, unsupported_level=ErrorLevel.RAISE)
        except GlotUnsupportedError as error:
            raise UnsupportedError(f"the query cannot be answered: {error}") from None

    @property
    def _whole(self) -> Span:
        return Span(self.source, 0, len(self.source.text))


def _one_query(source: SourceText, parameters: object) -> exp.Expr:
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
    _check_meanings(found[0][0], source)
    binding = Binding(parameters)
    # For errors with a place, which the second tree does not know.
    binding.put_into(found[0][0].copy(), source)
    binding.check_used()
    for kind in found[0][0].find_all(exp.DataType):
        refuse_zone(kind, span_of(kind.find_ancestor(exp.Cast), source))
    try:
        with room_to_descend(found[0][1]):
            tree = _named(sqlglot.parse_one(source.text, read=AnsiSpark))
            Binding(parameters).put_into(tree, source)
            join_names(tree, source)
            return tree
    except GlotParseError as error:
        raise _misused(error, source) from None


def _check_meanings(tree: exp.Expr, source: SourceText) -> None:
    """Refuse what would have another value than in a view."""
    for call in tree.find_all(exp.Anonymous):
        name = call.name.lower()
        if name in _OTHERWISE and _OTHERWISE[name] in (None, len(call.expressions)):
            raise UnsupportedError(
                f"{name}(...) is not supported in a query: DuckDB, which answers it, computes something else",
                span=span_of(call, source),
                hint="make it a view",
            )


def _misused(error: GlotParseError, source: SourceText) -> ParseError:
    """What the first parser lets pass and the second does not: a function with the wrong arguments."""
    place = error.errors[0]
    end = source.line_starts[(place["line"] or 1) - 1] + (place["col"] or 1)
    return ParseError("this function does not take these arguments", span=Span(source, max(end - 1, 0), end))


def _bound_as_read(tree: exp.Expr) -> exp.Expr:
    """With parentheses around `||`, which binds like + in Spark, and less in DuckDB."""
    whole = tree.copy()
    for joined in list(whole.find_all(exp.DPipe)):
        if isinstance(joined.parent, exp.Binary):
            joined.replace(exp.paren(joined.copy()))
    return whole


def _named(tree: exp.Expr) -> exp.Expr:
    """With a name for every computed column: the words of the query, where DuckDB would take its own."""
    first = tree
    while isinstance(first, exp.SetOperation | exp.Subquery):
        first = first.this
    if isinstance(first, exp.Select):
        for computed in [each for each in first.expressions if not each.output_name]:
            name = computed.sql(ZonelessSpark, normalize_functions="lower")
            computed.replace(exp.alias_(computed.copy(), name, quoted=True))
    return tree


def _relations(tree: exp.Expr, definitions: Definitions, source: SourceText) -> list[Relation]:
    """The relations that the query names."""
    used: dict[str, Relation] = {}
    for node in tree.find_all(exp.Table):
        if not isinstance(node.this, exp.Identifier):
            continue
        found = None if node.db else definitions.find(node.name)
        if found is not None:
            if (version := node.args.get("version")) is not None:
                raise UnsupportedError(
                    f"a query cannot read {found.name!r} {version.this} {version.args['kind']} another than the last",
                    span=span_of(node, source),
                    hint=f"db.df({found.name!r}, version=...) of a database on Spark has its rows at earlier versions",
                )
            used[found.name] = found
        elif node.db or not _is_local(node):
            raise UnknownNameError(
                f"there is no relation {node.name!r}",
                span=span_of(node, source),
                hint=did_you_mean(node.name, definitions.visible),
            )
    return list(used.values())


def _is_local(table: exp.Table) -> bool:
    """Whether a WITH around it has a query of this name: elsewhere, Spark would look for a table of its own."""
    inner: exp.Expr = table
    while (outer := inner.parent) is not None:
        if isinstance(outer, exp.With):
            # A query sees those before it, and itself where it may be recursive.
            before = outer.expressions.index(inner) + bool(outer.args.get("recursive"))
            seen = outer.expressions[:before]
        else:
            seen = outer.ctes if isinstance(outer, exp.Query) else []
        if any(query.alias.lower() == table.name.lower() for query in seen):
            return True
        # The queries of a WITH do not see all those of the statement that it belongs to.
        inner = outer.parent if isinstance(outer, exp.With) and outer.parent is not None else outer
    return False


def _check_functions(tree: exp.Expr, definitions: Definitions, source: SourceText) -> None:
    for call in tree.find_all(exp.Anonymous):
        if call.name.lower() in definitions.functions:
            raise UnsupportedError(
                f"query cannot call the registered function {call.name!r}",
                span=span_of(call, source),
                hint="call it in a view, and query the view",
            )
