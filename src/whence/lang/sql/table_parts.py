"""What CREATE TABLE says of columns and rows beside types and keys: defaults, comments, lengths and constraints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from whence.errors import TypeMismatchError
from whence.lang.sql.constants import constant_value
from whence.lang.sql.constraints import Constraint, constraint_of, constraint_program, length_limit
from whence.lang.sql.known import KnownRelations
from whence.lang.sql.positions import span_of
from whence.lang.sql.views import start
from whence.model.program import CreateTable
from whence.model.schema import COMMENT, Column, comment_property, default_property
from whence.model.span import SourceText


def with_parts(statement: CreateTable, node: exp.Create, known: KnownRelations, source: SourceText) -> CreateTable:
    """The statement with all that its text says."""
    relation = statement.relation
    properties = dict(relation.properties)
    constraints: list[Constraint] = []
    columns = {column.name: column for column in relation.columns}
    for part in node.this.expressions:
        if isinstance(part, exp.ColumnDef):
            properties.update(_said(part, columns[part.name], known, source))
            constraints += _constraints(part, source)
        elif (found := constraint_of(part)) is not None:
            constraints.append(found)
    for said in node.args["properties"].expressions if node.args.get("properties") else ():
        if isinstance(said, exp.SchemaCommentProperty):
            properties[COMMENT] = said.this.name
    relation = replace(relation, properties=tuple(sorted(properties.items())))
    program = constraint_program(relation, constraints, known, source)
    return replace(statement, relation=relation, constraints=program)


def _said(node: exp.ColumnDef, column: Column, known: KnownRelations, source: SourceText) -> Iterator[tuple[str, str]]:
    for part in node.args.get("constraints") or ():
        match getattr(part, "kind", part):
            case exp.CommentColumnConstraint(this=text):
                yield comment_property(column, text.name)
            case exp.DefaultColumnConstraint(this=given):
                lowering = start(column.name, known, source)
                place = span_of(given, source) or column.span
                yield default_property(column, constant_value(lowering, given, column, place))


def _constraints(node: exp.ColumnDef, source: SourceText) -> Iterator[Constraint]:
    kind = node.args["kind"]
    if kind.this is exp.DataType.Type.VARCHAR and kind.expressions:
        length = kind.expressions[0].this
        if not isinstance(length, exp.Literal) or not length.is_int or int(length.name) < 1:
            raise TypeMismatchError(
                "VARCHAR takes a number of characters", span=span_of(node.this, source), hint="write VARCHAR(20)"
            )
        yield length_limit(node, int(length.name))
    for part in node.args.get("constraints") or ():
        name = part.args.get("this") if isinstance(part, exp.ColumnConstraint) else None
        found = constraint_of(getattr(part, "kind", part), [node.this], name.name if name is not None else None)
        if found is not None:
            yield found
