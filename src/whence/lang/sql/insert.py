"""INSERT: rows of constants, or the rows of a query."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from whence.errors import ArityError, DataError, DuplicateNameError, TypeMismatchError, UnsupportedError
from whence.functions.types import fits
from whence.lang.sql.constants import constant_value
from whence.lang.sql.known import KnownRelations
from whence.lang.sql.lowering import Lowering
from whence.lang.sql.positions import span_of
from whence.lang.sql.targets import check_left_out, default_node, is_default, target_column, target_table
from whence.lang.sql.views import lower_query, start
from whence.model.program import InsertQuery, InsertValues
from whence.model.schema import Column, Relation, defaults
from whence.model.span import SourceText, Span
from whence.model.types import Row


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
    relation = target_table(target, known, source)
    names = node.this.expressions if isinstance(node.this, exp.Schema) else []
    for name in names:
        if not isinstance(name, exp.Identifier):
            raise UnsupportedError("a column goes by its name alone here", span=span_of(name, source))
    chosen = [target_column(n.name, relation, span_of(n, source)) for n in names] or list(relation.columns)
    for at, name in enumerate(names):
        if chosen[at] in chosen[:at]:
            raise DuplicateNameError(f"column {name.name!r} comes twice", span=span_of(name, source))
    check_left_out(relation, chosen, span_of(target, source))
    overwrite = bool(node.args.get("overwrite"))
    if isinstance(node.expression, exp.Values):
        rows = [_row(lowering, row, relation, chosen) for row in node.expression.expressions]
        return InsertValues(relation.name, tuple(rows), overwrite, span=span)
    query = lower_query("insert", node.expression, known, source)
    _check_columns(query.relations[-1], relation, chosen, span_of(node.expression, source))
    if names:
        query = lower_query("insert", _all_columns(node.expression, relation, chosen), known, source)
    return InsertQuery(relation.name, query, overwrite, span=span)


def _row(lowering: Lowering, node: exp.Expr, relation: Relation, chosen: Sequence[Column]) -> Row:
    cells = node.expressions if isinstance(node, exp.Tuple) else [node]
    if len(cells) != len(chosen):
        raise ArityError(
            f"{relation.name!r} takes {len(chosen)} values, and this row has {len(cells)}", span=lowering.span(node)
        )
    place = lowering.span(node)
    values = {
        c.name: constant_value(lowering, cell, c, lowering.span(cell) or place)
        for c, cell in zip(chosen, cells, strict=True)
        if not is_default(cell)
    }
    for column in relation.columns:
        if column.name not in values and not column.nullable and column.name not in defaults(relation):
            raise DataError(f"column {column.name!r} of {relation.name!r} has no DEFAULT, and is NOT NULL", span=place)
    left_out = defaults(relation)
    return tuple(values[c.name] if c.name in values else left_out.get(c.name) for c in relation.columns)


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
    """The query's columns in the order of the table's, with their DEFAULT, or NULL, for those that are left out."""
    names = [exp.to_identifier(c.name, quoted=True) for c in chosen]
    alias = exp.TableAlias(this=exp.to_identifier("rows"), columns=names)
    cells = [
        exp.column(exp.to_identifier(c.name, quoted=True))
        if c in chosen
        else exp.alias_(default_node(relation, c), c.name, quoted=True)
        for c in relation.columns
    ]
    return exp.Select(expressions=cells, from_=exp.From(this=exp.Subquery(this=query.copy(), alias=alias)))
