"""SQL expressions to terms, in the scope of a block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sqlglot import exp

from whence.errors import ArityError, TypeMismatchError, UnknownNameError, UnsupportedError, did_you_mean
from whence.functions.builtin import BUILTINS
from whence.lang.sql import subqueries
from whence.lang.sql.block import Block
from whence.lang.sql.functions import AGGREGATE_SYNONYMS, TWO_ARGUMENTS, builtin_name, missing
from whence.lang.sql.grammar import DIALECT, Plus
from whence.lang.sql.literals import cast, interval_parts, not_literal, to_constant, to_type
from whence.lang.sql.lowering import Lowering
from whence.lang.sql.refuse import refuse_extras
from whence.model import types
from whence.model.span import Span
from whence.model.terms import Call, Constant, Term

BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "div",
    exp.Mod: "%",
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.And: "and",
    exp.Or: "or",
    exp.DPipe: "concat",
    exp.RegexpLike: "rlike",
}
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod)
COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
# A NULL in any of these makes the whole NULL, so a missing value can as well be left out of a comparison.
_STRICT = (*COMPARISONS, *_ARITHMETIC, exp.Neg, Plus, exp.Paren, exp.Cast)


def translate(lowering: Lowering, block: Block, node: exp.Expr, *, strict: bool = False) -> Term:
    """The term for an expression. `strict`: the row is lost anyway where this value is NULL."""
    known = block.known(node)
    if known is not None:
        return known
    span = lowering.span(node)
    strict = strict and isinstance(node, (*_STRICT, exp.Subquery))

    if type(node) in _REFUSED:
        raise unsupported(node, span)
    if not isinstance(node, exp.Query):
        refuse_extras(lowering, node, "this", "expression", "expressions", *_PARTS.get(type(node), ()))

    def sub(child: exp.Expr) -> Term:
        return translate(lowering, block, child, strict=strict)

    match node:
        case exp.Paren():
            return sub(node.this)
        case exp.Column():
            return _column(lowering, block, node, span)
        case exp.Literal():
            return to_constant(node, span)
        case exp.Boolean():
            return Constant(bool(node.this), types.BOOLEAN, span=span)
        case exp.Null():
            return Constant(None, types.NULL, span=span)
        case exp.Neg(this=exp.Literal() as literal) if not literal.is_string:
            return to_constant(literal, span, negative=True)
        case Plus():
            return Call("+", (sub(node.this),), span=span)
        case exp.Neg():
            return Call("-", (sub(node.this),), span=span)
        case exp.Not():
            return negate(sub(node.this), span)
        case exp.Add() | exp.Sub() if isinstance(node.expression, exp.Interval):
            months, days, micros = interval_parts(node.expression, span, negative=isinstance(node, exp.Sub))
            return add_interval(sub(node.this), months, days, micros, span)
        case exp.Add() if isinstance(node.this, exp.Interval):
            return add_interval(sub(node.expression), *interval_parts(node.this, span, negative=False), span)
        case exp.NullSafeNEQ():
            return Call("not", (Call("<=>", (sub(node.this), sub(node.expression)), span=span),), span=span)
        case exp.Binary() if type(node) in _ARITHMETIC:
            sides = (sub(each) if _is_number(each) else not_literal(sub(each)) for each in (node.this, node.expression))
            return Call(BINARY[type(node)], tuple(sides), span=span)
        case exp.Binary() if type(node) in BINARY:
            return Call(BINARY[type(node)], (sub(node.this), sub(node.expression)), span=span)
        case exp.Cast():
            return _cast(sub(node.this), node, span)
        case exp.Anonymous():
            return _function(lowering, block, node, sub, span)
        case exp.Subquery() | exp.Select() | exp.SetOperation():
            return subqueries.scalar(lowering, block, node, strict=strict)
        case exp.Exists():
            return subqueries.exists_mark(lowering, block, node.this, span)
        case exp.In() if node.args.get("query") is not None:
            return subqueries.in_mark(lowering, block, row(lowering, block, node.this), node.args["query"], span)
        case exp.Func() | exp.Condition() | exp.Predicate() if type(node) in _SPECIAL:
            return _SPECIAL[type(node)](node, sub, span)
    raise unsupported(node, span)


def row(lowering: Lowering, block: Block, node: exp.Expr) -> list[Term]:
    """The left side of IN: one value, or several in parentheses."""
    parts = node.expressions if isinstance(node, exp.Tuple) else [node]
    return [translate(lowering, block, part) for part in parts]


def _column(lowering: Lowering, block: Block, node: exp.Column, span: Span | None) -> Term:
    table = node.table or None
    if node.args.get("db") is not None:
        raise UnsupportedError("names with more than two parts are not supported", span=span)
    term = block.resolve(table, node.name, span)
    if term is not None:
        # As if it had been written here, for messages.
        return replace(term, span=span)
    name = f"{table}.{node.name}" if table else node.name
    hint = did_you_mean(name, block.visible_columns())
    if name.lower() in block.aliases:
        hint = "it is an alias of this SELECT: write its expression again, or compute it in a subquery in FROM"
    raise UnknownNameError(f"unknown column {name!r}", span=span, hint=hint)


def negate(term: Term, span: Span | None) -> Term:
    match term:
        case Call(function="isnull"):
            return Call("isnotnull", term.arguments, span=span)
    return Call("not", (term,), span=span)


def add_interval(term: Term, months: int, days: int, micros: int, span: Span | None) -> Term:
    amounts = (Constant(months, types.INT), Constant(days, types.INT), Constant(micros, types.BIGINT))
    return Call("add_interval", (term, *amounts), span=span)


def _is_number(node: exp.Expr) -> bool:
    inner = node.unnest()
    return isinstance(inner.this if isinstance(inner, exp.Neg) else inner, exp.Literal)


def _cast(term: Term, node: exp.Expr, span: Span | None) -> Term:
    if isinstance(node, exp.TryCast):
        raise UnsupportedError(
            "TRY_CAST is not supported", span=span, hint="use CAST, which refuses what it cannot convert"
        )
    return cast(term, to_type(node.args["to"], span), span)


def _function(
    lowering: Lowering, block: Block, node: exp.Anonymous, sub: Callable[[exp.Expr], Term], span: Span | None
) -> Term:
    name = str(node.this)
    lowered = name.lower()
    if lowered in AGGREGATE_SYNONYMS:
        raise UnsupportedError(
            f"the aggregate {name}(...) cannot stand here", span=span, hint="aggregates belong in SELECT or HAVING"
        )
    refusal = None if lowered in lowering.signatures else missing(name, span)
    if refusal is not None:
        raise refusal
    if any(isinstance(a, exp.Star | exp.Distinct) for a in node.expressions):
        raise UnsupportedError(f"{name}(...) takes neither * nor DISTINCT", span=span)
    arguments = tuple(sub(a) for a in node.expressions)
    if lowered in lowering.signatures:
        return Call(lowered, arguments, span=span)
    builtin = builtin_name(name)
    if builtin is None:
        known = [*BUILTINS, *lowering.signatures, *AGGREGATE_SYNONYMS]
        raise UnknownNameError(
            f"unknown function {name!r}",
            span=span,
            hint=did_you_mean(name, known, likeness=0.75) or "register a Python function with db.function(...)",
        )
    if lowered in TWO_ARGUMENTS and len(arguments) != 2:
        raise ArityError(f"{name}() takes 2 arguments, not {len(arguments)}", span=span, hint="coalesce() takes more")
    return Call(builtin, arguments, span=span)


# What is refused, by a name that people know it by, and what to do instead.
_REFUSED: dict[type[exp.Expr], tuple[str, str | None]] = {
    exp.Window: ("a window function (OVER)", "join with a GROUP BY of the same rows"),
    exp.All: ("ALL (subquery)", "compare with (SELECT max(...) ...) or (SELECT min(...) ...)"),
    exp.Any: ("ANY (subquery)", "use EXISTS or IN"),
    exp.Tuple: ("a row of values in this place", None),
    exp.Star: ("* in this place", None),
    exp.Array: (
        "an index or array in brackets",
        "use array(...), and element_at(array, position), which counts from 1",
    ),
    exp.Bracket: ("an index in brackets", "use element_at(array, position), which counts from 1"),
    exp.Placeholder: ("a parameter", "write the value itself; rows of values go in with db.insert(...)"),
    exp.Interval: ("an INTERVAL in this place", "add it to a date or a timestamp"),
    exp.CurrentDate: ("current_date", "it changes by itself; put the value into a table"),
    exp.CurrentTimestamp: ("current_timestamp", "it changes by itself; put the value into a table"),
    exp.Lambda: ("a lambda", None),
    exp.Alias: ("AS in this place", None),
    exp.Filter: ("FILTER after what is no aggregate", "use CASE WHEN or if(...)"),
    exp.Aliases: ("a list of names for one column", None),
    exp.IgnoreNulls: ("IGNORE NULLS", "aggregates leave NULLs out anyway"),
    exp.RespectNulls: ("RESPECT NULLS", None),
    exp.AtTimeZone: ("AT TIME ZONE", None),
}


def unsupported(node: exp.Expr, span: Span | None) -> UnsupportedError:
    name, hint = _REFUSED.get(type(node), (node.sql(DIALECT).split("(")[0].strip()[:40] or node.key.upper(), None))
    return UnsupportedError(f"{name} is not supported", span=span, hint=hint)


# The parts of a node that its translation reads; whatever else is there is refused.
_PARTS: dict[type[exp.Expr], tuple[str, ...]] = {
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
    exp.Column: ("table", "db"),
    exp.Literal: ("is_string",),
    exp.Div: ("typed", "safe"),
}

# Expressions that sqlglot has a form of its own for

Sub = Callable[[exp.Expr], Term]


def _between(node: Any, sub: Sub, span: Span | None) -> Term:
    value = sub(node.this)
    low = Call(">=", (value, sub(node.args["low"])), span=span)
    high = Call("<=", (value, sub(node.args["high"])), span=span)
    return Call("and", (low, high), span=span)


def _in_list(node: Any, sub: Sub, span: Span | None) -> Term:
    return Call("in", (sub(node.this), *(sub(e) for e in node.expressions)), span=span)


def _is(node: Any, sub: Sub, span: Span | None) -> Term:
    if isinstance(node.expression, exp.Null):
        return Call("isnull", (sub(node.this),), span=span)
    if not isinstance(node.expression, exp.Boolean):
        raise UnsupportedError(
            "IS takes NULL, TRUE, FALSE or DISTINCT FROM", span=span, hint="compare with = or <=> instead"
        )
    return Call("<=>", (sub(node.this), sub(node.expression)), span=span)


def _like(node: Any, sub: Sub, span: Span | None, *escape: Term) -> Term:
    sides = [sub(node.this), sub(node.expression)]
    if isinstance(node, exp.ILike):
        sides = [Call("lower", (side,), span=side.span) for side in sides]
    term = Call("like", (*sides, *escape), span=span)
    return negate(term, span) if node.args.get("negate") else term


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


# The fields of EXTRACT by all their names.
_EXTRACTED = {
    name: function
    for function, names in {
        "year": "year years y yr yrs",
        "quarter": "quarter qtr",
        "month": "month months mon mons",
        "day": "day days d",
        "dayofweek": "dayofweek dow",
        "hour": "hour hours h hr hrs",
        "minute": "minute minutes m min mins",
        "extract_second": "second seconds s sec secs",
    }.items()
    for name in names.split()
}


def _extract(node: Any, sub: Sub, span: Span | None) -> Term:
    name = _EXTRACTED.get(node.this.name.lower())
    if name is None or not isinstance(node.this, exp.Var | exp.Identifier | exp.Column):
        raise UnsupportedError(
            f"EXTRACT({node.this.name} ...) is not supported", span=span, hint="use YEAR, MONTH, DAY, HOUR, ..."
        )
    return Call(name, (sub(node.expression),), span=span)


def _rounded(node: Any, sub: Sub, span: Span | None) -> Term:
    return Call("floor" if isinstance(node, exp.Floor) else "ceil", (sub(node.this),), span=span)


def _substring(node: Any, sub: Sub, span: Span | None) -> Term:
    parts = [node.this, node.args.get("start"), node.args.get("length")]
    return Call("substring", tuple(sub(p) for p in parts if p is not None), span=span)


def _trim(node: Any, sub: Sub, span: Span | None) -> Term:
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get((node.args.get("position") or "").upper(), "trim")
    characters = () if node.expression is None else (sub(node.expression),)
    return Call(name, (*characters, sub(node.this)), span=span)


def _position(node: Any, sub: Sub, span: Span | None) -> Term:
    return Call("locate", (sub(node.args["substr"]), sub(node.this)), span=span)


_SPECIAL: dict[type[exp.Expr], Callable[[Any, Sub, Span | None], Term]] = {
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
}
