"""A SELECT becomes a draft: FROM and WHERE fill a block, GROUP BY turns it into another, the list gives the columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from sqlglot import exp

from whence.errors import DuplicateNameError, UnknownNameError, UnsupportedError
from whence.functions.aggregates import of_nothing
from whence.functions.comparison import check_comparable
from whence.lang.sql.block import Block, ColumnEntry, rename
from whence.lang.sql.conditions import add_condition
from whence.lang.sql.event_time import add_window, with_slices
from whence.lang.sql.explode import with_elements
from whence.lang.sql.expressions import translate
from whence.lang.sql.groups import Grouped, added_interval, aggregate_calls, to_aggregate
from whence.lang.sql.joins import add_from, needed_columns
from whence.lang.sql.limits import Later, Tail
from whence.lang.sql.lowering import Lowering, Output, QueryDraft
from whence.lang.sql.order_by import check_groups, check_rows, in_having, with_aliases
from whence.lang.sql.session_windows import with_sessions
from whence.lang.sql.structs import all_fields
from whence.lang.sql.windows import Windowed, window_nodes
from whence.model import types
from whence.model.rules import Atom
from whence.model.span import Span
from whence.model.terms import Aggregate, Call, Constant, Term, Variable, variable_names

# A column of the select list, and what it is where * stands for it.
Item: TypeAlias = tuple[exp.Expr, ColumnEntry | None]


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
        listed = _group_nodes(select, block) or ([node.unalias() for node in nodes] if group is not None else [])
        grouped = {each.name.lower() for each in listed if isinstance(each, exp.Column)}
        having.set("this", with_aliases(in_having(having.this, nodes, grouped), nodes, block))
    later = Later(select, tail, nodes)
    calls = [c for item in (*nodes, having, *later.nodes) if item is not None for c in aggregate_calls(item)]
    if not (calls or group is not None or having is not None):
        own = [tail.order] if distinct is not None and tail is not None and tail.order is not None else []
        check_rows(lowering, [*orders, *own], block, nodes, distinct=distinct is not None)
        is_single = _one_row(lowering, block)
        windowed = later.windowed(lowering, block, nodes, [e.term for _, e in items if e is not None])
        outputs = [_output(lowering, windowed, node, entry, i) for i, (node, entry) in enumerate(items)]
        draft = QueryDraft(windowed, outputs, distinct=distinct is not None, span=span, single=is_single)
    else:
        nodes = [node if entry is None else _reference(entry) for node, entry in items]
        draft = _draft_groups(lowering, select, block, nodes, calls, orders, later)
        draft = replace(draft, distinct=draft.distinct or distinct is not None, span=span)
    return draft if tail is None else tail.applied(lowering, draft, later)


def _items(lowering: Lowering, select: exp.Select, block: Block) -> list[Item]:
    """The select list with every * written out, and with what aliases stand for that are used further on in it."""
    items: list[Item] = []
    for node in select.expressions:
        star = node if isinstance(node, exp.Star) else node.this if isinstance(node, exp.Column) else None
        if not isinstance(star, exp.Star):
            items.append((with_aliases(node, [each for each, _ in items], block), None))
            continue
        found = _starred(lowering, node, block)
        left_out = {each.name.lower(): each for each in star.args.get("except_") or ()}
        if len(left_out) < len(star.args.get("except_") or ()):
            raise DuplicateNameError("EXCEPT names a column twice", span=lowering.span(node))
        for name, each in left_out.items():
            if name not in [known for known, _ in found]:
                raise UnknownNameError(f"unknown column {each.name!r}", span=lowering.span(each))
        replaced = {each.alias.lower(): each for each in star.args.get("replace") or ()}
        for name, each in replaced.items():
            if name not in [known for known, _ in found]:
                raise UnknownNameError(f"unknown column {each.alias!r}", span=lowering.span(each))
        items.extend(
            (replaced[name], None) if name in replaced else item for name, item in found if name not in left_out
        )
    return items


def _starred(lowering: Lowering, node: exp.Expr, block: Block) -> list[tuple[str, Item]]:
    """What a * stands for, by the names of columns in small letters: all columns, those of a table, or fields."""
    if not isinstance(node, exp.Column):
        found = [entry for entry in block.scope if not entry.merged]
    elif node.args.get("db") is None:
        found = [entry for entry in block.scope if (entry.table or "").lower() == node.table.lower()]
    else:
        found = []
    if found:
        return [(entry.column.lower(), (node, entry)) for entry in found]
    fields = list(all_fields(lowering, block, node)) if isinstance(node, exp.Column) else []
    if not fields:
        name = ".".join(part.name for part in node.parts[:-1]) if isinstance(node, exp.Column) else ""
        what = f"no table and no struct is named {name!r} here" if name else "SELECT * needs a FROM"
        raise UnknownNameError(what, span=lowering.span(node))
    return [(field.alias.lower(), (field, None)) for field in fields]


def _reference(entry: ColumnEntry) -> exp.Column:
    """A column that * stands for, by its name."""
    return exp.column(exp.to_identifier(entry.column, quoted=True), table=entry.table or None)


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
    if isinstance(node, exp.Dot):
        return Output(node.expression.name, term, span)
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
    groups, has_constants = _group_terms(lowering, select, block, items)
    check_groups(lowering, orders, block, items, groups)
    having = select.args.get("having")
    aggregates = list(dict.fromkeys(to_aggregate(lowering, block, call) for call in calls))
    if has_constants and not groups:
        return _one_group(lowering, select, block, items, aggregates, later)
    if not groups and not aggregates:
        # HAVING alone makes one group of everything.
        aggregates = [Aggregate("count", None)]
    is_direct = having is None and not later.nodes and not later.is_limited and not any(map(window_nodes, items))
    direct = _direct(lowering, block, items, groups) if is_direct else None
    if direct is not None:
        nothing = tuple(_of_nothing(lowering, block, o.term) for o in direct) if not groups else None
        # Groups without an aggregate are just the different ones.
        is_single = _one_group_only(block, groups)
        return QueryDraft(block, direct, distinct=not aggregates, single=is_single, when_empty=nothing)

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
    return QueryDraft(windowed, outputs, single=_one_group_only(block, groups), when_empty=empty)


def _one_group_only(block: Block, groups: Sequence[Term]) -> bool:
    """Whether the values that are grouped by are the same in all rows: constants, or values from outside."""
    return all(isinstance(term, Variable) and block.root(term.name) in block.fixed() for term in groups)


def _one_group(
    lowering: Lowering,
    select: exp.Select,
    block: Block,
    items: list[exp.Expr],
    aggregates: list[Aggregate],
    later: Later,
) -> QueryDraft:
    """GROUP BY of constants only: one group if there is a row at all, and none without."""
    counted = Aggregate("count", None)
    aggregates = list(dict.fromkeys([*aggregates, counted]))
    computed = [Output(a.function, a, given=False) for a in aggregates]
    table = lowering.emit(lowering.fresh_name("grouped"), [QueryDraft(block, computed)], distinct=False)
    grouped = Grouped(block)
    terms = lowering.read(grouped, table, None)
    grouped.learn(lowering, {}, dict(zip(aggregates, terms, strict=True)))
    number = terms[aggregates.index(counted)]
    grouped.conditions.append(Call(">", (number, Constant(0, types.BIGINT))))
    having = select.args.get("having")
    if having is not None:
        add_condition(lowering, grouped, having.this, "HAVING")
    windowed = later.windowed(lowering, grouped, items, [])
    outputs = [_output(lowering, windowed, node, None, at) for at, node in enumerate(items)]
    return QueryDraft(windowed, outputs, single=True)


def _group_nodes(select: exp.Select, block: Block) -> list[exp.Expr]:
    """What GROUP BY lists. ALL is no list, unless a column is called so."""
    group = select.args.get("group")
    if group is None:
        return []
    if group.args.get("all") and any(entry.column.lower() == "all" for entry in block.scope):
        return [*group.expressions, exp.column("all")]
    return list(group.expressions)


def _check_groups_of_aliases(lowering: Lowering, select: exp.Select, block: Block, listed: Sequence[exp.Expr]) -> None:
    """As in Spark, an alias of the list cannot be grouped by whose expression has another one in it, nor can a number
    stand for a column of a *.
    """
    if any(item.is_star for item in select.expressions) and any(
        isinstance(n, exp.Literal) and n.is_int for n in listed
    ):
        raise UnsupportedError("a number in GROUP BY beside * is not supported", span=lowering.span(select))
    names = {node.name.lower() for node in listed if isinstance(node, exp.Column) and not node.table}
    items = select.expressions
    for at, item in enumerate(items):
        is_grouped = item.alias.lower() in names if listed else not aggregate_calls(item)
        if isinstance(item, exp.Alias) and is_grouped and with_aliases(item, items[:at], block) is not item:
            raise UnsupportedError(
                "grouping by an alias whose expression uses another one is not supported", span=lowering.span(item)
            )


def _group_terms(
    lowering: Lowering, select: exp.Select, block: Block, items: Sequence[exp.Expr]
) -> tuple[list[Term], bool]:
    """What is grouped by, and whether there are constants, which tell no rows apart, beside it."""
    group = select.args.get("group")
    if group is None:
        return [], False
    terms = []
    has_constants = False
    listed = _group_nodes(select, block)
    _check_groups_of_aliases(lowering, select, block, listed)
    is_all = group.args.get("all") and not listed
    for node in [i.unalias() for i in items if not aggregate_calls(i)] if is_all else listed:
        meant = _meant(lowering, block, node, items)
        if aggregate_calls(meant):
            raise UnsupportedError("an aggregate cannot be grouped by", span=lowering.span(meant))
        term = translate(lowering, block, meant)
        if not variable_names([term]):
            has_constants = True
            continue
        if variable_names([term]) <= set(block.free.values()):
            raise UnsupportedError(
                "a column of the outer query in GROUP BY is not supported",
                span=lowering.span(meant),
                hint="leave it out",
            )
        check_comparable(lowering.typed(term, block).type, "grouped by", lowering.span(meant))
        terms.append(block.resolve_term(term))
    return list(dict.fromkeys(terms)), has_constants


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
            aggregate = to_aggregate(lowering, block, inner)
            if added_interval(aggregate) is not None:
                return None
            term: Term = aggregate
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
    fixed = block.fixed()
    return all(atom.relation in lowering.single or _is_found(lowering, block, atom, fixed) for atom in block.atoms)


def _is_found(lowering: Lowering, block: Block, atom: Atom, fixed: set[str]) -> bool:
    """Whether the values of a key are given, or of all columns where no row comes twice."""
    relation = lowering.relation(atom.relation)
    key = relation.key or (relation.column_names if relation.distinct else ())
    columns = {
        c.name.lower()
        for c, t in zip(relation.columns, atom.terms, strict=True)
        if isinstance(t, Variable) and block.root(t.name) in fixed
    }
    return bool(key) and {k.lower() for k in key} <= columns
