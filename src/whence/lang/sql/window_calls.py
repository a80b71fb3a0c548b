"""`f(x) OVER (PARTITION BY ... ORDER BY ... ROWS ...)` as a window function over the columns of a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from whence.errors import TypeMismatchError, UnknownNameError, UnsupportedError, did_you_mean
from whence.functions.comparison import check_comparable
from whence.functions.widening import is_number
from whence.functions.windows import NEIGHBOURS, PICKS, PLACES, has_frame
from whence.lang.sql.block import Block
from whence.lang.sql.expressions import translate
from whence.lang.sql.functions import AGGREGATE_SYNONYMS
from whence.lang.sql.groups import added_interval, to_aggregate
from whence.lang.sql.intervals import interval_parts
from whence.lang.sql.literals import cast, to_constant
from whence.lang.sql.lowering import Lowering
from whence.model import types
from whence.model.schema import DURATION_UNITS
from whence.model.span import Span
from whence.model.terms import Constant, Frame, SortKey, Term, Window
from whence.model.types import Type

_SYNONYMS = {"first": "first_value", "last": "last_value"}
_FUNCTIONS = {name: name for name in (*PLACES, *NEIGHBOURS, *PICKS) if name != "within"} | _SYNONYMS
_WHOLE = Frame("rows")
_RUNNING = Frame("range", None, Constant(0, types.INT))


@dataclass(frozen=True)
class NamedWindows:
    """What WINDOW calls its windows, in small letters."""

    named: Mapping[str, exp.Window]

    @classmethod
    def of(cls, select: exp.Select) -> NamedWindows:
        return cls({str(each.this.name).lower(): each for each in select.args.get("windows") or ()})

    def meant(self, lowering: Lowering, node: exp.Window, names: int = 0) -> exp.Window:
        """The window that a call is over: its own, or the one of that name, which may be another name for one."""
        alias = node.args.get("alias")
        if alias is None:
            return node
        span = lowering.span(alias) or lowering.span(node)
        if node.args.get("partition_by") or node.args.get("order") or node.args.get("spec"):
            raise UnsupportedError(
                "a window that goes on from a named one is not supported", span=span, hint="write the window out"
            )
        found = self.named.get(alias.name.lower())
        if names > 1:
            raise UnsupportedError("this window is a name of a name of a window", span=span, hint="name it itself")
        if found is None:
            hint = did_you_mean(alias.name, self.named)
            raise UnknownNameError(f"there is no window {alias.name!r}", span=span, hint=hint)
        return self.meant(lowering, found, names + 1)


def window_call(lowering: Lowering, block: Block, node: exp.Window, windows: NamedWindows) -> Window:
    """The window function with terms over the block, which may be more than columns."""
    span = lowering.span(node)
    over = windows.meant(lowering, node)
    partition = [_translated(lowering, block, each) for each in over.args.get("partition_by") or ()]
    order = sort_keys(lowering, block, over.args.get("order"))
    function, arguments = _call(lowering, block, node.this, span)
    for term in (*partition, *(key.term for key in order)):
        check_comparable(lowering.typed(term, block).type, "told apart in a window", span)
    is_ordered = over.args.get("order") is not None
    if function in (*PLACES, *NEIGHBOURS) and not is_ordered:
        raise UnsupportedError(f"{function} needs an ORDER BY in its window", span=span)
    keys = [lowering.typed(key.term, block).type for key in order]
    spec = over.args.get("spec")
    frame = None if spec is None else _frame(lowering, spec, keys or _constant_key(lowering, block, over), span)
    if frame is not None and frame.unit == "range" and not keys:
        frame = _around_zero(frame, span)
    if frame is not None and not has_frame(function):
        raise UnsupportedError(f"{function} looks at no ROWS or RANGE", span=span, hint="leave it out")
    if frame is None and has_frame(function):
        frame = _RUNNING if is_ordered else _WHOLE
    partition = [term for term in partition if not isinstance(term, Constant)]
    return Window(function, tuple(arguments), tuple(partition), order, frame, span=span)


def _constant_key(lowering: Lowering, block: Block, over: exp.Window) -> list[Type]:
    """The type of a single constant that a window is ordered by."""
    ordered = over.args["order"].expressions if over.args.get("order") is not None else []
    kinds = [lowering.typed(_translated(lowering, block, each.this), block).type for each in ordered]
    return kinds if len(kinds) == 1 else []


def _around_zero(frame: Frame, span: Span | None) -> Frame:
    """A frame by range where all rows are at a distance of 0 from each other."""
    low, high = (0 if bound is None else bound.value for bound in (frame.start, frame.end))
    if low <= 0 <= high:  # type: ignore[operator]
        return _WHOLE
    raise UnsupportedError("this frame has no rows", span=span)


def sort_keys(lowering: Lowering, block: Block, order: exp.Order | None) -> tuple[SortKey, ...]:
    """What ORDER BY says; constants put nothing in order."""
    found = []
    for ordered in order.expressions if order is not None else ():
        term = _translated(lowering, block, ordered.this)
        if not isinstance(term, Constant):
            found.append(sort_key(term, ordered))
    return tuple(found)


def sort_key(term: Term, ordered: exp.Ordered) -> SortKey:
    return SortKey(term, bool(ordered.args.get("desc")), not ordered.args.get("nulls_first"))


def _translated(lowering: Lowering, block: Block, node: exp.Expr) -> Term:
    term = block.resolve_term(translate(lowering, block, node))
    lowering.typed(term, block)
    return term


def _call(lowering: Lowering, block: Block, node: exp.Expr, span: Span | None) -> tuple[str, list[Term]]:
    ignores = isinstance(node, exp.IgnoreNulls)
    call = node.this if isinstance(node, exp.IgnoreNulls | exp.RespectNulls) else node
    inner = call.this if isinstance(call, exp.Filter) else call
    name = str(inner.this).lower() if isinstance(inner, exp.Anonymous) else inner.key
    if name in AGGREGATE_SYNONYMS:
        if ignores:
            raise UnsupportedError(f"IGNORE NULLS is not for {name}", span=span, hint="it leaves NULLs out anyway")
        aggregate = to_aggregate(lowering, block, call)
        if aggregate.distinct:
            raise UnsupportedError("DISTINCT in a window function is not supported", span=span)
        if added_interval(aggregate) is not None:
            raise UnsupportedError(f"{name} of an INTERVAL over a window is not supported", span=span)
        return aggregate.function, [] if aggregate.argument is None else [aggregate.argument]
    if name not in _FUNCTIONS or call is not inner:
        known = (*_FUNCTIONS, *AGGREGATE_SYNONYMS)
        raise UnsupportedError(
            f"{name} is no window function here",
            span=span,
            hint=did_you_mean(name, known) or f"there are {', '.join(known)}",
        )
    return _FUNCTIONS[name], _arguments(lowering, block, _FUNCTIONS[name], inner.expressions, ignores, span)


def _arguments(
    lowering: Lowering, block: Block, function: str, nodes: Sequence[exp.Expr], ignores: bool, span: Span | None
) -> list[Term]:
    if nodes and isinstance(nodes[0], exp.IgnoreNulls | exp.RespectNulls):
        ignores = ignores or isinstance(nodes[0], exp.IgnoreNulls)
        nodes = [nodes[0].this, *nodes[1:]]
    if any(isinstance(node, exp.Star | exp.Distinct) for node in nodes):
        raise UnsupportedError(f"{function} takes neither * nor DISTINCT", span=span)
    terms = [_translated(lowering, block, node) for node in nodes]
    if function in NEIGHBOURS:
        if ignores:
            raise UnsupportedError(f"IGNORE NULLS is not supported for {function}", span=span)
        if len(terms) > 2:
            terms[2] = cast(terms[2], lowering.typed(terms[0], block).type, span)
    flag = {"first_value": 1, "last_value": 1, "nth_value": 2}.get(function)
    if ignores:
        if flag is None or len(terms) != flag:
            raise UnsupportedError(f"IGNORE NULLS is not for {function}", span=span)
        terms.append(Constant(True, types.BOOLEAN))
    return terms


# Frames


def _frame(lowering: Lowering, spec: exp.WindowSpec, keys: Sequence[Type], span: Span | None) -> Frame:
    unit = str(spec.args["kind"]).lower()
    if spec.args.get("exclude") or unit not in ("rows", "range"):
        raise UnsupportedError("a window has a frame of ROWS or RANGE, without EXCLUDE", span=span)
    sides = [
        _bound(lowering, unit, spec.args.get(name) or "CURRENT ROW", spec.args.get(f"{name}_side"), keys, span)
        for name in ("start", "end")
    ]
    (low, is_last), (high, _) = sides
    ends_before = sides[1][1] is False
    out_of_order = low is not None and high is not None and low.value > high.value  # type: ignore[operator]
    if is_last or ends_before or out_of_order:
        raise TypeMismatchError("the frame ends before it begins", span=span)
    return Frame(unit, low, high)


def _bound(
    lowering: Lowering, unit: str, bound: Any, side: Any, keys: Sequence[Type], span: Span | None
) -> tuple[Constant | None, bool | None]:
    """A bound; for UNBOUNDED, whether it is behind everything."""
    text = str(bound).upper() if isinstance(bound, str) else ""
    follows = str(side or "").upper() == "FOLLOWING"
    if text == "UNBOUNDED":
        return None, follows
    if text == "CURRENT ROW":
        return Constant(0, types.INT), None
    place = lowering.span(bound) or span
    if unit == "rows" or bound is None:
        return _distance(bound, follows, types.INT, place), None
    if len(keys) != 1:
        raise UnsupportedError("RANGE with a distance needs an ORDER BY of one column", span=place)
    return _distance(bound, follows, keys[0], place), None


def _distance(bound: exp.Expr, follows: bool, key: Type, span: Span | None) -> Constant:
    sign = 1 if follows else -1
    bound = bound.unnest()
    if isinstance(bound, exp.Interval) and key.is_time:
        months, days, micros = interval_parts(bound, span, negative=False)
        if months or (key == types.DATE and micros):
            raise UnsupportedError(f"an INTERVAL of this unit is no distance between {key} values", span=span)
        amount = days if key == types.DATE else days * DURATION_UNITS["day"] + micros
        if amount < 0:
            raise TypeMismatchError("a distance is not negative", span=span)
        return Constant(sign * amount, types.BIGINT, span=span)
    if not isinstance(bound, exp.Literal) or bound.is_string or not (is_number(key) or key == types.DATE):
        raise UnsupportedError(f"a frame over {key} values ends at a number that is written down", span=span)
    number = to_constant(bound, span)
    whole = types.BIGINT if key == types.DATE else key
    converted = cast(number, whole, span)
    assert isinstance(converted, Constant)
    if converted.value != number.value:
        raise TypeMismatchError(f"{bound.name} is no distance between {key} values", span=span)
    return Constant(sign * converted.value, converted.type, span=span)  # type: ignore[operator]
