"""SET: the row that an UPDATE, or a WHEN of a MERGE, makes of an old one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from whence.errors import DuplicateNameError, TypeMismatchError, UnknownNameError, UnsupportedError
from whence.functions.types import fits
from whence.functions.widening import is_integer
from whence.lang.sql.constants import constant_value, is_constant
from whence.lang.sql.grammar import DIALECT
from whence.lang.sql.groups import aggregate_calls
from whence.lang.sql.lowering import Lowering
from whence.lang.sql.positions import span_of
from whence.lang.sql.targets import default_node, is_default, target_column
from whence.model.program import Program
from whence.model.schema import Column, Relation
from whence.model.span import SourceText, Span


def name_of(table: exp.Expr) -> str:
    """What a table goes by in the statement."""
    return str(table.alias_or_name)


def own_column(column: Column, name: str) -> exp.Column:
    """A column of the table that goes by this name."""
    return exp.column(exp.to_identifier(column.name, quoted=True), exp.to_identifier(name, quoted=True))


def assigned(items: Sequence[exp.Expr], relation: Relation, name: str, source: SourceText) -> Mapping[Column, exp.Expr]:
    """The expression for each column that is set. `name` is what the table goes by."""
    found: dict[Column, exp.Expr] = {}
    for item in items:
        if not isinstance(item, exp.EQ) or not isinstance(item.this, exp.Column):
            raise UnsupportedError(
                "SET takes a column and its value", span=span_of(item, source), hint="write SET a = 1, b = a + 2"
            )
        place = span_of(item.this, source)
        column = changed_column(item.this, relation, name, source)
        if column in found:
            raise DuplicateNameError(
                f"column {column.name!r} is set twice", span=place, hint="leave one of the two out"
            )
        check_no_aggregate(item.expression, source)
        found[column] = default_node(relation, column) if is_default(item.expression) else item.expression
    return found


def changed_column(node: exp.Expr, relation: Relation, name: str, source: SourceText) -> Column:
    """A column that gets a value. The table before it, if there is one, has to be the one that is changed."""
    place = span_of(node, source)
    if not isinstance(node, exp.Column) or node.args.get("db") is not None:
        raise UnsupportedError("a column goes by its name here, or by table and name", span=place)
    if node.table and node.table.lower() != name.lower():
        raise UnknownNameError(
            f"{node.table}.{node.name} is no column of {relation.name!r}, which is changed here",
            span=place,
            hint=f"write {node.name}, or {name}.{node.name}",
        )
    return target_column(node.name, relation, place)


def place_of_all(items: Sequence[exp.Expr], source: SourceText) -> Span | None:
    """From the first of some nodes to the last."""
    places = [place for item in items if (place := span_of(item, source)) is not None]
    return replace(places[0], end=places[-1].end) if places else None


def check_no_aggregate(value: exp.Expr, source: SourceText) -> None:
    for call in aggregate_calls(value):
        raise UnsupportedError(
            "an aggregate has no rows to add up here",
            span=span_of(call, source),
            hint="write it as a query of its own: (SELECT max(...) FROM ...)",
        )


def change_columns(
    action: int, old: Sequence[exp.Expr | None], new: Sequence[exp.Expr | None], relation: Relation
) -> list[exp.Expr]:
    """The SELECT list for one action on rows: its number, the row that leaves and the row that comes.

    Where there is none of these, NULL stands for each of its columns.
    """
    cells: list[exp.Expr] = [_named(exp.Literal.number(action), "action")]
    for side, values in (("old", old), ("new", new)):
        for column, value in zip(relation.columns, values, strict=True):
            cell = _typed(exp.Null(), column) if value is None else value.copy()
            cells.append(_named(cell, f"{side} {column.name}"))
    return cells


def _named(value: exp.Expr, name: str) -> exp.Alias:
    return exp.Alias(this=value, alias=exp.to_identifier(name, quoted=True))


def as_stored(
    lowering: Lowering, found: Program, values: Mapping[Column, exp.Expr], relation: Relation
) -> Mapping[Column, exp.Expr]:
    """The values as their columns hold them, after a look at the types that `found` has for them: widened, never cut.

    `found` is the program of a query whose last columns are the new row. A constant is taken as INSERT takes it.
    """
    types = [column.type for column in found.relations[-1].columns[-relation.arity :]]
    stored = {}
    for column, given in zip(relation.columns, types, strict=True):
        if column not in values:
            continue
        place = lowering.span(values[column])
        if not fits(given, column.type) and is_integer(given) and is_constant(values[column]):
            constant_value(lowering, values[column], column, place)
        elif not fits(given, column.type):
            raise TypeMismatchError(
                f"column {column.name!r} is {column.type}, and this value is {given}",
                span=place,
                hint="CAST it",
            )
        stored[column] = values[column] if given == column.type else _typed(values[column], column)
    return stored


def _typed(value: exp.Expr, column: Column) -> exp.Cast:
    return exp.Cast(this=value.copy(), to=exp.DataType.build(str(column.type), DIALECT))
