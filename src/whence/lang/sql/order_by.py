"""ORDER BY in a view: it has no effect, but a mistake in it is one that Spark would tell."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from whence.errors import UnknownNameError, UnsupportedError
from whence.functions.comparison import check_comparable
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
        meant = written_out(node, items)
        # Windows are checked where they are computed.
        if meant.find(exp.Window) is None:
            _check(lowering, block, meant)
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
        meant = written_out(node, items)
        if meant.find(exp.Window) is not None:
            continue
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
        elif isinstance(key, exp.Neg) and isinstance(key.this, exp.Literal) and key.this.is_int:
            raise UnknownNameError(f"there is no column number -{key.this.name}", span=lowering.span(key))
        elif isinstance(key, exp.Var) and key.name.upper() == "ALL":
            continue
        elif key.find(exp.Query) is not None:
            raise UnsupportedError("a subquery in ORDER BY is not supported", span=lowering.span(key))
        else:
            keys.append(key)
    return keys


def written_out(node: exp.Expr, items: Sequence[exp.Expr]) -> exp.Expr:
    """With what an alias of the select list stands for in its place."""
    aliases = {item.alias.lower(): item.unalias() for item in items if isinstance(item, exp.Alias)}

    def meant(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Column) and not part.table and part.name.lower() in aliases:
            return aliases[part.name.lower()].copy()
        return part

    return node.copy().transform(meant, copy=False)


def with_aliases(node: exp.Expr, items: Sequence[exp.Expr], block: Block) -> exp.Expr:
    """With what aliases of the select list stand for, where no column is called so."""
    here = {entry.column.lower() for entry in block.scope}
    used = {column.name.lower() for column in node.find_all(exp.Column) if not column.table}
    aliased = [item for item in items if isinstance(item, exp.Alias) and item.alias.lower() in used - here]
    return written_out(node, aliased) if aliased else node


def in_having(node: exp.Expr, items: Sequence[exp.Expr], grouped: set[str]) -> exp.Expr:
    """With what aliases stand for: outside of aggregates HAVING looks at the columns that are grouped by, and then at
    aliases.
    """
    aliases = {
        i.alias.lower(): i.unalias() for i in items if isinstance(i, exp.Alias) and i.alias.lower() not in grouped
    }

    def meant(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Query) or aggregate_calls(part) == [part]:
            return part
        if isinstance(part, exp.Column):
            found = aliases.get(part.name.lower()) if not part.table else None
            return part if found is None else found.copy()
        for name, value in list(part.args.items()):
            if isinstance(value, exp.Expr):
                part.set(name, meant(value))
            elif isinstance(value, list):
                part.set(name, [meant(each) if isinstance(each, exp.Expr) else each for each in value])
        return part

    return meant(node.copy()) if aliases else node


def _check(lowering: Lowering, block: Block, node: exp.Expr) -> None:
    # Names from around the query become columns of what it turns into, and these shall not.
    around: Block | None = block
    before = []
    while around is not None:
        before.append((around, dict(around.free)))
        around = around.outer
    check_comparable(lowering.typed(translate(lowering, block, node), block).type, "ordered by", lowering.span(node))
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
