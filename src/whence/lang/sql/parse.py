"""SQL text to statements of the model: INSERT, DELETE and DROP here, tables and views in files of their own."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from whence.errors import (
    ArityError,
    DataError,
    DuplicateNameError,
    Hint,
    NextStep,
    TypeMismatchError,
    UnknownNameError,
    UnsupportedError,
    did_you_mean,
)
from whence.functions.evaluate import compile_term, convert
from whence.functions.types import fits, infer
from whence.lang.sql.block import Block
from whence.lang.sql.dialect import first_word, room_to_descend, statements, unknown_statement
from whence.lang.sql.expressions import translate
from whence.lang.sql.grammar import DIALECT
from whence.lang.sql.known import KnownRelations
from whence.lang.sql.lowering import Lowering
from whence.lang.sql.positions import span_of
from whence.lang.sql.refuse import refuse_unread
from whence.lang.sql.tables import create_table, table_name
from whence.lang.sql.views import create_view, lower_query, start
from whence.model.program import Catalog, DeleteWhere, Drop, InsertQuery, InsertValues, Statement
from whence.model.schema import Column, Relation, check_value
from whence.model.span import SourceText, Span
from whence.model.types import Row, Value


def parse_sql(text: str, catalog: Catalog, name: str = "<sql>") -> tuple[Statement, ...]:
    """All statements of the text, each resolved against the catalog as the ones before it leave it."""
    source = SourceText(name, text)
    known = KnownRelations(catalog)
    found: list[Statement] = []
    for tree, span in statements(source):
        with room_to_descend(span):
            refuse_unread(tree, source)
            statement = _statement(tree, known, source, span)
        known.apply(statement)
        found.append(statement)
    return tuple(found)


def _statement(tree: exp.Expr, known: KnownRelations, source: SourceText, span: Span) -> Statement:
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
                hint=Hint("use {}, or CREATE VIEW ... AS it", (NextStep("query", "db.query(...)"),)),
            )
    raise unknown_statement(span)


def _drop(tree: exp.Drop, source: SourceText, span: Span) -> Drop:
    tables = tree.args["tables"]
    if len(tables) != 1 or tree.args.get("cascade"):
        raise UnsupportedError("DROP takes one name, without CASCADE", span=span)
    name = table_name(tables[0], source)
    return Drop(tree.args["kind"], name, bool(tree.args.get("exists")), span=span_of(tables[0], source))


def insert(node: exp.Insert, known: KnownRelations, source: SourceText, span: Span) -> InsertValues | InsertQuery:
    lowering = start("insert", known, source)
    target = node.this.this if isinstance(node.this, exp.Schema) else node.this
    if isinstance(target, exp.Table) and target.args.get("alias") is not None:
        raise UnsupportedError("an alias of what is inserted into has no use", span=span_of(target, source))
    if isinstance(node.this, exp.Schema) and not node.this.expressions:
        raise UnsupportedError("the list of columns is empty", span=span_of(target, source), hint="leave it out")
    if node.expression is None:
        raise UnsupportedError(
            "INSERT needs rows", span=span_of(target, source), hint="write INSERT INTO name VALUES (...), or SELECT ..."
        )
    relation = _target(target, known, source)
    names = node.this.expressions if isinstance(node.this, exp.Schema) else []
    for name in names:
        if not isinstance(name, exp.Identifier):
            raise UnsupportedError("a column goes by its name alone here", span=span_of(name, source))
    chosen = [_column(n.name, relation, span_of(n, source)) for n in names] or list(relation.columns)
    for at, name in enumerate(names):
        if chosen[at] in chosen[:at]:
            raise DuplicateNameError(f"column {name.name!r} comes twice", span=span_of(name, source))
    _check_left_out(relation, chosen, span_of(target, source))
    if isinstance(node.expression, exp.Values):
        rows = [_row(lowering, row, relation, chosen) for row in node.expression.expressions]
        return InsertValues(relation.name, tuple(rows), span=span)
    query = lower_query("insert", node.expression, known, source)
    _check_columns(query.relations[-1], relation, chosen, span_of(node.expression, source))
    if names:
        query = lower_query("insert", _all_columns(node.expression, relation, chosen), known, source)
    return InsertQuery(relation.name, query, span=span)


def delete(node: exp.Delete, known: KnownRelations, source: SourceText, span: Span) -> DeleteWhere:
    relation = _target(node.this, known, source)
    if node.this.args.get("joins"):
        raise UnsupportedError(
            "DELETE names one table", span=span_of(node.this, source), hint="write WHERE ... IN (SELECT ... FROM ...)"
        )
    rows = exp.Select(
        expressions=[exp.Star()],
        from_=exp.From(this=node.this),
        where=node.args.get("where"),
        distinct=exp.Distinct(),
    )
    return DeleteWhere(relation.name, lower_query("delete", rows, known, source), span=span)


def _target(node: exp.Expr, known: KnownRelations, source: SourceText) -> Relation:
    span = span_of(node, source)
    if not isinstance(node, exp.Table):
        raise UnsupportedError("only a table can be changed", span=span)
    relation = known.find(node.name)
    if relation is None:
        raise UnknownNameError(f"unknown table {node.name!r}", span=span, hint=did_you_mean(node.name, known.names()))
    if known.is_view(relation):
        raise UnsupportedError(
            f"{relation.name!r} is a view: it follows from its tables and cannot be changed itself", span=span
        )
    return relation


def _column(name: str, relation: Relation, span: Span | None) -> Column:
    for column in relation.columns:
        if column.name.lower() == name.lower():
            return column
    raise UnknownNameError(
        f"table {relation.name!r} has no column {name!r}", span=span, hint=did_you_mean(name, relation.column_names)
    )


def _check_left_out(relation: Relation, chosen: Sequence[Column], span: Span | None) -> None:
    for column in relation.columns:
        if column not in chosen and not column.nullable:
            raise DataError(
                f"column {column.name!r} of {relation.name!r} cannot be left out: it is NOT NULL", span=span
            )


def _row(lowering: Lowering, node: exp.Expr, relation: Relation, chosen: Sequence[Column]) -> Row:
    cells = node.expressions if isinstance(node, exp.Tuple) else [node]
    if len(cells) != len(chosen):
        raise ArityError(
            f"{relation.name!r} takes {len(chosen)} values, and this row has {len(cells)}", span=lowering.span(node)
        )
    place = lowering.span(node)
    values = {
        c.name: _value(lowering, cell, c, lowering.span(cell) or place) for c, cell in zip(chosen, cells, strict=True)
    }
    return tuple(values.get(c.name) for c in relation.columns)


def _value(lowering: Lowering, node: exp.Expr, column: Column, span: Span | None) -> Value:
    if node.find(exp.Query, exp.Column) is not None:
        raise UnsupportedError("VALUES takes constants", span=span, hint="use INSERT INTO ... SELECT ...")
    term = translate(lowering, Block.top({}), node)
    typed = infer(term, {}, lowering.signatures)
    value = compile_term(term, {}, lowering.signatures, {})({})
    if value is not None and typed.type != column.type:
        # An integer that is too large is refused below, by its value.
        if not fits(typed.type, column.type) and not isinstance(value, int):
            raise TypeMismatchError(
                f"column {column.name!r} is {column.type}, and this value is {typed.type}", span=span, hint="CAST it"
            )
        if fits(typed.type, column.type):
            value = convert(value, typed.type, column.type, span)
    try:
        return check_value(value, column)
    except DataError as error:
        raise DataError(error.message, span=span, hint=error.hint) from None


def _check_columns(found: Relation, relation: Relation, chosen: Sequence[Column], span: Span | None) -> None:
    if found.arity != len(chosen):
        raise ArityError(f"{relation.name!r} takes {len(chosen)} columns, and the query has {found.arity}", span=span)
    for have, want in zip(found.columns, chosen, strict=True):
        if not fits(have.type, want.type):
            raise TypeMismatchError(
                f"column {want.name!r} is {want.type}, and the query gives {have.type}",
                span=have.span or span,
                hint="CAST it",
            )


def _all_columns(query: exp.Expr, relation: Relation, chosen: Sequence[Column]) -> exp.Select:
    """The query's columns in the order of the table's, with NULL for those that are left out."""
    names = [exp.to_identifier(c.name, quoted=True) for c in chosen]
    alias = exp.TableAlias(this=exp.to_identifier("rows"), columns=names)
    cells = [
        exp.column(exp.to_identifier(c.name, quoted=True))
        if c in chosen
        else exp.alias_(exp.Cast(this=exp.Null(), to=exp.DataType.build(str(c.type), DIALECT)), c.name, quoted=True)
        for c in relation.columns
    ]
    return exp.Select(expressions=cells, from_=exp.From(this=exp.Subquery(this=query.copy(), alias=alias)))
