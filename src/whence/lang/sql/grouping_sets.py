"""GROUP BY with several sets of groups: ROLLUP, CUBE and GROUPING SETS are a UNION ALL of one GROUP BY for each set.

Groups that are not in a set are NULL in its rows, and `grouping(x)` and `grouping_id()` are constants there. A set
without groups beside others has no row over nothing, as in Spark, where it is one group of many.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from sqlglot import exp

from whence.errors import UnknownNameError, UnsupportedError
from whence.lang.sql.functions import AGGREGATE_SYNONYMS
from whence.lang.sql.lowering import Lowering

_MOST_SETS = 4096
SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)


def by_sets(lowering: Lowering, select: exp.Select) -> exp.Union | None:
    """The SELECT as a UNION ALL, without its ORDER BY and LIMIT; None if it has one set of groups."""
    group = select.args.get("group")
    if group is None:
        return None
    sets = _sets(lowering, group)
    if sets is None:
        return None
    if any(part.args.get("query") is not None for item in select.expressions for part in item.find_all(exp.In)):
        raise UnsupportedError(
            "IN (SELECT ...) over several sets of groups is not supported",
            span=lowering.span(group),
            hint="put the GROUP BY into a subquery in FROM",
        )
    # GROUP BY a, b GROUPING SETS (a): the list before says what may be grouped by.
    every = list(dict.fromkeys([*group.expressions, *(each for chosen in sets for each in chosen)]))
    every = [meant_group(each, select) for each in every if not isinstance(each, SETS)]
    if sets == [()]:
        return _grand_total(lowering, select)
    parts = [_part(lowering, select, every, [meant_group(each, select) for each in chosen]) for chosen in sets]
    whole: exp.Expr = parts[0]
    for part in parts[1:]:
        whole = exp.Union(this=whole, expression=part, distinct=bool(select.args.get("distinct")))
    return whole if isinstance(whole, exp.Union) else exp.Union(this=whole, expression=_nothing(whole), distinct=False)


def _grand_total(lowering: Lowering, select: exp.Select) -> exp.Union:
    """`GROUPING SETS (())` alone is an aggregate without groups, which has a row over nothing, too."""
    part = _part(lowering, select, [], [])
    part.set("having", select.args["having"].copy() if select.args.get("having") is not None else None)
    return exp.Union(this=part, expression=_nothing(part), distinct=False)


def _nothing(part: exp.Expr) -> exp.Expr:
    empty = part.copy()
    empty.set("having", exp.Having(this=exp.Boolean(this=False)))
    return empty


def _sets(lowering: Lowering, group: exp.Group) -> list[tuple[exp.Expr, ...]] | None:
    """All combinations of the sets that each part of the clause stands for."""
    plain = list(group.expressions)
    factors: list[list[tuple[exp.Expr, ...]]] = []
    has_sets = False
    for kind in ("rollup", "cube", "grouping_sets"):
        for node in group.args.get(kind) or ():
            has_sets = True
            if kind == "grouping_sets":
                # GROUP BY a, b GROUPING SETS (...): the list before says only what may be grouped by.
                plain = []
            inner = node.expressions or plain
            plain = plain if node.expressions else []
            factors.append(_of(node, inner))
    for node in plain:
        if isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets):
            has_sets = True
            factors.append(_of(node, node.expressions))
        else:
            factors.append([(node,)])
    if not has_sets:
        return None
    found = [tuple(dict.fromkeys(each for part in chosen for each in part)) for chosen in product(*factors)]
    if len(found) > _MOST_SETS:
        raise UnsupportedError(f"there are {len(found):,} sets of groups", span=lowering.span(group))
    return found


def _of(node: exp.Expr, parts: Sequence[exp.Expr]) -> list[tuple[exp.Expr, ...]]:
    """The sets of ROLLUP (all beginnings of the list), CUBE (all choices from it), or GROUPING SETS (those listed)."""
    units = [_columns(part) for part in parts]
    if isinstance(node, exp.Rollup | exp.Cube) and not all(units):
        raise UnsupportedError(f"{node.key.upper()} takes no () among its groups", hint="leave it out")
    if isinstance(node, exp.Rollup):
        return [_joined(units[:end]) for end in range(len(units), -1, -1)]
    if isinstance(node, exp.Cube):
        choices = product(*[(True, False)] * len(units))
        return [_joined([unit for unit, is_in in zip(units, chosen, strict=True) if is_in]) for chosen in choices]
    found: list[tuple[exp.Expr, ...]] = []
    for part in parts:
        nested = isinstance(part, exp.Rollup | exp.Cube | exp.GroupingSets)
        found.extend(_of(part, part.expressions) if nested else [tuple(_columns(part))])
    return found


def _columns(part: exp.Expr) -> list[exp.Expr]:
    if isinstance(part, exp.Tuple):
        return list(part.expressions)
    return [part.unnest()]


def _joined(units: Sequence[Sequence[exp.Expr]]) -> tuple[exp.Expr, ...]:
    return tuple(each for unit in units for each in unit)


def meant_group(node: exp.Expr, select: exp.Select) -> exp.Expr:
    """A group may be the number of a column or its alias."""
    if isinstance(node, exp.Literal) and node.is_int and 1 <= int(node.name) <= len(select.expressions):
        item: exp.Expr = select.expressions[int(node.name) - 1]
        return item.unalias()
    aliases = {item.alias.lower(): item.unalias() for item in select.expressions if isinstance(item, exp.Alias)}
    if isinstance(node, exp.Column) and not node.table and node.name.lower() in aliases:
        meant = aliases[node.name.lower()]
        # A column of the tables comes before an alias of the same name.
        is_column = any(each.name.lower() == node.name.lower() for each in meant.find_all(exp.Column))
        return node if is_column else meant
    return node


def _part(lowering: Lowering, select: exp.Select, every: Sequence[exp.Expr], chosen: Sequence[exp.Expr]) -> exp.Select:
    part = select.copy()
    for name in ("order", "limit", "offset", "with_", "distinct"):
        part.set(name, None)
    absent = [each for each in every if not any(same_expression(each, other) for other in chosen)]
    items = [_named(item, _replaced(lowering, item, every, absent)) for item in part.expressions]
    part.set("expressions", items)
    having = part.args.get("having")
    if having is not None:
        having.set("this", _replaced(lowering, having.this, every, absent))
    if chosen:
        part.set("group", exp.Group(expressions=[each.copy() for each in chosen]))
    else:
        there = exp.GT(this=exp.Anonymous(this="count", expressions=[exp.Star()]), expression=exp.Literal.number(0))
        part.set("group", None)
        part.set("having", exp.Having(this=there if having is None else exp.and_(having.this, there)))
    return part


def _named(item: exp.Expr, replaced: exp.Expr) -> exp.Expr:
    """A column keeps its name where NULL takes its place."""
    is_column = isinstance(item, exp.Column) and replaced is not item and not item.is_star
    return exp.alias_(replaced, item.name, quoted=True) if is_column else replaced


def _replaced(lowering: Lowering, node: exp.Expr, every: Sequence[exp.Expr], absent: Sequence[exp.Expr]) -> exp.Expr:
    """An expression over the groups of one set."""
    if isinstance(node, exp.Anonymous):
        name = str(node.this).lower()
        if name in ("grouping", "grouping_id"):
            number = exp.Literal.number(_grouping(lowering, node, every, absent, name))
            return exp.cast(number, "BIGINT" if name == "grouping_id" else "TINYINT")
        if name in AGGREGATE_SYNONYMS:
            return node
    if isinstance(node, exp.Query) or (isinstance(node, exp.Filter) and _is_aggregate(node.this)):
        return node
    if any(same_expression(node, each) for each in absent):
        return _null(node)
    if any(same_expression(node, each) for each in every):
        return node
    if isinstance(node, exp.Alias):
        return exp.Alias(this=_replaced(lowering, node.this, every, absent), alias=node.args["alias"])
    for name, value in list(node.args.items()):
        if isinstance(value, exp.Expr):
            node.set(name, _replaced(lowering, value, every, absent))
        elif isinstance(value, list):
            node.set(name, [_replaced(lowering, v, every, absent) if isinstance(v, exp.Expr) else v for v in value])
    return node


def _null(node: exp.Expr) -> exp.Expr:
    """A NULL of the type that the expression has: the least of no values."""
    least = exp.Anonymous(this="min", expressions=[node.copy()])
    return exp.Filter(this=least, expression=exp.Where(this=exp.Boolean(this=False)))


def _is_aggregate(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and str(node.this).lower() in AGGREGATE_SYNONYMS


def _grouping(
    lowering: Lowering, node: exp.Anonymous, every: Sequence[exp.Expr], absent: Sequence[exp.Expr], name: str
) -> int:
    asked = list(node.expressions) or (list(every) if name == "grouping_id" else [])
    bits = 0
    for each in asked:
        if not any(same_expression(each, other) for other in every):
            raise UnknownNameError(f"{name} takes what is grouped by", span=lowering.span(each))
        bits = 2 * bits + any(same_expression(each, other) for other in absent)
    return bits


def same_expression(one: exp.Expr, other: exp.Expr) -> bool:
    """Whether two expressions are the same; a column may have its table's name before it or not."""
    if isinstance(one, exp.Column) and isinstance(other, exp.Column):
        tables = {side.table.lower() for side in (one, other) if side.table}
        return one.name.lower() == other.name.lower() and len(tables) < 2
    return one == other or _in_order(one) == _in_order(other)


def _in_order(node: exp.Expr) -> str:
    """A sum and a product are the same from either side."""
    if isinstance(node, exp.Add | exp.Mul):
        return type(node).__name__.join(sorted((_in_order(node.this), _in_order(node.expression))))
    return node.unnest().sql().lower()
