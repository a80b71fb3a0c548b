"""`x -> x + 1` and `(x, y) -> x + y` as arguments of functions, to closed lambdas."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from whence.errors import DuplicateNameError, UnsupportedError
from whence.functions.lambdas import HIGHER_ORDER, values_before_lambdas
from whence.lang.sql.functions import builtin_name
from whence.lang.sql.lowering import Lowering
from whence.model.lambdas import MARK, closed
from whence.model.span import Span
from whence.model.terms import Call, Lambda, Term, Variable

# A function that is another one with a lambda.
_WITH_LAMBDA = {"array_sort": "array_sort_with"}


def parameter(node: exp.Identifier, span: Span | None) -> Variable:
    """What a lambda calls one of its values. The parser leaves no other names on their own."""
    return Variable(MARK + node.name.lower(), span=span)


def takes_lambda(name: str, arguments: Sequence[exp.Expr]) -> bool:
    """Whether the last argument is a lambda, or stands for one that gives the same for all values."""
    if any(isinstance(each, exp.Lambda) for each in arguments):
        return True
    lowered = name.lower()
    return len(arguments) > 1 and (lowered in _WITH_LAMBDA or builtin_name(name) in HIGHER_ORDER)


def lambda_call(
    name: str,
    arguments: Sequence[exp.Expr],
    sub: Callable[[exp.Expr], Term],
    span: Span | None,
    lowering: Lowering,
) -> Call:
    lowered = name.lower()
    builtin = _WITH_LAMBDA.get(lowered) or builtin_name(name)
    if builtin not in HIGHER_ORDER:
        raise UnsupportedError(f"{name}(...) takes no lambda", span=span)
    values = values_before_lambdas(builtin)
    return closed(
        builtin,
        [sub(each) if place < values else _lambda(each, sub, lowering) for place, each in enumerate(arguments)],
        span,
    )


def _lambda(node: exp.Expr, sub: Callable[[exp.Expr], Term], lowering: Lowering) -> Term:
    if not isinstance(node, exp.Lambda):
        return Lambda((), (), sub(node), span=lowering.span(node))
    names = [each.name.lower() for each in node.expressions]
    if len(set(names)) < len(names):
        raise DuplicateNameError("two parameters of this lambda have one name", span=lowering.span(node))
    query = node.this.find(exp.Query)
    if query is not None:
        raise UnsupportedError(
            "a subquery in a lambda is not supported",
            span=lowering.span(query),
            hint="join with it, and use its column",
        )
    for call in node.this.find_all(exp.Anonymous):
        if str(call.this).lower() in lowering.signatures:
            raise UnsupportedError(
                f"{call.this}() is a Python function, and a lambda cannot call it, as in Spark",
                span=lowering.span(call),
                hint="explode the array, or give the whole array to a function",
            )
    body = node.this.transform(lambda each: _named(each, names))
    return Lambda(tuple(MARK + each for each in names), (), sub(body), span=lowering.span(node))


def _named(node: exp.Expr, names: Sequence[str]) -> exp.Expr:
    """A column whose first part is a parameter in other letters than the parser compares."""
    if not isinstance(node, exp.Column) or node.parts[0].name.lower() not in names:
        return node
    first, *fields = node.parts
    made: exp.Expr = first.copy()
    for each in fields:
        made = exp.Dot(this=made, expression=each.copy())
    return made
