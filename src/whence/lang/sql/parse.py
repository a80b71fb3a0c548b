"""SQL text to statements of the model: which kind each of them is, and DROP; the others have files of their own."""

from __future__ import annotations

from sqlglot import exp

from whence.errors import Hint, NextStep, UnsupportedError
from whence.lang.sql.aggregates import expand_aggregates
from whence.lang.sql.alter import alter_table
from whence.lang.sql.copy import copy
from whence.lang.sql.dialect import first_word, room_to_descend, statements, unknown_statement
from whence.lang.sql.insert import insert
from whence.lang.sql.known import KnownRelations
from whence.lang.sql.merge import merge
from whence.lang.sql.parameters import Binding
from whence.lang.sql.positions import span_of
from whence.lang.sql.refuse import refuse_unread
from whence.lang.sql.schemas import join_names, refuse_files, schema_statement
from whence.lang.sql.table_as_query import create_table_as
from whence.lang.sql.table_parts import with_parts
from whence.lang.sql.tables import create_table, table_name
from whence.lang.sql.update import delete, truncate, update
from whence.lang.sql.views import create_view
from whence.lang.sql.windows_over_sets import separate_windows
from whence.model.program import Catalog, CreateView, Drop, Statement
from whence.model.span import SourceText, Span

SCHEMA_KINDS = ("SCHEMA", "DATABASE")


def parse_sql(text: str, catalog: Catalog, name: str = "<sql>", parameters: object = None) -> tuple[Statement, ...]:
    """All statements of the text, each resolved against the catalog as the ones before it leave it.

    `parameters` are the values for ? and :name.
    """
    source = SourceText(name, text)
    known = KnownRelations(catalog)
    found: list[Statement] = []
    binding = Binding(parameters)
    for tree, span in statements(source):
        with room_to_descend(span):
            binding.put_into(tree, source)
            if not (isinstance(tree, exp.Create | exp.Drop) and tree.args["kind"] in SCHEMA_KINDS):
                refuse_files(tree, source)
                join_names(tree, source)
                refuse_unread(tree, source)
            statement = _statement(separate_windows(expand_aggregates(tree, source)), known, source, span)
        known.apply(statement)
        found.append(statement)
    binding.check_used()
    return tuple(found)


def view_at(source: SourceText, place: int, catalog: Catalog) -> CreateView | None:
    """The CREATE VIEW statement around a place of a text, read again over other relations.

    None where there is none, or one that was given parameters.
    """
    for tree, span in statements(source):
        if span.start <= place < span.end and isinstance(tree, exp.Create) and tree.args.get("kind") == "VIEW":
            if tree.find(exp.Placeholder, exp.Parameter) is not None:
                return None
            with room_to_descend(span):
                join_names(tree, source)
                return create_view(tree, KnownRelations(catalog), source, span)
    return None


def _statement(tree: exp.Expr, known: KnownRelations, source: SourceText, span: Span) -> Statement:
    match tree:
        case exp.Create(kind="TABLE", expression=exp.Query()):
            return create_table_as(tree, known, source, span)
        case exp.Create(kind="TABLE"):
            return with_parts(create_table(tree, source, span), tree, known, source)
        case exp.Create(kind="VIEW"):
            return create_view(tree, known, source, span)
        case exp.Create() | exp.Drop() if tree.args["kind"] in SCHEMA_KINDS:
            return schema_statement(tree, span)
        case exp.Alter(kind="TABLE"):
            return alter_table(tree, known, source, span)
        case exp.Drop(kind="TABLE" | "VIEW"):
            return _drop(tree, source, span)
        case exp.Copy():
            return copy(tree, known, source, span)
        case exp.Insert():
            return insert(tree, known, source, span)
        case exp.Delete():
            return delete(tree, known, source, span)
        case exp.Merge():
            return merge(tree, known, source, span)
        case exp.TruncateTable():
            return truncate(tree, known, source, span)
        case exp.Update():
            return update(tree, known, source, span)
        case exp.Query():
            raise UnsupportedError(
                "a query on its own is not a statement here",
                span=first_word(span),
                hint=Hint("use {}, or CREATE VIEW ... AS it", (NextStep("query", "db.query(...)"),)),
            )
    raise unknown_statement(span)


def _drop(tree: exp.Drop, source: SourceText, span: Span) -> Drop:
    tables = tree.args["tables"]
    if len(tables) != 1 or tree.args.get("cascade"):
        raise UnsupportedError("DROP takes one name, without CASCADE", span=span)
    name = table_name(tables[0], source)
    return Drop(tree.args["kind"], name, bool(tree.args.get("exists")), span=span_of(tables[0], source))
