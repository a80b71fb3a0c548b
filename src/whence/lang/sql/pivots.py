"""PIVOT and UNPIVOT as the queries that they stand for.

t PIVOT (sum(x) FOR g IN ('a', 'b'))    is    SELECT id, sum(x) FILTER (WHERE g <=> 'a') AS a, ... FROM t GROUP BY id
t UNPIVOT (v FOR k IN (a, b))           is    SELECT id, 'a' AS k, a AS v FROM t WHERE a IS NOT NULL UNION ALL ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from whence.errors import UnsupportedError
from whence.lang.sql.lowering import Lowering


def without_pivots(lowering: Lowering, node: exp.Expr, columns_of: Callable[[exp.Expr], list[str]]) -> exp.Expr:
    """A table or query with PIVOT or UNPIVOT behind it, as a derived table. `columns_of` tells what a source has."""
    pivots = node.args["pivots"]
    source = node.copy()
    source.set("pivots", None)
    source.set("joins", None)
    for pivot in pivots:
        columns = columns_of(source)
        made = _unpivoted if pivot.args.get("unpivot") else _pivoted
        query = made(lowering, source, pivot, columns)
        alias = pivot.args.get("alias")
        table = alias.copy() if alias is not None else exp.TableAlias(this=exp.to_identifier("pivoted"))
        source = exp.Subquery(this=query, alias=table)
    return source


def _pivoted(lowering: Lowering, source: exp.Expr, pivot: exp.Pivot, columns: Sequence[str]) -> exp.Expr:
    fields = pivot.args["fields"]
    if len(fields) != 1 or not isinstance(fields[0], exp.In) or not isinstance(fields[0].this, exp.Column):
        raise UnsupportedError("PIVOT takes FOR one column IN (...)", span=lowering.span(pivot))
    by = fields[0].this
    used = {c.name.lower() for each in (by, *pivot.expressions) for c in each.find_all(exp.Column)}
    groups: list[exp.Expr] = [exp.column(name, quoted=True) for name in columns if name.lower() not in used]
    items = [group.copy() for group in groups]
    for value in fields[0].expressions:
        name = value.alias if isinstance(value, exp.PivotAlias | exp.Alias) else value.name
        constant = value.this if isinstance(value, exp.PivotAlias | exp.Alias) else value
        for aggregate in pivot.expressions:
            inner = aggregate.unalias()
            is_only = len(pivot.expressions) == 1
            label = name if is_only else f"{name}_{aggregate.alias or inner.sql('spark')}"
            items.append(exp.alias_(_of_value(lowering, inner, by, constant), label, quoted=True))
    query = exp.Select(expressions=items).from_(source.copy(), copy=False)
    query.set("group", exp.Group(expressions=groups) if groups else None)
    return query


def _of_value(lowering: Lowering, aggregate: exp.Expr, by: exp.Expr, value: exp.Expr) -> exp.Expr:
    """An aggregate of the rows with one value; where there are none it is NULL, also a count."""
    if not isinstance(aggregate, exp.Anonymous):
        raise UnsupportedError("PIVOT takes aggregates", span=lowering.span(aggregate))

    def filtered(call: exp.Expr) -> exp.Expr:
        where = exp.Where(this=exp.NullSafeEQ(this=by.copy(), expression=value.copy()))
        return exp.Filter(this=call, expression=where)

    found = filtered(aggregate.copy())
    if str(aggregate.this).lower() != "count":
        return found
    rows = filtered(exp.Anonymous(this="count", expressions=[exp.Star()]))
    is_there = exp.GT(this=rows, expression=exp.Literal.number(0))
    return exp.Anonymous(this="if", expressions=[is_there, found, exp.Null()])


def _unpivoted(lowering: Lowering, source: exp.Expr, pivot: exp.Pivot, columns: Sequence[str]) -> exp.Expr:
    (field,) = pivot.args["fields"]
    values = pivot.expressions
    if len(values) != 1 or any(isinstance(each, exp.Tuple) for each in field.expressions):
        raise UnsupportedError("UNPIVOT takes one column of values", span=lowering.span(pivot))
    taken = {(each.this if isinstance(each, exp.PivotAlias) else each).name.lower() for each in field.expressions}
    others = [name for name in columns if name.lower() not in taken]
    parts: list[exp.Expr] = []
    for each in field.expressions:
        column = each.this if isinstance(each, exp.PivotAlias) else each
        label = each.alias if isinstance(each, exp.PivotAlias) else column.name
        items = [
            *(exp.column(name, quoted=True) for name in others),
            exp.alias_(exp.Literal.string(label), field.this.name, quoted=True),
            exp.alias_(column.copy(), values[0].name, quoted=True),
        ]
        part = exp.Select(expressions=items).from_(source.copy(), copy=False)
        if not pivot.args.get("include_nulls"):
            part.where(exp.Not(this=exp.Is(this=column.copy(), expression=exp.Null())), copy=False)
        parts.append(part)
    whole: exp.Expr = parts[0]
    for more in parts[1:]:
        whole = exp.Union(this=whole, expression=more, distinct=False)
    return whole
