"""GROUP BY session_window(ts, '5 minutes'): a slice of time goes on as long as rows come, and ends after a gap.

    SELECT user, session_window.start, count(*) FROM t GROUP BY user, session_window(at, '5 minutes')

    SELECT user, start, count(*) FROM
      (SELECT user, at, max(CASE WHEN before IS NULL OR at > before + 5 minutes THEN at END)
                            OVER (PARTITION BY user ORDER BY at) AS start FROM
        (SELECT user, at, lag(at) OVER (PARTITION BY user ORDER BY at) AS before FROM t WHERE at IS NOT NULL))
    GROUP BY user, start

Its end is that of the gap after its last row: the max of at + 5 minutes.
"""

from __future__ import annotations

from sqlglot import exp

from whence.errors import ArityError, UnsupportedError
from whence.lang.sql.event_time import SESSION, WINDOW, calls_of, length_of, with_named_window
from whence.lang.sql.lowering import Lowering

_READ = ("from_", "joins", "laterals", "where")


def with_sessions(lowering: Lowering, select: exp.Select) -> exp.Select:
    """The SELECT over rows that know where their session begins; the same if it has none."""
    calls = list(calls_of(select, SESSION))
    if not calls:
        return select
    call = calls[0]
    span = lowering.span(call)
    if len(call.expressions) != 2:
        raise ArityError("session_window takes a time and a gap", span=span)
    if any(other != call for other in calls) or any(calls_of(select, WINDOW)):
        raise UnsupportedError("a query has one window", span=span, hint="use a subquery in FROM")
    group = select.args.get("group")
    if group is None or call not in group.expressions:
        raise UnsupportedError("session_window stands in GROUP BY", span=span)
    gap = length_of(lowering, call.expressions[1])
    whole = with_named_window(lowering, select, SESSION)
    return _Sessions(whole, call.expressions[0], gap).select()


class _Sessions:
    """A SELECT whose rows are read by a query of its own, and in order by another one around that."""

    def __init__(self, select: exp.Select, moment: exp.Expr, gap: int) -> None:
        self.outer = select
        self.moment = moment
        self.gap = gap
        self.inner: dict[exp.Expr, str] = {}

    def select(self) -> exp.Select:
        outer = self.outer
        read = exp.Select(**{part: outer.args[part] for part in _READ if outer.args.get(part)})
        for part in _READ:
            outer.set(part, None)
        aliases = {item.alias.lower(): item.this for item in outer.expressions if isinstance(item, exp.Alias)}
        group = outer.args["group"]
        keys = [self._key(node, aliases, outer.expressions) for node in group.expressions if not _is_bound(node)]
        group.set("expressions", [*keys, self._bound("start")])
        outer.set("expressions", [self._item(item) for item in outer.expressions])
        for part in ("having", "order", "qualify"):
            if outer.args.get(part) is not None:
                outer.set(part, self._over(outer.args[part]))
        at = self._column(self.moment)
        there = exp.Not(this=exp.Is(this=self.moment.copy(), expression=exp.Null()))
        where = read.args.get("where")
        read.set("where", exp.Where(this=there if where is None else exp.and_(where.this, there, copy=False)))
        read.set("expressions", [exp.alias_(node.copy(), name) for node, name in self.inner.items()])
        previous = exp.alias_(_over(exp.Anonymous(this="lag", expressions=[at.copy()]), keys, at), "$before")
        marked = _around(read, [*map(exp.column, self.inner.values()), previous])
        ends = _later(exp.column("$before"), self.gap)
        is_first = exp.Or(
            this=exp.Is(this=exp.column("$before"), expression=exp.Null()),
            expression=exp.GT(this=at.copy(), expression=ends),
        )
        first = exp.Case(ifs=[exp.If(this=is_first, true=at.copy())])
        start = exp.alias_(_over(exp.Anonymous(this="max", expressions=[first]), keys, at), "$start")
        started = _around(marked, [*map(exp.column, self.inner.values()), start])
        outer.set(
            "from_", exp.From(this=exp.Subquery(this=started, alias=exp.TableAlias(this=exp.to_identifier("sessions"))))
        )
        return outer

    def _key(self, node: exp.Expr, aliases: dict[str, exp.Expr], items: list[exp.Expr]) -> exp.Expr:
        if isinstance(node, exp.Literal) and not node.is_string and 0 < int(node.name) <= len(items):
            node = items[int(node.name) - 1].unalias()
        elif isinstance(node, exp.Column) and not node.table:
            node = aliases.get(node.name.lower(), node)
        return self._column(node)

    def _item(self, item: exp.Expr) -> exp.Expr:
        plain = item.unalias()
        name = item.alias if isinstance(item, exp.Alias) else plain.name if isinstance(plain, exp.Column) else None
        changed = self._over(plain)
        return changed if name is None else exp.alias_(changed, name)

    def _over(self, node: exp.Expr) -> exp.Expr:
        """An expression in terms of the rows that are read: columns, groups, and the bounds of the session."""
        if _is_bound(node):
            return self._bound(node.name)
        known = self.inner.get(node)
        if known is not None:
            return exp.column(known)
        if isinstance(node, exp.Column):
            return self._column(node)
        copy = node.copy()
        for part in list(copy.iter_expressions()):
            part.replace(self._over(part))
        return copy

    def _bound(self, name: str) -> exp.Expr:
        if name.lower() == "start":
            return exp.column("$start")
        return exp.Anonymous(this="max", expressions=[_later(self._column(self.moment), self.gap)])

    def _column(self, node: exp.Expr) -> exp.Expr:
        """What the innermost query computes, by the name that it has there."""
        return exp.column(self.inner.setdefault(node, f"$c{len(self.inner)}"))


def _around(query: exp.Select, expressions: list[exp.Expr]) -> exp.Select:
    return exp.Select(expressions=expressions, from_=_from(query))


def _from(query: exp.Select) -> exp.From:
    return exp.From(this=exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier("sessions"))))


def _over(call: exp.Expr, keys: list[exp.Expr], at: exp.Expr) -> exp.Window:
    ordered = exp.Order(expressions=[exp.Ordered(this=at.copy(), nulls_first=True)])
    return exp.Window(this=call, partition_by=[key.copy() for key in keys], order=ordered, over="OVER")


def _later(node: exp.Expr, micros: int) -> exp.Expr:
    amount = exp.Interval(this=exp.Literal.string(str(micros)), unit=exp.Var(this="MICROSECOND"))
    return exp.Add(this=node, expression=amount)


def _is_bound(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and node.table.lower() == SESSION and node.name.lower() in ("start", "end")
