"""Expressions that sqlglot has a form of its own for: CASE, BETWEEN, LIKE, EXTRACT, brackets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from whence.errors import ArityError, TypeMismatchError, UnsupportedError
from whence.lang.sql.intervals import interval_constant
from whence.lang.sql.lambdas import parameter
from whence.lang.sql.shorthand import part_of_time
from whence.lang.sql.structs import with_fields
from whence.model import types
from whence.model.span import Span
from whence.model.terms import Call, Constant, Term

Sub = Callable[[exp.Expr], Term]

# The parts of a node that its translation reads; whatever else is there is refused.
PARTS: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.Between: ("low", "high"),
    exp.In: ("query",),
    exp.Like: ("negate",),
    exp.ILike: ("negate",),
    exp.Case: ("ifs", "default"),
    exp.If: ("true", "false"),
    exp.Substring: ("start", "length"),
    exp.Trim: ("position", "expression"),
    exp.StrPosition: ("substr",),
    exp.Cast: ("to",),
    exp.TryCast: ("to", "safe"),
    exp.Column: ("table", "db", "catalog"),
    exp.Literal: ("is_string",),
    exp.Div: ("typed", "safe"),
    exp.Floor: ("decimals",),
    exp.Ceil: ("decimals",),
    exp.Bracket: ("offset", "safe"),
    exp.Interval: ("unit",),
    exp.Overlay: ("from_", "for_"),
}


def negate(term: Term, span: Span | None) -> Term:
    match term:
        case Call(function="isnull"):
            return Call("isnotnull", term.arguments, span=span)
    return Call("not", (term,), span=span)


def _between(node: Any, sub: Sub, span: Span | None) -> Term:
    value = sub(node.this)
    low = Call(">=", (value, sub(node.args["low"])), span=span)
    high = Call("<=", (value, sub(node.args["high"])), span=span)
    return Call("and", (low, high), span=span)


def _in_list(node: Any, sub: Sub, span: Span | None) -> Term:
    if isinstance(node.this, exp.Tuple):
        return _row_in_list(node, sub, span)
    return Call("in", (sub(node.this), *(sub(e) for e in node.expressions)), span=span)


def _row_in_list(node: Any, sub: Sub, span: Span | None) -> Term:
    """`(a, b) IN ((1, 2), (3, 4))`: rows are compared as Spark compares structs, in which NULL equals NULL."""
    left = [sub(each) for each in node.this.expressions]
    rows: list[Term] = []
    for each in node.expressions:
        right = [sub(value) for value in each.expressions] if isinstance(each, exp.Tuple) else [sub(each)]
        if len(right) != len(left):
            raise ArityError(f"this row has {len(right)} values, and {len(left)} are compared with it", span=span)
        pairs = [Call("<=>", pair, span=span) for pair in zip(left, right, strict=True)]
        rows.append(Call("and", tuple(pairs), span=span) if len(pairs) > 1 else pairs[0])
    return Call("or", tuple(rows), span=span) if len(rows) > 1 else rows[0]


def _is(node: Any, sub: Sub, span: Span | None) -> Term:
    if isinstance(node.expression, exp.Null):
        inner = node.this.unnest()
        inner = inner.this.unnest() if isinstance(inner, exp.Not) else inner
        if isinstance(inner, exp.In) and inner.args.get("query") is not None:
            raise UnsupportedError(
                "IS NULL of IN (SELECT ...) is not supported", span=span, hint="use EXISTS, and compare NULLs by <=>"
            )
        return Call("isnull", (sub(node.this),), span=span)
    if not isinstance(node.expression, exp.Boolean):
        raise UnsupportedError(
            "IS takes NULL, TRUE, FALSE or DISTINCT FROM", span=span, hint="compare with = or <=> instead"
        )
    return Call("<=>", (sub(node.this), sub(node.expression)), span=span)


def _like(node: Any, sub: Sub, span: Span | None, *escape: Term) -> Term:
    if isinstance(node.expression, exp.All | exp.Any):
        return _like_several(node, sub, span)
    term = _is_like(node, sub(node.this), sub(node.expression), span, *escape)
    return negate(term, span) if node.args.get("negate") else term


def _is_like(node: Any, value: Term, pattern: Term, span: Span | None, *escape: Term) -> Term:
    sides = [value, pattern]
    if isinstance(node, exp.ILike):
        sides = [Call("lower", (side,), span=side.span) for side in sides]
    return Call("like", (*sides, *escape), span=span)


def _like_several(node: Any, sub: Sub, span: Span | None) -> Term:
    """`a LIKE ANY ('x%', 'y%')` is like one of them, `a NOT LIKE ANY` unlike one of them, and ALL all of them."""
    listed = node.expression.this
    patterns = listed.expressions if isinstance(listed, exp.Tuple) else [listed]
    if not patterns:
        raise ArityError("LIKE compares with one pattern at least", span=span)
    if any(isinstance(each, exp.Query) for each in patterns) or isinstance(listed, exp.Query):
        raise UnsupportedError("LIKE compares with a list of patterns, and no query", span=span, hint="use EXISTS")
    value = sub(node.this)
    terms: list[Term] = [_is_like(node, value, sub(each.unnest()), span) for each in patterns]
    if node.args.get("negate"):
        terms = [negate(each, span) for each in terms]
    joined = "and" if isinstance(node.expression, exp.All) else "or"
    return Call(joined, tuple(terms), span=span) if len(terms) > 1 else terms[0]


def _escape(node: Any, sub: Sub, span: Span | None) -> Term:
    if not isinstance(node.this, exp.Like | exp.ILike):
        raise UnsupportedError("ESCAPE belongs to LIKE", span=span)
    return _like(node.this, sub, span, sub(node.expression))


def _case(node: Any, sub: Sub, span: Span | None) -> Term:
    default = node.args.get("default")
    result = sub(default) if default is not None else Constant(None, types.NULL, span=span)
    for branch in reversed(node.args["ifs"]):
        test = sub(branch.this)
        if node.this is not None:
            test = Call("=", (sub(node.this), test), span=span)
        elif isinstance(branch.this.unnest(), exp.Null):
            raise never_true("WHEN", test.span or span)
        result = Call("if", (test, sub(branch.args["true"]), result), span=span)
    return result


def never_true(where: str, span: Span | None) -> TypeMismatchError:
    """The refusal of a NULL that stands for a whole condition."""
    return TypeMismatchError(f"{where} needs a condition, and NULL is never TRUE", span=span)


def _if(node: Any, sub: Sub, span: Span | None) -> Term:
    otherwise = node.args.get("false")
    last = sub(otherwise) if otherwise is not None else Constant(None, types.NULL, span=span)
    return Call("if", (sub(node.this), sub(node.args["true"]), last), span=span)


def _extract(node: Any, sub: Sub, span: Span | None) -> Term:
    field = node.this if isinstance(node.this, exp.Var | exp.Identifier | exp.Column) else exp.Var(this="")
    return part_of_time(field.name, sub(node.expression), span)


def _rounded(node: Any, sub: Sub, span: Span | None) -> Term:
    name = "floor" if isinstance(node, exp.Floor) else "ceil"
    digits = node.args.get("decimals")
    if digits is None:
        return Call(name, (sub(node.this),), span=span)
    return Call(f"{name}_digits", (sub(node.this), sub(digits)), span=span)


def _item(node: Any, sub: Sub, span: Span | None) -> Term:
    """array[position], from 0."""
    if len(node.expressions) != 1:
        raise UnsupportedError("an index in brackets is one value", span=span)
    return Call("item", (sub(node.this), sub(node.expressions[0])), span=span)


def _field(node: Any, sub: Sub, span: Span | None) -> Term:
    """value.field, where the value is no name."""
    return with_fields(sub(node.this), [node.expression.name], span)


def _bytes(node: Any, sub: Sub, span: Span | None) -> Term:
    value = types.BINARY.from_literal(str(node.this) if len(str(node.this)) % 2 == 0 else f"0{node.this}")
    if value is None:
        raise TypeMismatchError(f"X'{node.this}' has digits other than 0-9 and A-F", span=span)
    return Constant(value, types.BINARY, span=span)


def _interval(node: Any, sub: Sub, span: Span | None) -> Term:
    constant = interval_constant(node, span)
    if constant is None:
        raise UnsupportedError(
            "an INTERVAL of weeks or of several kinds of units has no type",
            span=span,
            hint="add it to a date or a timestamp, or write it in days, as in INTERVAL '14' DAY",
        )
    return constant


def _shift(node: Any, sub: Sub, span: Span | None) -> Term:
    name = "shiftleft" if isinstance(node, exp.BitwiseLeftShift) else "shiftright"
    return Call(name, (sub(node.this), sub(node.expression)), span=span)


def _substring(node: Any, sub: Sub, span: Span | None) -> Term:
    parts = [node.this, node.args.get("start"), node.args.get("length")]
    return Call("substring", tuple(sub(p) for p in parts if p is not None), span=span)


def _trim(node: Any, sub: Sub, span: Span | None) -> Term:
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get((node.args.get("position") or "").upper(), "trim")
    characters = () if node.expression is None else (sub(node.expression),)
    return Call(name, (*characters, sub(node.this)), span=span)


def _position(node: Any, sub: Sub, span: Span | None) -> Term:
    return Call("locate", (sub(node.args["substr"]), sub(node.this)), span=span)


def _overlay(node: Any, sub: Sub, span: Span | None) -> Term:
    parts = [node.this, node.expression, node.args["from_"], node.args.get("for_")]
    return Call("overlay", tuple(sub(part) for part in parts if part is not None), span=span)


SPECIAL_FORMS: dict[type[exp.Expr], Callable[[Any, Sub, Span | None], Term]] = {
    exp.Between: _between,
    exp.In: _in_list,
    exp.Is: _is,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _escape,
    exp.Case: _case,
    exp.If: _if,
    exp.Extract: _extract,
    exp.Floor: _rounded,
    exp.Ceil: _rounded,
    exp.Substring: _substring,
    exp.Trim: _trim,
    exp.StrPosition: _position,
    exp.Bracket: _item,
    exp.Interval: _interval,
    exp.Identifier: lambda node, _, span: parameter(node, span),
    exp.Dot: _field,
    exp.Overlay: _overlay,
    exp.HexString: _bytes,
    exp.BitwiseLeftShift: _shift,
    exp.BitwiseRightShift: _shift,
    exp.BitwiseNot: lambda node, sub, span: Call("~", (sub(node.this),), span=span),
}
