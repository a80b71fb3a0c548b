"""SQL text to statements of the model."""

from __future__ import annotations

from sqlglot import exp

from whence.errors import Hint, UnsupportedError, Way
from whence.lang.sql.changes import delete, insert
from whence.lang.sql.dialect import first_word, room_to_descend, statements
from whence.lang.sql.known import Known
from whence.lang.sql.positions import span_of
from whence.lang.sql.tables import create_table, table_name
from whence.lang.sql.views import create_view
from whence.model.catalog import Catalog
from whence.model.span import Source, Span
from whence.model.statements import Drop, Statement


def parse_sql(text: str, catalog: Catalog, name: str = "<sql>") -> tuple[Statement, ...]:
    """All statements of the text, each resolved against the catalog as the ones before it leave it."""
    source = Source(name, text)
    known = Known(catalog)
    found: list[Statement] = []
    for tree, span in statements(source):
        with room_to_descend(span):
            statement = _statement(tree, known, source, span)
        known.apply(statement)
        found.append(statement)
    return tuple(found)


def _statement(tree: exp.Expr, known: Known, source: Source, span: Span) -> Statement:
    match tree:
        case exp.Create(kind="TABLE"):
            return create_table(tree, source, span)
        case exp.Create(kind="VIEW"):
            return create_view(tree, known, source, span)
        case exp.Drop(kind="TABLE" | "VIEW"):
            return _drop(tree, source, span)
        case exp.Insert():
            return insert(tree, known, source, span)
        case exp.Delete():
            return delete(tree, known, source, span)
        case exp.Query():
            raise UnsupportedError(
                "a query on its own is not a statement here",
                span=first_word(span),
                hint=Hint("use {}, or CREATE VIEW ... AS it", (Way("query", "db.query(...)"),)),
            )
    raise UnsupportedError(
        f"whence does not know the statement {first_word(span).text.upper()}",
        span=first_word(span),
        hint="supported: CREATE TABLE, CREATE [MATERIALIZED] VIEW, DROP, INSERT, DELETE",
    )


def _drop(tree: exp.Drop, source: Source, span: Span) -> Drop:
    tables = tree.args["tables"]
    if len(tables) != 1 or tree.args.get("cascade"):
        raise UnsupportedError("DROP takes one name, without CASCADE", span=span)
    name = table_name(tables[0], source)
    return Drop(tree.args["kind"], name, bool(tree.args.get("exists")), span=span_of(tables[0], source))
