"""Window functions over ROLLUP, CUBE and GROUPING SETS: the groups become a query in FROM, and the windows are over it.

    SELECT g, sum(x), rank() OVER (ORDER BY sum(x)) FROM t GROUP BY ROLLUP(g)
    SELECT _g0 AS g, _g1 AS sum, rank() OVER (ORDER BY _g1) FROM (SELECT g AS _g0, sum(x) AS _g1 ... GROUP BY ROLLUP(g))

The tree that was read is changed before anything is looked up.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from whence.lang.sql.functions import AGGREGATE_SYNONYMS
from whence.lang.sql.grouping_sets import SETS, meant_group, same_expression

_OF_GROUPS = (*AGGREGATE_SYNONYMS, "grouping", "grouping_id")
# What stays with the windows.
_LATER = ("order", "limit", "offset", "distinct", "qualify", "windows", "with_")
_BELOW = ("joins", "laterals", "where", "group", "having", "hint")
_GROUPS = "$groups"


def separate_windows(tree: exp.Expr) -> exp.Expr:
    """The tree with a query in FROM wherever windows are over several sets of groups."""
    for select in list(tree.find_all(exp.Select)):
        group = select.args.get("group")
        if group is not None and group.find(*SETS) is not None and _has_windows(select):
            _separate(select)
    return tree


def _has_windows(select: exp.Select) -> bool:
    parts = [*select.expressions, select.args.get("qualify"), select.args.get("order")]
    return any(part is not None and part.find(exp.Window) is not None for part in parts)


def _separate(select: exp.Select) -> None:
    below = select.copy()
    for name in _LATER:
        below.set(name, None)
    for node in list(below.args["group"].walk()):
        if _is_grouped(node):
            node.replace(meant_group(node.unnest(), select).copy())
    having = below.args.get("having")
    if having is not None:
        having.set("this", _without_aliases(having.this, select))
    lifted = _Lifted([node for node in below.args["group"].walk() if _is_grouped(node)])
    select.set("expressions", [_named(item, lifted.of(item)) for item in select.expressions])
    for name in ("qualify", "order", "windows"):
        part = select.args.get(name)
        if part is not None:
            select.set(name, [lifted.of(each) for each in part] if isinstance(part, list) else lifted.of(part))
    below.set("expressions", [exp.alias_(unit, name) for name, unit in lifted.units()])
    for name in _BELOW:
        select.set(name, None)
    alias = exp.TableAlias(this=exp.to_identifier(_GROUPS, quoted=True))
    select.set("from_", exp.From(this=exp.Subquery(this=below, alias=alias)))


def _is_grouped(node: exp.Expr) -> bool:
    """Whether it is one of the expressions that a set lists."""
    containers = (*SETS, exp.Group, exp.Tuple)
    return isinstance(node.parent, containers) and not isinstance(node, containers)


def _without_aliases(node: exp.Expr, select: exp.Select) -> exp.Expr:
    aliases = {item.alias.lower(): item.unalias() for item in select.expressions if isinstance(item, exp.Alias)}

    def meant(part: exp.Expr) -> exp.Expr:
        is_alias = isinstance(part, exp.Column) and not part.table and part.name.lower() in aliases
        return aliases[part.name.lower()].copy() if is_alias else part

    return node.transform(meant)


def _named(item: exp.Expr, lifted: exp.Expr) -> exp.Expr:
    """A column keeps the name that it would have had."""
    if isinstance(item, exp.Column):
        return exp.alias_(lifted, item.name, quoted=True)
    if isinstance(item, exp.Anonymous):
        return exp.alias_(lifted, str(item.this).lower(), quoted=True)
    return lifted


class _Lifted:
    """What the windows and the select list take from the groups, each once: groups, aggregates, grouping()."""

    def __init__(self, groups: list[exp.Expr]) -> None:
        self._groups = groups
        self._units: list[exp.Expr] = []

    def units(self) -> Iterator[tuple[str, exp.Expr]]:
        for number, unit in enumerate(self._units):
            yield f"_g{number}", unit.copy()

    def of(self, node: exp.Expr) -> exp.Expr:
        """The expression over columns of the groups."""
        if isinstance(node, exp.Query):
            return node
        if self._is_unit(node):
            return self._column(node)
        whole = node.copy()
        for name, value in node.args.items():
            if isinstance(value, exp.Expr):
                inside = self._inside if isinstance(node, exp.Window) and name == "this" else self.of
                whole.set(name, inside(value))
            elif isinstance(value, list):
                whole.set(name, [self.of(each) if isinstance(each, exp.Expr) else each for each in value])
        return whole

    def _inside(self, call: exp.Expr) -> exp.Expr:
        """The function of a window is no aggregate of groups, but what it is taken of may be one."""
        whole = call.copy()
        if isinstance(call, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
            whole.set("this", self._inside(call.this))
            if isinstance(call, exp.Filter):
                whole.set("expression", self.of(call.expression))
            return whole
        whole.set("expressions", [self.of(each) for each in call.expressions])
        return whole

    def _is_unit(self, node: exp.Expr) -> bool:
        call = node.this if isinstance(node, exp.Filter) else node
        if isinstance(call, exp.Anonymous) and str(call.this).lower() in _OF_GROUPS:
            return True
        return isinstance(node, exp.Condition) and any(same_expression(node, each) for each in self._groups)

    def _column(self, node: exp.Expr) -> exp.Expr:
        known = next((at for at, unit in enumerate(self._units) if same_expression(unit, node)), None)
        if known is None:
            known = len(self._units)
            self._units.append(node)
        column = exp.column(f"_g{known}", table=exp.to_identifier(_GROUPS, quoted=True))
        for part in column.walk():
            part.meta.update(node.meta)
        return column
