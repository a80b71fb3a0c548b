"""Blocks after GROUP BY, in which only groups and aggregates have a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from whence.errors import ArityError, UnknownNameError, UnsupportedError
from whence.functions.comparison import check_comparable
from whence.lang.sql.block import Block, find_column
from whence.lang.sql.expressions import translate
from whence.lang.sql.functions import AGGREGATE_SYNONYMS
from whence.lang.sql.literals import cast
from whence.lang.sql.lowering import Lowering
from whence.lang.sql.special_forms import never_true
from whence.model import types
from whence.model.span import Span
from whence.model.terms import Aggregate, Call, Cast, Constant, Skolem, Term, Variable, variable_names


def aggregate_calls(node: exp.Expr) -> list[exp.Expr]:
    """The aggregates in an expression, leaving out those of its subqueries."""
    found: list[exp.Expr] = []
    todo = [node]
    while todo:
        here = todo.pop()
        if isinstance(here, exp.Query):
            continue
        if isinstance(here, exp.Window):
            todo.extend(reversed(list(_inside_window(here))))
            continue
        inner = here.this if isinstance(here, exp.Filter) else here
        if isinstance(inner, exp.Anonymous) and str(inner.this).lower() in AGGREGATE_SYNONYMS:
            found.append(here)
        else:
            todo.extend(reversed(list(here.iter_expressions())))
    return found


def _inside_window(node: exp.Window) -> Iterator[exp.Expr]:
    """What a window function is taken of, and its window: these may be aggregates of groups, and it is none."""
    call = node.this
    while isinstance(call, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        if isinstance(call, exp.Filter):
            yield call.expression
        call = call.this
    yield from call.iter_expressions()
    yield from (part for name, part in _parts(node) if name != "this")


def _parts(node: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
    for name, value in node.args.items():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, exp.Expr):
                yield name, each


def to_aggregate(lowering: Lowering, block: Block, node: exp.Expr) -> Aggregate:
    """`sum(DISTINCT x) FILTER (WHERE c)` over the rows of an ungrouped block."""
    node = node.unnest()
    condition = node.expression.this if isinstance(node, exp.Filter) else None
    call = node.this if isinstance(node, exp.Filter) else node
    span = lowering.span(call)
    function = AGGREGATE_SYNONYMS[str(call.this).lower()]
    arguments = list(call.expressions)
    distinct = len(arguments) == 1 and isinstance(arguments[0], exp.Distinct)
    if distinct:
        arguments = arguments[0].expressions
    argument: Term | None
    if not distinct and len(arguments) == 1 and isinstance(arguments[0], exp.Column) and arguments[0].is_star:
        raise UnsupportedError(
            f"{function}(t.*) is not supported", span=span, hint="write count(*), or name the columns: count(a, b)"
        )
    if function == "count" and (distinct or len(arguments) != 1 or not isinstance(arguments[0], exp.Star)):
        arguments = [column for each in arguments for column in _columns(block, each, span)]
    if len(arguments) != 1 and (function != "count" or not arguments):
        raise ArityError(f"{function} takes one argument, and {len(arguments)} are given", span=span)
    if len(arguments) > 1:
        argument = _row_without_nulls(lowering, block, arguments, span)
    elif isinstance(arguments[0], exp.Star):
        if function != "count":
            raise UnsupportedError(f"{function}(*) has no meaning", span=span, hint="only count(*) has")
        argument = None if condition is None else Constant(1, types.INT)
    else:
        if aggregate_calls(arguments[0]) and not isinstance(block, Grouped):
            raise UnsupportedError(
                "an aggregate inside an aggregate is not supported", span=span, hint="use a subquery in FROM"
            )
        argument = translate(lowering, block, arguments[0])
        if function in ("sum", "avg"):
            argument = _added_up(argument, lowering.typed(argument, block).type, function, span)
    if condition is not None:
        assert argument is not None
        if isinstance(condition.unnest(), exp.Null):
            raise never_true("FILTER", span)
        argument = Call("if", (translate(lowering, block, condition), argument, Constant(None, types.NULL)), span=span)
    if argument is not None:
        _refuse_outer(block, argument, function, span)
        argument = block.resolve_term(argument)
        if distinct:
            check_comparable(lowering.typed(argument, block).type, "told apart by DISTINCT", span)
    aggregate = Aggregate(function, argument, distinct, span=span)
    lowering.typed(aggregate, block)
    return aggregate


# Wide enough for a BIGINT, with a fraction that tells which way the average of any number of them is rounded.
_AVERAGED_UNITS = types.DecimalType(34, 15)


def _added_up(argument: Term, kind: types.Type, function: str, span: Span | None) -> Term:
    """What is added up: of texts the numbers that they are, of intervals their numbers of months or microseconds."""
    if kind == types.STRING:
        return cast(argument, types.DOUBLE, span)
    if not isinstance(kind, types.IntervalType):
        return argument
    units = Call("interval_units", (argument,), span=span)
    return units if function == "sum" else Cast(units, _AVERAGED_UNITS, span=span)


def added_interval(aggregate: Aggregate) -> Term | None:
    """The intervals whose units the aggregate adds up, if it does."""
    term = aggregate.argument
    while isinstance(term, Cast) or (isinstance(term, Call) and term.function == "if"):
        term = term.term if isinstance(term, Cast) else term.arguments[1]
    return term.arguments[0] if isinstance(term, Call) and term.function == "interval_units" else None


def _columns(block: Block, node: exp.Expr, span: Span | None) -> list[exp.Expr]:
    """A star among the arguments of count stands for all columns, of one table or of all."""
    inner = node.this if isinstance(node, exp.Column) else node
    if not isinstance(inner, exp.Star):
        return [node]
    table = node.table.lower() if isinstance(node, exp.Column) else None
    found = [e for e in block.scope if (not e.merged if table is None else (e.table or "").lower() == table)]
    if not found:
        raise UnknownNameError("* stands for no columns here", span=span)
    return [exp.column(exp.to_identifier(e.column, quoted=True), table=e.table or None) for e in found]


def _row_without_nulls(lowering: Lowering, block: Block, nodes: list[exp.Expr], span: Span | None) -> Term:
    """One value for each different row of values; NULL where one of them is NULL, as count() leaves these out."""
    values = tuple(translate(lowering, block, node) for node in nodes)
    for value in values:
        check_comparable(lowering.typed(value, block).type, "counted beside others", span)
    there = Call("and", tuple(Call("isnotnull", (value,), span=span) for value in values), span=span)
    return Call("if", (there, Skolem("row", values, span=span), Constant(None, types.STRING)), span=span)


def _refuse_outer(block: Block, argument: Term, function: str, span: Span | None) -> None:
    """SQL computes an aggregate of the outer query's columns alone over the rows of that query, not of this one."""
    used = variable_names([argument])
    if used and used <= set(block.free.values()):
        raise UnsupportedError(
            f"{function}(...) of columns of the outer query only is not supported inside a subquery",
            span=span,
            hint="aggregate in a query of its own, and join with that",
        )


class Grouped(Block):
    """The rows after grouping. Names are looked up in the rows before, and must lead to a group."""

    def __init__(self, before: Block) -> None:
        super().__init__(before.numbers, before.outer, before.ctes, opaque=before.opaque)
        self.aliases = before.aliases
        self._before = before
        self._groups: Mapping[Term, Variable] = {}
        self._aggregates: Mapping[Aggregate, Variable] = {}
        self._lowering: Lowering | None = None

    def learn(
        self, lowering: Lowering, groups: Mapping[Term, Variable], aggregates: Mapping[Aggregate, Variable]
    ) -> None:
        self._lowering, self._groups, self._aggregates = lowering, groups, aggregates

    def known(self, node: exp.Expr) -> Term | None:
        assert self._lowering is not None
        if aggregate_calls(node) == [node]:
            aggregate = to_aggregate(self._lowering, self._before, node)
            found = self._aggregates.get(aggregate)
            interval = added_interval(aggregate)
            if found is None or interval is None:
                return found
            kind = self._lowering.typed(interval, self._before).type
            assert isinstance(kind, types.IntervalType)
            result = kind if aggregate.function == "sum" else kind.whole
            return Call("interval_of", (found, Constant(None, result)), span=aggregate.span)
        if (
            isinstance(node, exp.Literal | exp.Query)
            or (isinstance(node, exp.Column) and not node.table)
            or node.find(exp.Query) is not None
            or aggregate_calls(node)
        ):
            return None
        if not any(isinstance(n, exp.Column) for n in node.walk()):
            return None
        try:
            term = self._before.resolve_term(translate(self._lowering, self._before, node))
        except UnknownNameError:
            return None
        return self._groups.get(term)

    def resolve(self, table: str | None, column: str, span: Span | None) -> Term | None:
        entry = find_column(self._before.scope, table, column, span)
        if entry is None:
            return self.resolve_outside(table, column, span)
        group = self._groups.get(self._before.resolve_term(entry.term))
        if group is None:
            raise UnknownNameError(
                f"column {column!r} is neither grouped nor aggregated",
                span=span,
                hint=f"add it to GROUP BY, or take min({column}) or max({column})",
            )
        return group

    def visible_columns(self) -> list[str]:
        return self._before.visible_columns()
