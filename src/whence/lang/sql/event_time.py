"""GROUP BY window(ts, '10 seconds'): the slices of time that rows belong to, as two columns named window.

A row lies in one slice, or in several if a new one begins every so often before the last is over. Then it is joined
with the numbers 0, 1, ... of the slices that began before the newest one it lies in.

    SELECT window.start, count(*) FROM t GROUP BY window(at, '10 seconds', '5 seconds')

    SELECT start, count(*) FROM t, VALUES (0), (1) AS slices(back)
    WHERE at IS NOT NULL AND start + 10 seconds > at  GROUP BY start, start + 10 seconds
    -- with start = at - at % 5 seconds - back * 5 seconds
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from whence.errors import ArityError, TypeMismatchError, UnsupportedError
from whence.lang.sql.block import Block, ColumnEntry
from whence.lang.sql.conditions import add_condition
from whence.lang.sql.expressions import translate
from whence.lang.sql.groups import aggregate_calls
from whence.lang.sql.literals import cast, to_microseconds
from whence.lang.sql.lowering import Lowering
from whence.model import types
from whence.model.terms import Call, Constant, Term

WINDOW, SESSION = "window", "session_window"
_INTERVAL = "interval"
_SLICES = "$slices"  # the alias of the numbers, which nobody can write
MOST_SLICES = 1_000  # a row comes as many times
_STRUCT = "a window has two columns: write {name}.start and {name}.end"


@dataclass(frozen=True)
class TimeWindow:
    """`window(moment, length, slide, offset)`, in microseconds."""

    call: exp.Anonymous
    length: int
    slide: int
    offset: int

    @property
    def moment(self) -> exp.Expr:
        moment: exp.Expr = self.call.expressions[0]
        return moment

    @property
    def slices(self) -> int:
        """How many slices a row can lie in."""
        return -(-self.length // self.slide)


def with_slices(lowering: Lowering, select: exp.Select) -> tuple[exp.Select, TimeWindow | None]:
    """The SELECT with the numbers of the slices of a row among what it reads, and its window by name; and that."""
    calls = list(calls_of(select, WINDOW))
    if not calls:
        return select, None
    window = _time_window(lowering, calls[0])
    for other in calls[1:]:
        if other != calls[0]:
            raise UnsupportedError("a query has one window", span=lowering.span(other), hint="use a subquery in FROM")
    whole = with_named_window(lowering, select, WINDOW)
    if window.slices > 1:
        rows = [exp.Tuple(expressions=[exp.cast(exp.Literal.number(n), "BIGINT")]) for n in range(window.slices)]
        alias = exp.TableAlias(this=exp.to_identifier(_SLICES), columns=[exp.to_identifier("back")])
        join = exp.Join(this=exp.Values(expressions=rows, alias=alias), kind="CROSS")
        whole.set("joins", [*(whole.args.get("joins") or ()), join])
    return whole, window


def add_window(lowering: Lowering, block: Block, window: TimeWindow | None) -> None:
    """The columns window.start and window.end, and the conditions that a row has them."""
    if window is None:
        return
    span = lowering.span(window.call)
    back = None
    if window.slices > 1:
        back = next(entry.term for entry in block.scope if entry.table == _SLICES)
        block.scope = [entry for entry in block.scope if entry.table != _SLICES]
    moment = block.resolve_term(translate(lowering, block, window.moment))
    kind = lowering.typed(moment, block).type
    if not kind.is_time:
        raise TypeMismatchError(f"window takes a TIMESTAMP, not {kind}", span=span)
    micros = Call("unix_micros", (cast(moment, types.TIMESTAMP, span),))
    since = micros if window.offset == 0 else Call("-", (micros, _number(window.offset)))
    start: Term = Call("-", (micros, Call("pmod", (since, _number(window.slide)))))
    if back is not None:
        start = Call("-", (start, Call("*", (back, _number(window.slide)))))
    bounds = (start, Call("+", (start, _number(window.length))))
    for name, bound in zip(("start", "end"), bounds, strict=True):
        block.scope.append(ColumnEntry(WINDOW, name, Call("timestamp_micros", (bound,), span=span)))
    add_condition(lowering, block, exp.Not(this=exp.Is(this=window.moment.copy(), expression=exp.Null())), "WHERE")
    if window.slices > 1:
        end = exp.column("end", table=WINDOW)
        add_condition(lowering, block, exp.GT(this=end, expression=window.moment.copy()), "WHERE")


def calls_of(select: exp.Select, name: str) -> Iterator[exp.Anonymous]:
    """The calls of a function in a SELECT itself."""
    for part in ("expressions", "group", "having", "order", "where", "qualify"):
        found = select.args.get(part)
        for node in found if isinstance(found, list) else [found]:
            todo = [] if node is None else [node]
            while todo:
                here = todo.pop()
                if isinstance(here, exp.Query):
                    continue
                if isinstance(here, exp.Anonymous) and str(here.this).lower() == name:
                    yield here
                todo.extend(here.iter_expressions())


def with_named_window(lowering: Lowering, select: exp.Select, name: str) -> exp.Select:
    """The SELECT with columns for its window: `window(...).start` is window.start, and a group of it is one of both."""
    whole = select.copy()
    aliases = {
        item.alias.lower() for item in whole.expressions if isinstance(item, exp.Alias) and _is_call(item.this, name)
    }
    for dot in list(whole.find_all(exp.Dot)):
        if _is_call(dot.this, name):
            dot.replace(exp.column(dot.expression.name, table=name))
    for column in list(whole.find_all(exp.Column)):
        if column.table.lower() in aliases:
            column.set("table", exp.to_identifier(name))
    group = whole.args.get("group")
    if group is not None:
        both = [exp.column(part, table=name) for part in ("start", "end")]
        groups: list[exp.Expr] = []
        for node in group.expressions:
            is_alias = isinstance(node, exp.Column) and not node.table and node.name.lower() in aliases
            groups += [each.copy() for each in both] if is_alias or _is_call(node, name) else [node]
        group.set("expressions", groups)
    for call in calls_of(whole, name):
        raise UnsupportedError(
            f"{name}(...) is no value of its own here", span=lowering.span(call), hint=_STRUCT.format(name=name)
        )
    for item in whole.expressions:
        if isinstance(item, exp.Column) and not item.table and item.name.lower() in (name, *aliases):
            raise UnsupportedError(
                f"{item.name} is no value of its own here",
                span=lowering.span(item),
                hint=_STRUCT.format(name=item.name),
            )
    return whole


def _is_call(node: exp.Expr, name: str) -> bool:
    return isinstance(node, exp.Anonymous) and str(node.this).lower() == name


def _time_window(lowering: Lowering, call: exp.Anonymous) -> TimeWindow:
    span = lowering.span(call)
    if not 2 <= len(call.expressions) <= 4:
        raise ArityError(
            f"window takes a time, a length, and if need be a slide and a start: 2 to 4, not {len(call.expressions)}",
            span=span,
        )
    if aggregate_calls(call.expressions[0]):
        raise UnsupportedError("window of an aggregate is not supported", span=span, hint="use a subquery in FROM")
    length, *rest = (length_of(lowering, each, least=1 - at // 2) for at, each in enumerate(call.expressions[1:]))
    slide, offset = (*rest, length)[0], (*rest[1:], 0)[0]
    if slide > length:
        raise UnsupportedError(
            "a window slides by at most its length", span=lowering.span(call.expressions[2]), hint="make it longer"
        )
    if abs(offset) >= slide:
        raise UnsupportedError("the start of windows is less than their slide", span=lowering.span(call.expressions[3]))
    found = TimeWindow(call, length, slide, offset)
    if found.slices > MOST_SLICES:
        raise UnsupportedError(
            f"every row would lie in {found.slices:,} windows", span=span, hint="make the slide longer"
        )
    return found


def length_of(lowering: Lowering, node: exp.Expr, least: int = 1) -> int:
    """A length of time in microseconds: '10 seconds', 'interval 10 seconds'. Spark takes it as a text only."""
    span = lowering.span(node)
    if not isinstance(node, exp.Literal) or not node.is_string:
        raise UnsupportedError(
            "the length of a window is a constant text", span=span, hint="write for example '10 seconds'"
        )
    text = node.name.strip()
    text = text[len(_INTERVAL) :] if text.lower().startswith(_INTERVAL) else text
    return 0 if least == 0 and text.split()[:1] == ["0"] else to_microseconds(text, span)


def _number(value: int) -> Constant:
    return Constant(value, types.BIGINT)
