"""CREATE TABLE ... AS SELECT: a table with the columns of a query and the rows that it has now."""

from __future__ import annotations

from sqlglot import exp

from whence.errors import UnsupportedError
from whence.lang.sql.known import KnownRelations
from whence.lang.sql.positions import span_of
from whence.lang.sql.tables import table_name
from whence.lang.sql.views import check_types, define, start
from whence.model.program import CreateTable
from whence.model.schema import Column, Relation
from whence.model.span import SourceText, Span


def create_table_as(node: exp.Create, known: KnownRelations, source: SourceText, span: Span) -> CreateTable:
    """The table is a bag without a key, takes NULL in all columns, and does not follow the query."""
    place = span_of(node.this, source)
    if not isinstance(node.this, exp.Table) or node.args.get("properties") is not None:
        raise UnsupportedError(
            "CREATE TABLE ... AS takes its columns from the query alone",
            span=place or span,
            hint="CREATE TABLE with a list of columns, and INSERT INTO it",
        )
    if node.args.get("replace"):
        raise UnsupportedError("CREATE OR REPLACE TABLE is not supported", span=place, hint="DROP it first")
    name = table_name(node.this, source)
    lowering = start("create", known, source)
    define(lowering, node.expression, [], place)
    check_types(lowering)
    query = lowering.program()
    columns = tuple(Column(c.name, c.type, span=c.span) for c in query.relations[-1].columns)
    relation = Relation(name, columns, span=place)
    return CreateTable(relation, bool(node.args.get("exists")), query, span=span)
