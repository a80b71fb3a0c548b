"""Aggregates that are written with others: bool_and(x) is min(x), stddev(x) a function of collect_list(x).

The tree that was read is changed before anything is looked up, so that they stand wherever an aggregate may.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, count

from sqlglot import exp

from whence.errors import ArityError, UnsupportedError
from whence.lang.sql.positions import span_of
from whence.model.span import SourceText

Arguments = list[exp.Expr]


def expand_aggregates(tree: exp.Expr, source: SourceText) -> exp.Expr:
    """The tree with those aggregates expanded that others say."""
    return tree.transform(lambda node: _expanded(node, source), copy=False)


def _expanded(node: exp.Expr, source: SourceText) -> exp.Expr:
    match node:
        case exp.Filter(this=exp.WithinGroup(this=exp.Anonymous() as call)):
            made = _within_group(
                node.this, call, lambda inner: exp.Filter(this=inner, expression=node.expression), source
            )
        case exp.WithinGroup(this=exp.Anonymous() as call) if not isinstance(node.parent, exp.Filter | exp.Window):
            made = _within_group(node, call, lambda inner: inner, source)
        case exp.Window(this=exp.IgnoreNulls(this=exp.Anonymous() as inside)) if inside.name.lower() == "any_value":
            inside.set("this", "first_value")
            return node
        case exp.Window(this=exp.WithinGroup(this=exp.Anonymous() as call)):
            return _over_group(node, call, source)
        case exp.Window(this=exp.Anonymous() | exp.Filter(this=exp.Anonymous())):
            return _windowed(node, source)
        case exp.Filter(this=exp.Any(this=exp.Paren(this=condition))):
            call = _function("any", [condition])
            made = _call(call, lambda inner: exp.Filter(this=inner, expression=node.expression), source)
        case exp.Filter(this=exp.Anonymous() as call):
            made = _call(call, lambda inner: exp.Filter(this=inner, expression=node.expression), source)
        case exp.Any(this=exp.Paren(this=condition)) if not isinstance(node.parent, exp.Binary):
            # The parser takes the aggregate any(x) for a comparison with several values.
            call = _function("any", [condition])
            made = _call(call, lambda inner: inner, source)
        case exp.Anonymous() as call if not isinstance(node.parent, exp.Window | exp.Filter | exp.WithinGroup):
            made = _call(call, lambda inner: inner, source)
        case _:
            return node
    if made is None:
        return node
    if isinstance(node.parent, exp.Select) and node.arg_key == "expressions":
        # The column goes by what was written.
        made = exp.Alias(this=made, alias=exp.to_identifier(_free_name(call.name.lower(), node.parent)))
    for part in made.walk():
        if "start" not in part.meta:
            part.meta.update(node.meta)
    return made


def _over_group(node: exp.Window, call: exp.Anonymous, source: SourceText) -> exp.Expr:
    """`f(...) WITHIN GROUP (ORDER BY x) OVER w`."""

    def over(inner: exp.Anonymous) -> exp.Expr:
        window = node.copy()
        window.set("this", inner)
        return window

    _check_whole(node, call, source)
    made = _within_group(node.this, call, over, source)
    if made is None:
        return node
    for part in made.walk():
        if "start" not in part.meta:
            part.meta.update(node.meta)
    return made


def _check_whole(node: exp.Window, call: exp.Anonymous, source: SourceText) -> None:
    """What is ordered by itself is taken of whole partitions."""
    select = node.find_ancestor(exp.Select)
    alias = node.args.get("alias")
    named = [w for w in (select.args.get("windows") or () if select else ()) if alias and w.this.name == alias.name]
    if any(each.args.get(part) is not None for each in (node, *named) for part in ("order", "spec")):
        raise UnsupportedError(
            f"{call.name.lower()} takes a window of whole partitions",
            span=span_of(call, source),
            hint="leave ORDER BY and ROWS out of OVER",
        )


def _windowed(node: exp.Window, source: SourceText) -> exp.Expr:
    """`stddev(x) OVER w` is a function of `collect_list(x) OVER w`."""
    call = node.this.this if isinstance(node.this, exp.Filter) else node.this
    if str(call.this).lower() == "any_value":
        # Of rows in order the first one is as good as any.
        call.set("this", "first_value")
        return node
    condition = node.this.expression if isinstance(node.this, exp.Filter) else None

    def over(inner: exp.Anonymous) -> exp.Expr:
        window = node.copy()
        window.set("this", inner if condition is None else exp.Filter(this=inner, expression=condition.copy()))
        return window

    if str(call.this).lower() in ("collect_set", "listagg", "string_agg"):
        return node
    if str(call.this).lower() == "median":
        _check_whole(node, call, source)
    made = _call(call, over, source)
    if made is None:
        return node
    for part in made.walk():
        if "start" not in part.meta:
            part.meta.update(node.meta)
    return made


def _free_name(name: str, select: exp.Select) -> str:
    taken = {item.alias.lower() for item in select.expressions if isinstance(item, exp.Alias)}
    return next(free for free in chain([name], (f"{name}_{number}" for number in count(2))) if free not in taken)


def _call(
    call: exp.Anonymous,
    around: Callable[[exp.Anonymous], exp.Expr],
    source: SourceText,
    *,
    descending: bool = False,
) -> exp.Expr | None:
    """What a call stands for. `around` puts the FILTER around the aggregate in it. `descending` is about listagg."""
    lowered = str(call.this).lower()
    arguments = list(call.expressions)
    distinct = len(arguments) == 1 and isinstance(arguments[0], exp.Distinct)
    values = arguments[0].expressions if distinct else arguments
    if lowered in _RENAMED:
        _check(lowered, values, 1, call, source)
        if lowered in _OF_CONDITIONS:
            # It is one, or is refused.
            values = [exp.And(this=exp.Paren(this=values[0].copy()), expression=exp.Boolean(this=True))]
        return around(_aggregate(_RENAMED[lowered], values, distinct))
    if lowered == "collect_set":
        _check(lowered, values, 1, call, source)
        return around(_aggregate("collect_list", values, distinct=True))
    if lowered == "count_if":
        _check(lowered, values, 1, call, source)
        condition = exp.If(this=values[0], true=exp.Literal.number(1))
        return around(_aggregate("count", [exp.Case(ifs=[condition])], distinct))
    if lowered in _OF_DOUBLES:
        function, more = _OF_DOUBLES[lowered]
        _check(lowered, values, 1 + more, call, source)
        collected = around(_aggregate("collect_list", [_double(values[0])], distinct))
        share = [exp.Literal.number("0.5")] if lowered == "median" else values[1:]
        return _function(function, [collected, *share])
    if lowered in _OF_VALUES:
        if lowered == "mode" and distinct:
            raise UnsupportedError("mode(DISTINCT ...) has no meaning", span=span_of(call, source))
        if lowered == "mode" and len(values) == 2 and isinstance(values[1], exp.Boolean):
            # Whether of several the same one is taken every time, which is the case anyway.
            values = values[:1]
        _check(lowered, values, 1, call, source)
        collected = around(_aggregate("collect_list", values, distinct))
        # In a window they come in the order of its rows, and of two values the first one may be asked for.
        return _function(_OF_VALUES[lowered], [_function("array_sort", [collected])])
    if lowered in _OF_PAIRS:
        _check(lowered, values, 2, call, source)
        if distinct:
            raise UnsupportedError(f"{lowered}(DISTINCT ...) is not supported", span=span_of(call, source))
        pair = _function("array", [_double(value) for value in values])
        there = exp.And(this=_not_null(values[0]), expression=_not_null(values[1]))
        argument = exp.Case(ifs=[exp.If(this=there, true=pair)])
        if lowered == "regr_count":
            return around(_aggregate("count", [argument], False))
        return _function(f"array_{lowered}", [around(_aggregate("collect_list", [argument], False))])
    if lowered in ("max_by", "min_by"):
        _check(lowered, values, 2, call, source)
        # Structs are in the order of their first field, and where that is the same of the second one.
        pair = _function("named_struct", [exp.Literal.string("by"), values[1], exp.Literal.string("value"), values[0]])
        argument = exp.Case(ifs=[exp.If(this=_not_null(values[1]), true=pair)])
        best = around(_aggregate(lowered.removesuffix("_by"), [argument], False))
        return exp.Dot(this=best, expression=exp.to_identifier("value"))
    if lowered in ("listagg", "string_agg"):
        if not 1 <= len(values) <= 2:
            raise ArityError(f"{lowered} takes 1 or 2 arguments", span=span_of(call, source))
        separators = [value for value in values[1:] if not isinstance(value, exp.Null)]
        if not all(isinstance(value, exp.Literal) for value in separators):
            raise UnsupportedError(f"the separator of {lowered} is a constant", span=span_of(call, source))
        # In the order of the values, which that of their texts need not be.
        collected = around(_aggregate("collect_list", values[:1], distinct))
        collected = _function("reverse", [collected]) if descending else collected
        texts = exp.Cast(this=collected, to=exp.DataType.build("ARRAY<STRING>", dialect="spark"))
        return _function("array_listagg", [texts, *separators])
    return None


def _within_group(
    node: exp.WithinGroup, call: exp.Anonymous, around: Callable[[exp.Anonymous], exp.Expr], source: SourceText
) -> exp.Expr | None:
    """`f(...) WITHIN GROUP (ORDER BY x)`."""
    lowered = str(call.this).lower()
    ordered = node.expression.expressions
    if len(ordered) != 1:
        return None
    (order,) = ordered
    descending = bool(order.args.get("desc"))
    if lowered in ("percentile_cont", "percentile_disc"):
        _check(lowered, call.expressions, 1, call, source)
        share = call.expressions[0]
        function = _OF_DOUBLES[lowered][0]
        if descending and lowered == "percentile_disc":
            function = "array_percentile_disc_desc"
        elif descending:
            share = exp.Sub(this=exp.Literal.number(1), expression=exp.Paren(this=share.copy()))
        return _function(function, [around(_aggregate("collect_list", [_double(order.this)], False)), share])
    if lowered in ("listagg", "string_agg") and order.this == _listed(call):
        return _call(call, around, source, descending=descending)
    if lowered == "mode" and not call.expressions:
        collected = _function("array_sort", [around(_aggregate("collect_list", [order.this], False))])
        return _function("array_mode", [_function("reverse", [collected]) if descending else collected])
    return None


def _listed(call: exp.Anonymous) -> exp.Expr:
    first: exp.Expr = call.expressions[0]
    inside: exp.Expr = first.expressions[0] if isinstance(first, exp.Distinct) else first
    return inside


def _aggregate(name: str, values: Arguments, distinct: bool) -> exp.Anonymous:
    copied = [value.copy() for value in values]
    return _function(name, [exp.Distinct(expressions=copied)] if distinct else copied)


def _function(name: str, arguments: Arguments) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=[*arguments])


def _double(value: exp.Expr) -> exp.Expr:
    return exp.Cast(this=value.copy(), to=exp.DataType.build("DOUBLE"))


def _not_null(value: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null()))


def _check(name: str, values: Arguments, wanted: int, call: exp.Anonymous, source: SourceText) -> None:
    if len(values) != wanted or any(isinstance(value, exp.Star) for value in values):
        plural = "" if wanted == 1 else "s"
        raise ArityError(f"{name} takes {wanted} argument{plural}", span=span_of(call, source))


_OF_CONDITIONS = ("bool_and", "every", "bool_or", "some", "any")
_RENAMED = {
    "bool_and": "min",
    "every": "min",
    "bool_or": "max",
    "some": "max",
    "any": "max",
    # Of rows in no order any value is as good as another; the least one is the same after every change.
    "any_value": "min",
    "array_agg": "collect_list",
}
# Functions of all values as DOUBLEs, and how many more arguments they take.
_OF_DOUBLES = {
    **dict.fromkeys(("stddev", "std", "stddev_samp"), ("array_stddev_samp", 0)),
    "stddev_pop": ("array_stddev_pop", 0),
    **dict.fromkeys(("variance", "var_samp"), ("array_var_samp", 0)),
    "var_pop": ("array_var_pop", 0),
    "skewness": ("array_skewness", 0),
    "kurtosis": ("array_kurtosis", 0),
    "product": ("array_product", 0),
    "percentile": ("array_percentile", 1),
    "median": ("array_percentile", 0),
    "percentile_cont": ("array_percentile", 1),
    "percentile_disc": ("array_percentile_disc", 1),
}
_OF_VALUES = {
    **{name: f"array_{name}" for name in ("mode", "bit_and", "bit_or", "bit_xor")},
}
_OF_PAIRS = (
    *("corr", "covar_pop", "covar_samp", "regr_count", "regr_sxx", "regr_syy", "regr_sxy"),
    *("regr_avgx", "regr_avgy", "regr_slope", "regr_intercept", "regr_r2"),
)
