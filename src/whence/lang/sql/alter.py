"""ALTER TABLE: columns that come, go, or are called otherwise."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from whence.errors import DataError, DuplicateNameError, UnknownNameError, UnsupportedError, did_you_mean
from whence.lang.sql.constants import constant_value
from whence.lang.sql.grammar import DIALECT
from whence.lang.sql.known import KnownRelations
from whence.lang.sql.positions import span_of
from whence.lang.sql.tables import column_of, table_name
from whence.lang.sql.views import start
from whence.model.program import AlteredColumn, AlterTable
from whence.model.schema import Relation
from whence.model.span import SourceText, Span
from whence.model.types import Value


def alter_table(node: exp.Alter, known: KnownRelations, source: SourceText, span: Span) -> AlterTable:
    """The columns that the table has after all actions."""
    place = span_of(node.this, source)
    relation = known.find(table_name(node.this, source))
    if relation is None:
        raise UnknownNameError(
            f"unknown table {node.this.name!r}", span=place, hint=did_you_mean(node.this.name, known.names())
        )
    if known.is_view(relation):
        raise UnsupportedError(
            f"{relation.name!r} is a view, and has the columns of its query",
            span=place,
            hint="use CREATE OR REPLACE VIEW",
        )
    columns = [AlteredColumn(column, at) for at, column in enumerate(relation.columns)]
    for action in _actions(node):
        match action:
            case exp.ColumnDef():
                columns.append(_added(action, relation, columns, known, source))
            case exp.Drop(kind="COLUMN"):
                for target in action.args["tables"]:
                    at = _find(target, columns, relation, source, is_optional=bool(action.args.get("exists")))
                    if at is not None:
                        del columns[at]
            case exp.RenameColumn(this=old, args={"to": new}):
                _rename(old, new, columns, relation, source)
            case _:
                raise UnsupportedError(
                    f"{action.sql(DIALECT) or action.key} is not supported in ALTER TABLE",
                    span=span_of(action, source) or span,
                    hint="ADD COLUMN, DROP COLUMN and RENAME COLUMN are",
                )
    if not columns:
        raise UnsupportedError("a table needs a column", span=span)
    return AlterTable(relation.name, tuple(columns), span=span)


def _actions(node: exp.Alter) -> Iterator[exp.Expr]:
    """One by one what Spark lets stand in a list."""
    for action in node.args["actions"]:
        if isinstance(action, exp.Schema):
            yield from action.expressions
        elif isinstance(action, exp.Drop) and action.args.get("kind") == "COLUMNS":
            names = [each for part in action.args["tables"] for each in part.expressions]
            yield exp.Drop(kind="COLUMN", tables=names, exists=action.args.get("exists"))
        else:
            yield action


def _added(
    node: exp.ColumnDef, relation: Relation, columns: list[AlteredColumn], known: KnownRelations, source: SourceText
) -> AlteredColumn:
    if node.args.get("position") is not None:
        raise UnsupportedError("a new column comes last", span=span_of(node.this, source), hint="leave the place out")
    given: exp.Expr | None = None
    constraints = []
    for part in node.args.get("constraints") or ():
        kind = getattr(part, "kind", part)
        if isinstance(kind, exp.DefaultColumnConstraint):
            given = kind.this
        else:
            constraints.append(part)
    bare = node.copy()
    bare.set("constraints", constraints)
    column, is_key = column_of(bare, source)
    if is_key:
        raise UnsupportedError("a new column cannot be a key", span=span_of(node.this, source))
    if any(each.column.name.lower() == column.name.lower() for each in columns):
        raise DuplicateNameError(f"{relation.name!r} has a column {column.name!r} already", span=column.span)
    value: Value = None
    if given is not None:
        lowering = start(relation.name, known, source)
        value = constant_value(lowering, given, column, span_of(given, source) or column.span)
    if value is None and not column.nullable:
        raise DataError(
            f"column {column.name!r} is NOT NULL, and the rows that are there need a value for it",
            span=column.span,
            hint="give it a DEFAULT",
        )
    return AlteredColumn(column, None, value)


def _rename(old: exp.Expr, new: exp.Expr, columns: list[AlteredColumn], relation: Relation, source: SourceText) -> None:
    at = _find(old, columns, relation, source, is_optional=False)
    assert at is not None
    if any(each.column.name.lower() == new.name.lower() for number, each in enumerate(columns) if number != at):
        raise DuplicateNameError(f"{relation.name!r} has a column {new.name!r} already", span=span_of(new, source))
    before = columns[at]
    column = type(before.column)(new.name, before.column.type, before.column.nullable, span=span_of(new, source))
    columns[at] = AlteredColumn(column, before.source, before.default)


def _find(
    node: exp.Expr, columns: list[AlteredColumn], relation: Relation, source: SourceText, *, is_optional: bool
) -> int | None:
    for at, each in enumerate(columns):
        if each.column.name.lower() == node.name.lower():
            return at
    if is_optional:
        return None
    raise UnknownNameError(
        f"{relation.name!r} has no column {node.name!r}",
        span=span_of(node, source),
        hint=did_you_mean(node.name, [each.column.name for each in columns]),
    )
