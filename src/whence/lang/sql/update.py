"""UPDATE, DELETE and TRUNCATE: which rows of a table they are about is the answer to a query over it."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from whence.errors import ParseError, UnsupportedError
from whence.lang.sql.assignments import as_stored, assigned, change_columns, name_of, own_column, place_of_all
from whence.lang.sql.known import KnownRelations
from whence.lang.sql.positions import span_of
from whence.lang.sql.targets import target_table
from whence.lang.sql.views import lower_query, start
from whence.model.program import ChangeRows, DeleteWhere, Program, RowAction
from whence.model.schema import Column, Relation
from whence.model.span import SourceText, Span


def delete(node: exp.Delete, known: KnownRelations, source: SourceText, span: Span) -> DeleteWhere:
    relation = target_table(node.this, known, source)
    if node.this.args.get("joins"):
        raise UnsupportedError(
            "DELETE names one table", span=span_of(node.this, source), hint="write WHERE ... IN (SELECT ... FROM ...)"
        )
    return _deletion(relation, node.this, node.args.get("where"), known, source, span)


def truncate(node: exp.TruncateTable, known: KnownRelations, source: SourceText, span: Span) -> DeleteWhere:
    table = node.expressions[0]
    if len(node.expressions) != 1:
        raise UnsupportedError("TRUNCATE names one table", span=span_of(node.expressions[1], source))
    if node.args.get("partition"):
        raise UnsupportedError(
            "TRUNCATE takes all rows",
            span=span_of(node.args["partition"], source),
            hint="use DELETE FROM ... WHERE ...",
        )
    relation = target_table(table, known, source)
    if table.args.get("alias") is not None:
        raise UnsupportedError("an alias of what is emptied has no use", span=span_of(table, source))
    return _deletion(relation, table, None, known, source, span)


def _deletion(
    relation: Relation, table: exp.Expr, where: exp.Expr | None, known: KnownRelations, source: SourceText, span: Span
) -> DeleteWhere:
    rows = exp.Select(expressions=[exp.Star()], from_=exp.From(this=table), where=where, distinct=exp.Distinct())
    return DeleteWhere(relation.name, lower_query("delete", rows, known, source), span=span)


def update(node: exp.Update, known: KnownRelations, source: SourceText, span: Span) -> ChangeRows:
    relation = target_table(node.this, known, source)
    if node.this.args.get("joins"):
        raise UnsupportedError(
            "UPDATE names one table", span=span_of(node.this, source), hint="use MERGE INTO, or a subquery in WHERE"
        )
    if not node.expressions:
        raise ParseError("UPDATE needs SET", span=span_of(node.this, source), hint="write UPDATE name SET column = 1")
    name = name_of(node.this)
    values = assigned(node.expressions, relation, name, source)

    def lowered(values: Mapping[Column, exp.Expr]) -> Program:
        old = [own_column(column, name) for column in relation.columns]
        new = [values.get(column, kept) for column, kept in zip(relation.columns, old, strict=True)]
        rows = exp.Select(
            expressions=change_columns(0, old, new, relation),
            from_=exp.From(this=node.this.copy()),
            joins=_sources(node),
            where=node.args.get("where"),
        )
        return lower_query("update", rows, known, source)

    query = lowered(values)
    stored = as_stored(start("update", known, source), query, values, relation)
    actions = (RowAction("update", span=place_of_all(node.expressions, source)),)
    return ChangeRows(relation.name, query if stored == values else lowered(stored), actions, span=span)


def _sources(node: exp.Update) -> list[exp.Expr]:
    """What UPDATE ... FROM reads beside the table: WHERE tells which of its rows change which row."""
    start_ = node.args.get("from_")
    if start_ is None:
        return []
    first = start_.this.copy()
    joins = first.args.get("joins") or []
    first.set("joins", None)
    return [exp.Join(this=first, kind="CROSS"), *(join.copy() for join in joins)]
