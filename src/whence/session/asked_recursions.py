"""A recursive query that is asked for one value of a column starts with that value.

    WITH RECURSIVE r(src, dst) AS (
      SELECT src, dst FROM link UNION SELECT r.src, link.dst FROM r JOIN link ON r.dst = link.src)
    SELECT dst FROM r WHERE src = 'a'

The recursion passes `src` on as it is, so that rows with another one lead to no row that is asked for: the condition is
asked of the rows that it starts with as well. What answers queries, DuckDB, would compute all of r first. Views do this
in general, by rewriting rules; here the text stays what it is, but for that condition.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

# Clauses with which a row depends on others.
_TOGETHER = ("group", "having", "qualify", "limit", "offset", "distinct", "laterals")


def with_starts(tree: exp.Expr) -> exp.Expr:
    """The query, with the conditions that its recursions can start with."""
    whole = tree.copy()
    for cte in list(whole.find_all(exp.CTE)):
        if isinstance(cte.parent, exp.With) and cte.parent.args.get("recursive"):
            _restrict(whole, cte)
    return whole


def _restrict(whole: exp.Expr, cte: exp.CTE) -> None:
    body, name = cte.this, cte.alias.lower()
    if not isinstance(body, exp.Union) or sum(each.alias.lower() == name for each in whole.find_all(exp.CTE)) != 1:
        return
    columns = [each.name for each in cte.args["alias"].columns]
    inside = [table for table in body.find_all(exp.Table) if table.name.lower() == name]
    if not columns or len(inside) != 1 or not isinstance(body.right, exp.Select) or _is_in(inside[0], body.left):
        return
    outside = [each for each in whole.find_all(exp.Table) if each.name.lower() == name and each is not inside[0]]
    for at, column in enumerate(columns):
        values = {_asked(table, column) for table in outside}
        value = values.pop() if len(values) == 1 else None
        if value is not None and _is_passed_on(body.right, inside[0], at, column):
            named = exp.TableAlias(this=exp.to_identifier("start"), columns=[*map(exp.to_identifier, columns)])
            start = exp.Subquery(this=body.left.copy(), alias=named)
            condition = exp.EQ(this=exp.column(column, "start"), expression=value.copy())
            body.set("this", exp.select("*").from_(start).where(condition))
            return


def _is_in(node: exp.Expr, above: exp.Expr) -> bool:
    return node is above or any(each is above for each in _ancestors(node))


def _ancestors(node: exp.Expr) -> Iterator[exp.Expr]:
    while (parent := node.parent) is not None:
        yield parent
        node = parent


def _is_passed_on(step: exp.Select, table: exp.Table, at: int, column: str) -> bool:
    """Whether each row of the step has the value of one row of the recursion in this column."""
    if _select_of(table) is not step or any(step.args.get(each) for each in _TOGETHER) or step.find(exp.Window):
        return False
    return len(step.expressions) > at and _is_column(step.expressions[at].unalias(), table, column, step)


def _select_of(table: exp.Table) -> exp.Select | None:
    """The SELECT that joins a table with nothing that could add rows of NULLs."""
    clause = table.parent
    select = clause.parent if isinstance(clause, exp.From | exp.Join) else None
    if not isinstance(select, exp.Select):
        return None
    joins = select.args.get("joins") or ()
    return None if any(each.side or each.kind not in ("", "INNER", "CROSS") for each in joins) else select


def _is_column(term: exp.Expr, table: exp.Table, column: str, select: exp.Select) -> bool:
    if not isinstance(term, exp.Column) or term.name.lower() != column.lower():
        return False
    is_alone = not select.args.get("joins")
    return is_alone if not term.table else term.table.lower() == table.alias_or_name.lower()


def _asked(table: exp.Table, column: str) -> exp.Literal | None:
    """The value that the rows of a table must have in a column."""
    select = _select_of(table)
    where = None if select is None else select.args.get("where")
    if select is None or where is None:
        return None
    for condition in where.this.flatten() if isinstance(where.this, exp.And) else (where.this,):
        if isinstance(condition, exp.EQ):
            for one, other in ((condition.left, condition.right), (condition.right, condition.left)):
                if isinstance(other, exp.Literal) and _is_column(one, table, column, select):
                    return other
    return None
