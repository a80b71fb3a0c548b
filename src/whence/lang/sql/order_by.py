"""ORDER BY in a view: it has no effect, but a mistake in it is one that Spark would tell."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from whence.errors import UnknownNameError, UnsupportedError
from whence.functions.types import Typed
from whence.lang.sql.block import Block, ColumnEntry
from whence.lang.sql.expressions import translate
from whence.lang.sql.groups import Grouped, aggregate_calls, to_aggregate
from whence.lang.sql.lowering import Lowering, QueryDraft
from whence.model.terms import Term


def check_rows(
    lowering: Lowering, orders: Sequence[exp.Order], block: Block, items: Sequence[exp.Expr], *, distinct: bool
) -> None:
    """A SELECT without groups is ordered by its columns and by those of its tables, unless DISTINCT merges these."""
    for node in _keys(lowering, orders, len(items)):
        _check(lowering, block, _written_out(node, items))
        if distinct and node not in [item.unalias() for item in items]:
            _check_named(lowering, node, items)


def check_groups(
    lowering: Lowering,
    orders: Sequence[exp.Order],
    block: Block,
    items: Sequence[exp.Expr],
    groups: Sequence[Term],
) -> None:
    """A grouped SELECT is ordered by its columns, its groups, and aggregates of any kind."""
    for node in _keys(lowering, orders, len(items)):
        meant = _written_out(node, items)
        after = Grouped(block)
        aggregates = [to_aggregate(lowering, block, call) for call in aggregate_calls(meant)]
        after.learn(
            lowering,
            {block.resolve_term(g): after.fresh("group", lowering.typed(g, block)) for g in groups},
            {a: after.fresh("aggregate", lowering.typed(a, block)) for a in aggregates},
        )
        _check(lowering, after, meant)


def check_outputs(lowering: Lowering, orders: Sequence[exp.Order], draft: QueryDraft) -> None:
    """A UNION and the like are ordered by their columns only."""
    block = draft.block.sibling()
    for output in draft.outputs:
        typed: Typed = lowering.typed(output.term, draft.block)
        block.scope.append(ColumnEntry(None, output.name, block.fresh(output.name, typed)))
    for node in _keys(lowering, orders, len(draft.outputs)):
        _check(lowering, block, node)


def _keys(lowering: Lowering, orders: Sequence[exp.Order], width: int) -> list[exp.Expr]:
    """What is ordered by, without the columns that are given by their number."""
    keys = []
    for key in (ordered.this for order in orders for ordered in order.expressions):
        if isinstance(key, exp.Literal) and key.is_int:
            if not 1 <= int(key.this) <= width:
                raise UnknownNameError(
                    f"there is no column number {key.this} in the select list", span=lowering.span(key)
                )
        elif key.find(exp.Query) is not None:
            raise UnsupportedError("a subquery in ORDER BY is not supported", span=lowering.span(key))
        else:
            keys.append(key)
    return keys


def _written_out(node: exp.Expr, items: Sequence[exp.Expr]) -> exp.Expr:
    """With what an alias of the select list stands for in its place."""
    aliases = {item.alias.lower(): item.unalias() for item in items if isinstance(item, exp.Alias)}

    def meant(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Column) and not part.table and part.name.lower() in aliases:
            return aliases[part.name.lower()].copy()
        return part

    return node.copy().transform(meant, copy=False)


def _check(lowering: Lowering, block: Block, node: exp.Expr) -> None:
    # Names from around the query become columns of what it turns into, and these shall not.
    around: Block | None = block
    before = []
    while around is not None:
        before.append((around, dict(around.free)))
        around = around.outer
    lowering.typed(translate(lowering, block, node), block)
    for each, free in before:
        each.free = free


def _check_named(lowering: Lowering, node: exp.Expr, items: Sequence[exp.Expr]) -> None:
    names = {item.output_name.lower() for item in items}
    if any(item.is_star for item in items):
        return
    for column in node.find_all(exp.Column):
        if column.name.lower() not in names:
            raise UnknownNameError(
                f"column {column.name!r} is not in the SELECT DISTINCT that is ordered by it",
                span=lowering.span(column),
                hint="order by columns of the select list",
            )
