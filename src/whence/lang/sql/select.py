"""A SELECT becomes a draft: FROM and WHERE fill a block, GROUP BY turns it into another, the list gives the columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from whence.errors import UnknownNameError, UnsupportedError
from whence.functions.aggregates import of_nothing
from whence.lang.sql.block import Block, ColumnEntry, rename
from whence.lang.sql.conditions import add_condition
from whence.lang.sql.event_time import add_window, with_slices
from whence.lang.sql.explode import with_elements
from whence.lang.sql.expressions import translate
from whence.lang.sql.groups import Grouped, aggregate_calls, to_aggregate
from whence.lang.sql.joins import add_from, needed_columns
from whence.lang.sql.limits import Later, Tail
from whence.lang.sql.lowering import Lowering, Output, QueryDraft
from whence.lang.sql.order_by import check_groups, check_rows, in_having, with_aliases
from whence.lang.sql.session_windows import with_sessions
from whence.lang.sql.windows import Windowed, window_nodes
from whence.model.span import Span
from whence.model.terms import Aggregate, Constant, Term, Variable, variable_names


def draft_select(
    lowering: Lowering, select: exp.Select, block: Block, orders: Sequence[exp.Order] = (), tail: Tail | None = None
) -> QueryDraft:
    """The SELECT's rows and columns, collected in the (new) block.

    `orders` are there to be checked; `tail` is the ORDER BY and LIMIT of this SELECT, if it leaves rows out.
    """
    distinct = select.args.get("distinct")
    span = lowering.span(select)
    block.aliases = frozenset(item.alias.lower() for item in select.expressions if isinstance(item, exp.Alias))
    select, window = with_slices(lowering, with_sessions(lowering, select))
    add_from(lowering, block, select)
    add_window(lowering, block, window)
    if select.args.get("hint") is not None:
        lowering.notices.append(f"hints in {lowering.view!r} are ignored: the order of joins is found from the data")
    where = select.args.get("where")
    if where is not None:
        add_condition(lowering, block, where.this, "WHERE")
    select = with_elements(lowering, block, select, needed_columns(select))
    having = select.args.get("having")
    group = select.args.get("group")
    items = _items(lowering, select, block)
    nodes = [node for node, _ in items]
    if having is not None:
        having.set("this", in_having(with_aliases(having.this, nodes, block), nodes))
    later = Later(select, [] if tail is None else tail.keys(nodes))
    calls = [c for item in (*nodes, having, *later.nodes) if item is not None for c in aggregate_calls(item)]
    if not (calls or group is not None or having is not None):
        own = [tail.order] if distinct is not None and tail is not None and tail.order is not None else []
        check_rows(lowering, [*orders, *own], block, nodes, distinct=distinct is not None)
        is_single = _one_row(lowering, block)
        windowed = later.windowed(lowering, block, nodes, [e.term for _, e in items if e is not None])
        outputs = [_output(lowering, windowed, node, entry, i) for i, (node, entry) in enumerate(items)]
        draft = QueryDraft(windowed, outputs, distinct=distinct is not None, span=span, single=is_single)
    else:
        draft = _draft_groups(lowering, select, block, nodes, calls, orders, later)
        draft = replace(draft, distinct=draft.distinct or distinct is not None, span=span)
    return draft if tail is None else tail.applied(lowering, draft, later)


def _items(lowering: Lowering, select: exp.Select, block: Block) -> list[tuple[exp.Expr, ColumnEntry | None]]:
    """The select list with every * written out, and with what aliases stand for that are used further on in it."""
    items: list[tuple[exp.Expr, ColumnEntry | None]] = []
    for node in select.expressions:
        star = node if isinstance(node, exp.Star) else node.this if isinstance(node, exp.Column) else None
        if not isinstance(star, exp.Star):
            items.append((with_aliases(node, [each for each, _ in items], block), None))
            continue
        if isinstance(node, exp.Column) and node.args.get("db") is not None:
            raise UnsupportedError(
                "a schema name before .* is not supported", span=lowering.span(node), hint=f"write {node.table}.*"
            )
        table = node.table if isinstance(node, exp.Column) else None
        found = (
            [e for e in block.scope if (e.table or "").lower() == table.lower()]
            if table
            else [e for e in block.scope if not e.merged]
        )
        if not found:
            what = f"no table is named {table!r} here" if table else "SELECT * needs a FROM"
            raise UnknownNameError(what, span=lowering.span(node))
        left_out = {each.name.lower(): each for each in star.args.get("except_") or ()}
        for name, each in left_out.items():
            if name not in {entry.column.lower() for entry in found}:
                raise UnknownNameError(f"unknown column {each.name!r}", span=lowering.span(each))
        found = [entry for entry in found if entry.column.lower() not in left_out]
        items.extend((node, entry) for entry in found)
    return items


def _output(lowering: Lowering, block: Block, node: exp.Expr, entry: ColumnEntry | None, at: int) -> Output:
    span = lowering.span(node)
    if entry is not None:
        term = block.column(entry.term) if isinstance(block, Windowed) else entry.term
        assert term is not None, "it was asked for"
        return Output(entry.column, term, span)
    inner = node.this if isinstance(node, exp.Alias) else node
    term = translate(lowering, block, inner)
    return _named(node, term, span, at)


def _named(node: exp.Expr, term: Term, span: Span | None, at: int) -> Output:
    if isinstance(node, exp.Alias):
        return Output(node.alias, term, span)
    node = node.unnest()
    if isinstance(node, exp.Column):
        return Output(node.name, term, span)
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) else f"_c{at}"
    return Output(name, term, span, given=False)


# Groups


def _draft_groups(
    lowering: Lowering,
    select: exp.Select,
    block: Block,
    items: list[exp.Expr],
    calls: list[exp.Expr],
    orders: Sequence[exp.Order],
    later: Later,
) -> QueryDraft:
    if any(isinstance(i, exp.Star) or (isinstance(i, exp.Column) and isinstance(i.this, exp.Star)) for i in items):
        raise UnsupportedError("SELECT * cannot be grouped", span=lowering.span(select), hint="name the columns")
    groups = _group_terms(lowering, select, block, items)
    check_groups(lowering, orders, block, items, groups)
    having = select.args.get("having")
    aggregates = list(dict.fromkeys(to_aggregate(lowering, block, call) for call in calls))
    if not groups and not aggregates:
        # HAVING alone makes one group of everything.
        aggregates = [Aggregate("count", None)]
    is_direct = having is None and not later.nodes and not any(map(window_nodes, items))
    direct = _direct(lowering, block, items, groups) if is_direct else None
    if direct is not None:
        nothing = tuple(_of_nothing(lowering, block, o.term) for o in direct) if not groups else None
        # Groups without an aggregate are just the different ones.
        return QueryDraft(block, direct, distinct=not aggregates, single=not groups, when_empty=nothing)

    leading = [Output(_hint(t, i), t, given=False) for i, t in enumerate(groups)]
    computed = [Output(a.function, a, given=False) for a in aggregates]
    if having is not None and not groups and block.free:
        # HAVING is asked of the group of nothing, too.
        nothing = tuple(_of_nothing(lowering, block, a) for a in aggregates)
        table = lowering.complete(QueryDraft(block, computed), "grouped", nothing)
    else:
        parts = [QueryDraft(block, [*leading, *computed])]
        table = lowering.emit(lowering.fresh_name("grouped"), parts, distinct=not aggregates)
    grouped = Grouped(block)
    terms = lowering.read(grouped, table, None)
    grouped.learn(
        lowering,
        dict(zip((block.resolve_term(g) for g in groups), terms[: len(groups)], strict=True)),
        dict(zip(aggregates, terms[len(groups) :], strict=True)),
    )
    if having is not None:
        add_condition(lowering, grouped, having.this, "HAVING")
    windowed = later.windowed(lowering, grouped, items, [])
    outputs = [_output(lowering, windowed, node, None, i) for i, node in enumerate(items)]
    empty: tuple[Term, ...] | None = None
    if not groups and having is None and windowed is grouped:
        defaults = {t.name: _of_nothing(lowering, block, a) for t, a in zip(terms, aggregates, strict=True)}
        empty = tuple(_substitute(o.term, defaults, o.span) for o in outputs) if table.free else ()
    return QueryDraft(windowed, outputs, single=not groups, when_empty=empty)


def _group_terms(lowering: Lowering, select: exp.Select, block: Block, items: Sequence[exp.Expr]) -> list[Term]:
    group = select.args.get("group")
    if group is None:
        return []
    terms = []
    is_all = group.args.get("all") and not group.expressions
    for node in [i.unalias() for i in items if not aggregate_calls(i)] if is_all else group.expressions:
        meant = _meant(lowering, block, node, items)
        if aggregate_calls(meant):
            raise UnsupportedError("an aggregate cannot be grouped by", span=lowering.span(meant))
        term = translate(lowering, block, meant)
        if isinstance(term, Constant) and is_all:
            continue
        if isinstance(term, Constant):
            raise UnsupportedError("grouping by a constant is not supported", span=lowering.span(meant))
        lowering.typed(term, block)
        terms.append(block.resolve_term(term))
    return list(dict.fromkeys(terms))


def _meant(lowering: Lowering, block: Block, node: exp.Expr, items: Sequence[exp.Expr]) -> exp.Expr:
    """GROUP BY may name a column of the select list by its number, or use its alias."""
    if isinstance(node, exp.Literal) and not node.is_string:
        at = int(node.this) if str(node.this).isdigit() else 0
        if not 1 <= at <= len(items):
            raise UnknownNameError(
                f"there is no column number {node.this} in the select list", span=lowering.span(node)
            )
        return items[at - 1].unalias()
    here = {e.column.lower() for e in block.scope}
    aliases = {i.alias.lower(): i.unalias() for i in reversed(items) if isinstance(i, exp.Alias)}

    def written_out(part: exp.Expr) -> exp.Expr:
        name = part.name.lower()
        is_alias = isinstance(part, exp.Column) and not part.table and name not in here and name in aliases
        return aliases[name].copy() if is_alias else part

    return node.copy().transform(written_out, copy=False)


def _direct(lowering: Lowering, block: Block, items: Sequence[exp.Expr], groups: Sequence[Term]) -> list[Output] | None:
    """The outputs over the ungrouped block, where each is an aggregate or a group, and all groups are there."""
    outputs, seen = [], set()
    for at, node in enumerate(items):
        inner = node.unalias().unnest()
        if aggregate_calls(inner) == [inner]:
            term: Term = to_aggregate(lowering, block, inner)
        elif aggregate_calls(inner) or inner.find(exp.Query) is not None:
            return None
        else:
            term = translate(lowering, block, inner)
            group = block.resolve_term(term)
            if group not in groups:
                return None
            seen.add(group)
        outputs.append(_named(node, term, lowering.span(node), at))
    return outputs if seen == set(groups) else None


def _hint(term: Term, at: int) -> str:
    return term.name.partition("#")[0] if isinstance(term, Variable) else f"_g{at}"


def _of_nothing(lowering: Lowering, block: Block, term: Term) -> Constant:
    """What an aggregate gives for no rows."""
    assert isinstance(term, Aggregate)
    return Constant(of_nothing(term.function), lowering.typed(term, block).type)


def _substitute(term: Term, values: Mapping[str, Constant], span: Span | None) -> Term:
    if not variable_names([term]) <= values.keys():
        raise UnsupportedError(
            "a correlated subquery's SELECT list may only use aggregates", span=span, hint="compute the rest outside"
        )
    return rename(term, lambda v: values[v.name])


def _one_row(lowering: Lowering, block: Block) -> bool:
    """Whether at most one row can come: nothing is read, or a table's key is fixed by constants or outer values."""
    atoms = [atom for atom in block.atoms if atom.relation not in lowering.single]
    if not atoms:
        return True
    if len(atoms) != 1:
        return False
    atom = atoms[0]
    relation = lowering.relation(atom.relation)
    fixed = block.fixed()
    columns = {
        c.name.lower()
        for c, t in zip(relation.columns, atom.terms, strict=True)
        if isinstance(t, Variable) and block.root(t.name) in fixed
    }
    return bool(relation.key) and {k.lower() for k in relation.key} <= columns
