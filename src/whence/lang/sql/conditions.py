"""WHERE, ON and HAVING: conjuncts go into the block, each in the form that joins best."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from whence.errors import TypeMismatchError
from whence.lang.sql import subqueries
from whence.lang.sql.block import Block
from whence.lang.sql.coercion import coerced
from whence.lang.sql.expressions import COMPARISONS, row, translate
from whence.lang.sql.grammar import DIALECT
from whence.lang.sql.lowering import Lowering
from whence.lang.sql.special_forms import never_true
from whence.model import types
from whence.model.terms import Call, Term


def add_condition(lowering: Lowering, block: Block, node: exp.Expr, clause: str) -> None:
    """Keep only rows for which the expression is TRUE. `clause`: the word before it, such as WHERE."""
    if isinstance(node.unnest(), exp.Null):
        raise never_true(clause, lowering.span(node))
    for part in conjuncts(node, lambda part: block.known(part) is not None):
        _add(lowering, block, part)


def _as_exists(node: exp.Expr) -> exp.Select:
    """`x > ANY (query)`: a row of the query of which it is true; `x > ALL (query)`: one of which it is not."""
    query = node.expression.this
    inner = query.this if isinstance(query, exp.Subquery) else query
    alias = exp.TableAlias(this=exp.to_identifier("$quantified"), columns=[exp.to_identifier("$value")])
    compared = type(node)(this=node.this.copy(), expression=exp.column("$value", table="$quantified"))
    if isinstance(node.expression, exp.All):
        known = exp.Anonymous(this="coalesce", expressions=[compared, exp.Boolean(this=False)])
        compared = exp.Not(this=known)
    return (
        exp.Select(expressions=[exp.Literal.number(1)])
        .from_(exp.Subquery(this=inner.copy(), alias=alias), copy=False)
        .where(compared, copy=False)
    )


def _add(lowering: Lowering, block: Block, node: exp.Expr) -> None:
    span = lowering.span(node)
    known = block.known(node)
    match node:
        case _ if known is not None:
            pass
        case exp.Not():
            inner = node.this.unnest()
            if isinstance(inner, exp.Exists):
                subqueries.exists(lowering, block, inner.this, span, negated=True)
                return
            if isinstance(inner, exp.In) and inner.args.get("query") is not None:
                terms = row(lowering, block, inner.this)
                subqueries.not_member(lowering, block, terms, inner.args["query"], span)
                return
        case exp.Exists():
            subqueries.exists(lowering, block, node.this, span, negated=False)
            return
        case exp.In() if node.args.get("query") is not None:
            subqueries.member(lowering, block, row(lowering, block, node.this), node.args["query"], span)
            return
        case exp.Binary() if isinstance(node.expression, exp.All | exp.Any) and isinstance(node, COMPARISONS):
            quantified = _as_exists(node)
            is_all = isinstance(node.expression, exp.All)
            subqueries.exists(lowering, block, quantified, span, negated=is_all)
            return
        case exp.EQ() | exp.NullSafeEQ():
            left = translate(lowering, block, node.this, strict=isinstance(node, exp.EQ))
            right = translate(lowering, block, node.expression, strict=isinstance(node, exp.EQ))
            equation = coerced(Call("=", (left, right), span=span), block.environment(), lowering.signatures)
            lowering.typed(equation, block)
            assert isinstance(equation, Call)
            left, right = equation.arguments
            join = block.equate if isinstance(node, exp.EQ) else block.identify
            join(left, right, span)
            return
    for term in _split(translate(lowering, block, node, strict=isinstance(node, COMPARISONS))):
        typed = lowering.typed(term, block)
        if typed.type not in (types.BOOLEAN, types.NULL):
            raise TypeMismatchError(
                f"a condition must be TRUE or FALSE, and this is {typed.type}",
                span=term.span or span,
                hint="compare it with something",
            )
        if term != subqueries.TRUE:
            block.conditions.append(term)


def _split(term: Term) -> Iterator[Term]:
    if not (isinstance(term, Call) and term.function == "and"):
        yield term
        return
    for part in term.arguments:
        yield from _split(part)


def conjuncts(node: exp.Expr, is_one: Callable[[exp.Expr], bool] = lambda _: False) -> Iterator[exp.Expr]:
    """The parts joined by AND. What every branch of an OR requires is taken out of it, so that it can serve a join.

    What `is_one` accepts is not taken apart.
    """
    todo = [node]
    while todo:
        here = todo.pop().unnest()
        if is_one(here):
            yield here
        elif isinstance(here, exp.And):
            todo.extend((here.expression, here.this))
        elif isinstance(here, exp.Or):
            yield from _factor(here)
        else:
            yield here


def _factor(node: exp.Or) -> Iterator[exp.Expr]:
    branches = [list(conjuncts(branch)) for branch in _disjuncts(node)]
    texts = [[part.sql(DIALECT) for part in branch] for branch in branches]
    common = [part for part, text in zip(branches[0], texts[0], strict=True) if all(text in t for t in texts)]
    if not common:
        yield node
        return
    shared = {part.sql(DIALECT) for part in common}
    yield from common
    rest = [[p for p, t in zip(b, ts, strict=True) if t not in shared] for b, ts in zip(branches, texts, strict=True)]
    if all(rest):
        yield exp.or_(*(exp.and_(*parts) for parts in rest))
    elif any(rest):
        # One branch is no more than what is common, and makes the others needless, but they are read all the same.
        yield node


def _disjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    todo = [node]
    while todo:
        here = todo.pop().unnest()
        if isinstance(here, exp.Or):
            todo.extend((here.expression, here.this))
        else:
            yield here
