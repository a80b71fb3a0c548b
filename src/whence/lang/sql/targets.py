"""What a statement changes: a table that is there and no view, and columns that it has."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from whence.errors import DataError, UnknownNameError, UnsupportedError, did_you_mean
from whence.lang.sql.grammar import DIALECT
from whence.lang.sql.known import KnownRelations
from whence.lang.sql.positions import span_of
from whence.model.schema import Column, Relation, defaults
from whence.model.span import SourceText, Span


def target_table(node: exp.Expr, known: KnownRelations, source: SourceText) -> Relation:
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


def target_column(name: str, relation: Relation, span: Span | None) -> Column:
    for column in relation.columns:
        if column.name.lower() == name.lower():
            return column
    raise UnknownNameError(
        f"table {relation.name!r} has no column {name!r}", span=span, hint=did_you_mean(name, relation.column_names)
    )


def check_left_out(relation: Relation, chosen: Sequence[Column], span: Span | None) -> None:
    for column in relation.columns:
        if column not in chosen and not column.nullable and column.name not in defaults(relation):
            raise DataError(
                f"column {column.name!r} of {relation.name!r} cannot be left out: it is NOT NULL", span=span
            )


def is_default(cell: exp.Expr) -> bool:
    """Whether it is the word DEFAULT."""
    is_name = isinstance(cell, exp.Column) and not cell.table and not cell.this.args.get("quoted")
    return (is_name or isinstance(cell, exp.Var)) and cell.name.upper() == "DEFAULT"


def default_node(relation: Relation, column: Column) -> exp.Expr:
    """What a column has that is left out: its DEFAULT, or NULL."""
    constant = column.type.sql_constant(defaults(relation).get(column.name))
    return exp.cast(exp.maybe_parse(constant, dialect=DIALECT), exp.DataType.build(str(column.type), DIALECT))
