"""INSERT and DELETE."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from whence.errors import ArityError, DataError, TypeMismatchError, UnknownNameError, UnsupportedError, did_you_mean
from whence.functions.evaluate import compile_term, convert
from whence.functions.typing import fits, infer
from whence.functions.values import check_value
from whence.lang.sql.block import Block
from whence.lang.sql.expressions import translate
from whence.lang.sql.known import Known
from whence.lang.sql.lowering import Lowering
from whence.lang.sql.positions import span_of
from whence.lang.sql.refuse import refuse_extras
from whence.lang.sql.views import lower_query, start
from whence.model.schema import Column, Relation
from whence.model.span import Source, Span
from whence.model.statements import DeleteWhere, InsertQuery, InsertValues
from whence.model.types import Row, Value


def insert(node: exp.Insert, known: Known, source: Source, span: Span) -> InsertValues | InsertQuery:
    lowering = start("insert", known, source)
    refuse_extras(lowering, node, "this", "expression", "columns")
    target = node.this.this if isinstance(node.this, exp.Schema) else node.this
    relation = _target(target, known, source)
    names = node.this.expressions if isinstance(node.this, exp.Schema) else []
    chosen = [_column(n.name, relation, span_of(n, source)) for n in names] or list(relation.columns)
    _check_left_out(relation, chosen, span_of(target, source))
    if isinstance(node.expression, exp.Values):
        rows = [_row(lowering, row, relation, chosen) for row in node.expression.expressions]
        return InsertValues(relation.name, tuple(rows), span=span)
    _check_query(node.expression, relation, chosen, known, source)
    query = _all_columns(node.expression, relation, chosen) if names else node.expression
    return InsertQuery(relation.name, lower_query("insert", query, known, source), span=span)


def delete(node: exp.Delete, known: Known, source: Source, span: Span) -> DeleteWhere:
    lowering = start("delete", known, source)
    refuse_extras(lowering, node, "this", "where")
    relation = _target(node.this, known, source)
    rows = exp.Select(
        expressions=[exp.Star()],
        from_=exp.From(this=node.this.copy()),
        where=node.args.get("where"),
        distinct=exp.Distinct(),
    )
    return DeleteWhere(relation.name, lower_query("delete", rows, known, source), span=span)


def _target(node: exp.Expr, known: Known, source: Source) -> Relation:
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


def _check_query(query: exp.Expr, relation: Relation, chosen: Sequence[Column], known: Known, source: Source) -> None:
    found = lower_query("insert", query, known, source).relations[-1]
    span = span_of(query, source)
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
        else exp.alias_(exp.Cast(this=exp.Null(), to=exp.DataType.build(str(c.type), "spark")), c.name, quoted=True)
        for c in relation.columns
    ]
    return exp.Select(expressions=cells, from_=exp.From(this=exp.Subquery(this=query.copy(), alias=alias)))
