"""A failing SQL program made small: views, rows and parts of queries go as long as it fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import sqlglot
from sqlglot import exp

from tests.random.sql_programs import SqlProgram
from tests.random.tables import Table

Fails = Callable[[SqlProgram], bool]
Part = TypeVar("Part")


def shrink(program: SqlProgram, fails: Fails, attempts: int = 3000) -> SqlProgram:
    """The smallest program found that still fails."""
    improved = True
    while improved and attempts > 0:
        improved = False
        for candidate in _smaller(program):
            attempts -= 1
            if attempts <= 0:
                break
            if fails(candidate):
                program, improved = candidate, True
                break
    return program


def _smaller(program: SqlProgram) -> Iterator[SqlProgram]:
    for at in reversed(range(len(program.views))):
        if len(program.views) > 1:
            yield replace(program, views=_without(program.views, at))
    text = " ".join(view.query for view in program.views)
    for at, table in enumerate(program.tables):
        if table.name not in text and len(program.tables) > 1:
            yield replace(program, tables=_without(program.tables, at))
    for at, view in enumerate(program.views):
        for query in _smaller_queries(view.query):
            changed = replace(view, query=query, duckdb=None)
            yield replace(program, views=[*program.views[:at], changed, *program.views[at + 1 :]])
    for at, table in enumerate(program.tables):
        for smaller in _smaller_tables(table):
            yield replace(program, tables=[*program.tables[:at], smaller, *program.tables[at + 1 :]])


def _without(items: Sequence[Part], at: int) -> list[Part]:
    return [*items[:at], *items[at + 1 :]]


def _smaller_tables(table: Table) -> Iterator[Table]:
    size = len(table.rows)
    for part in (size, size // 2, 1):
        for start in range(0, size, part or 1):
            yield replace(table, rows=table.rows[:start] + table.rows[start + part :])
    for at, column in enumerate(table.columns):
        if len(table.columns) > 1 and column.name not in table.key:
            rows = tuple((*row[:at], *row[at + 1 :]) for row in table.rows)
            yield replace(table, columns=(*table.columns[:at], *table.columns[at + 1 :]), rows=rows)


def _smaller_queries(text: str) -> Iterator[str]:
    """Texts with one thing less, large things first."""
    tree = sqlglot.parse_one(text, read="spark")
    nodes = list(tree.walk())
    for at, node in enumerate(nodes):
        for change in _changes(node):
            copy = tree.copy()
            changed = change(list(copy.walk())[at], copy)
            if changed is not None:
                yield changed.sql("spark")


_Change = Callable[[exp.Expr, exp.Expr], exp.Expr | None]


def _changes(node: exp.Expr) -> Iterator[_Change]:
    for name in ("where", "having", "group", "with_", "distinct"):
        if isinstance(node, exp.Query) and node.args.get(name) and not isinstance(node, exp.SetOperation):
            yield _dropping(name)
    if isinstance(node, exp.Select | exp.Values | exp.In | exp.Coalesce | exp.With | exp.Group):
        for at in range(len(node.expressions)):
            if len(node.expressions) > 1:
                yield _dropping_item("expressions", at)
    for at in range(len(node.args.get("joins") or ())):
        yield _dropping_item("joins", at)
    if isinstance(node, exp.Filter):
        yield _becoming(lambda n: n.this)
    if isinstance(node, exp.SetOperation | exp.Binary | exp.Connector | exp.Func | exp.Unary | exp.Paren):
        for at in range(len(list(node.iter_expressions()))):
            yield _becoming(lambda n, at=at: list(n.iter_expressions())[at])  # type: ignore[misc]
    if isinstance(node, exp.Predicate | exp.Connector | exp.Not):
        yield _becoming(lambda _: exp.true())
    if isinstance(node, exp.Condition) and not isinstance(node, exp.Column | exp.Literal | exp.Boolean | exp.Null):
        yield _becoming(lambda _: exp.Literal.number(1))


def _dropping(name: str) -> _Change:
    def change(node: exp.Expr, root: exp.Expr) -> exp.Expr:
        node.set(name, None)
        return root

    return change


def _dropping_item(name: str, at: int) -> _Change:
    def change(node: exp.Expr, root: exp.Expr) -> exp.Expr:
        items = list(node.args[name])
        del items[at]
        node.set(name, items)
        return root

    return change


def _becoming(part: Callable[[exp.Expr], exp.Expr]) -> _Change:
    def change(node: exp.Expr, root: exp.Expr) -> exp.Expr | None:
        inner = part(node)
        # A query stays one.
        if not isinstance(inner, exp.Query if isinstance(node, exp.Query) else exp.Condition | exp.Query):
            return None
        if node is root:
            return inner
        node.replace(inner)
        return root

    return change
