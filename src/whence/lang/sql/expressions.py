"""SQL expressions to terms, in the scope of a block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from whence.errors import ArityError, UnknownNameError, UnsupportedError, did_you_mean
from whence.functions.builtin import BUILTINS
from whence.lang.sql import subqueries
from whence.lang.sql.block import Block
from whence.lang.sql.coercion import coerced
from whence.lang.sql.functions import AGGREGATE_SYNONYMS, TWO_ARGUMENTS, builtin_name, missing
from whence.lang.sql.grammar import DIALECT, Plus
from whence.lang.sql.intervals import interval_constant, interval_parts
from whence.lang.sql.lambdas import lambda_call, takes_lambda
from whence.lang.sql.literals import cast, not_literal, to_constant, to_type
from whence.lang.sql.lowering import Lowering
from whence.lang.sql.refuse import refuse_extras
from whence.lang.sql.shorthand import shorthand, unit_call
from whence.lang.sql.special_forms import PARTS, SPECIAL_FORMS, negate
from whence.lang.sql.structs import all_fields, from_json_call, struct_call, with_fields
from whence.model import types
from whence.model.span import Span
from whence.model.terms import Call, Constant, Term, Variable

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
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
}
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod)
COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
# A NULL in any of these makes the whole NULL, so a missing value can as well be left out of a comparison.
_STRICT = (*COMPARISONS, *_ARITHMETIC, exp.Neg, Plus, exp.Paren, exp.Cast)


def translate(lowering: Lowering, block: Block, node: exp.Expr, *, strict: bool = False) -> Term:
    """The term for an expression. `strict`: the row is lost anyway where this value is NULL."""
    term = _translated(lowering, block, node, strict=strict)
    if isinstance(term, Variable | Constant):
        return term
    return coerced(term, block.environment(), lowering.signatures)


def _translated(lowering: Lowering, block: Block, node: exp.Expr, *, strict: bool) -> Term:
    known = block.known(node)
    if known is not None:
        return known
    span = lowering.span(node)
    strict = strict and isinstance(node, (*_STRICT, exp.Subquery))

    if type(node) in _REFUSED:
        raise unsupported(node, span)
    if not isinstance(node, exp.Query):
        refuse_extras(lowering, node, "this", "expression", "expressions", *PARTS.get(type(node), ()))

    def sub(child: exp.Expr) -> Term:
        return _translated(lowering, block, child, strict=strict)

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
            return _with_interval(lowering, block, sub(node.this), node, node.expression, span)
        case exp.Add() if isinstance(node.this, exp.Interval):
            return _with_interval(lowering, block, sub(node.expression), node, node.this, span)
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
        case exp.Expr() if type(node) in SPECIAL_FORMS:
            return SPECIAL_FORMS[type(node)](node, sub, span)
    raise unsupported(node, span)


def row(lowering: Lowering, block: Block, node: exp.Expr) -> list[Term]:
    """The left side of IN: one value, or several in parentheses."""
    parts = node.expressions if isinstance(node, exp.Tuple) else [node]
    return [translate(lowering, block, part) for part in parts]


def _column(lowering: Lowering, block: Block, node: exp.Column, span: Span | None) -> Term:
    names = [part.name for part in node.parts]
    found = block.resolve_path(names, span)
    if found is not None:
        term, fields = found
        # As if it had been written here, for messages.
        return with_fields(replace(term, span=span), fields, span)
    name = ".".join(names)
    hint = did_you_mean(name, block.visible_columns())
    if name.lower() in block.aliases:
        hint = "it is an alias of this SELECT: write its expression again, or compute it in a subquery in FROM"
    raise UnknownNameError(f"unknown column {name!r}", span=span, hint=hint)


def _with_interval(
    lowering: Lowering, block: Block, term: Term, node: exp.Add | exp.Sub, interval: exp.Interval, span: Span | None
) -> Term:
    """The sum or the difference of a term and a literal, which may be one of weeks if the term is a time."""
    constant = interval_constant(interval, lowering.span(interval) or span)
    kind = lowering.typed(coerced(term, block.environment(), lowering.signatures), block).type
    if constant is not None and (isinstance(kind, types.IntervalType) or kind == types.NULL):
        sides = (constant, term) if node.this is interval else (term, constant)
        return Call("+" if isinstance(node, exp.Add) else "-", sides, span=span)
    return add_interval(term, *interval_parts(interval, span, negative=isinstance(node, exp.Sub)), span)


def add_interval(term: Term, months: int, days: int, micros: int, span: Span | None) -> Term:
    amounts = (Constant(months, types.INT), Constant(days, types.INT), Constant(micros, types.BIGINT))
    return Call("add_interval", (term, *amounts), span=span)


def with_columns(lowering: Lowering, block: Block, call: exp.Anonymous) -> exp.Anonymous:
    """A call in which * stands for all columns, with these in its place."""
    if not any(each.is_star for each in call.expressions):
        return call
    arguments: list[exp.Expr] = []
    for each in call.expressions:
        if not each.is_star:
            arguments.append(each)
            continue
        table = each.table.lower() if isinstance(each, exp.Column) else None
        found = [e for e in block.scope if (not e.merged if table is None else (e.table or "").lower() == table)]
        found = [] if each.args.get("db") is not None else found
        fields = list(all_fields(lowering, block, each)) if isinstance(each, exp.Column) and not found else []
        if not found and not fields:
            raise UnknownNameError("* stands for no columns here", span=lowering.span(each))
        arguments.extend(exp.column(exp.to_identifier(e.column, quoted=True), table=e.table or None) for e in found)
        # What makes a struct of them takes their names, and any other function their values.
        arguments.extend(fields if str(call.this).lower() == "struct" else (field.this for field in fields))
    return exp.Anonymous(this=call.this, expressions=arguments)


def _is_number(node: exp.Expr) -> bool:
    inner = node.unnest()
    return isinstance(inner.this if isinstance(inner, exp.Neg) else inner, exp.Literal)


def _cast(term: Term, node: exp.Expr, span: Span | None) -> Term:
    kind = to_type(node.args["to"], span)
    if isinstance(node, exp.TryCast):
        return Call("try_cast", (term, Constant(None, kind)), span=span)
    return cast(term, kind, span)


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
    if any(isinstance(a, exp.Distinct) for a in node.expressions):
        raise UnsupportedError(f"{name}(...) takes no DISTINCT", span=span)
    node = with_columns(lowering, block, node)
    if lowered not in lowering.signatures and takes_lambda(name, node.expressions):
        return lambda_call(name, node.expressions, sub, span, lowering)
    if lowered == "struct" and lowered not in lowering.signatures:
        return struct_call(node, sub, span)
    if lowered == "from_json" and lowered not in lowering.signatures:
        return from_json_call(node, sub, span)
    if lowered in _WITH_UNIT and len(node.expressions) == 3 and lowered not in lowering.signatures:
        unit, *rest = node.expressions
        return unit_call(name, unit, [sub(a) for a in rest], span)
    is_operator = lowered in _OPERATORS
    arguments = tuple(not_literal(sub(a)) if is_operator and not _is_number(a) else sub(a) for a in node.expressions)
    if lowered in lowering.signatures:
        return Call(lowered, arguments, span=span)
    meant = shorthand(name, arguments, span)
    if meant is not None:
        return meant
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


# Functions that are operators by another name: see not_literal.
_OPERATORS = ("pmod", "mod", "try_add", "try_subtract", "try_multiply", "try_divide", "try_mod")
# Functions whose first argument of three is the name of a unit.
_WITH_UNIT = ("timestampadd", "timestampdiff", "dateadd", "date_add", "datediff", "date_diff", "timediff")

# What is refused, by a name that people know it by, and what to do instead.
_REFUSED: dict[type[exp.Expr], tuple[str, str | None]] = {
    exp.Window: ("a window function (OVER) in this place", "it belongs in SELECT, QUALIFY or ORDER BY"),
    exp.All: ("ALL (subquery)", "compare with (SELECT max(...) ...) or (SELECT min(...) ...)"),
    exp.Any: ("ANY (subquery)", "use EXISTS or IN"),
    exp.Tuple: ("a row of values in this place", None),
    exp.Star: ("* in this place", None),
    exp.Array: (
        "an index or array in brackets",
        "use array(...), and element_at(array, position), which counts from 1",
    ),
    exp.Placeholder: ("a parameter", "write the value itself; rows of values go in with db.insert(...)"),
    exp.CurrentDate: ("current_date", "it changes by itself; put the value into a table"),
    exp.CurrentTimestamp: ("current_timestamp", "it changes by itself; put the value into a table"),
    exp.Lambda: ("a lambda in this place", "transform(array, x -> x + 1) and the like take one"),
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
