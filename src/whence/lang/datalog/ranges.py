"""`x = range(0, 10)`: rules for a relation that holds the numbers from a start to before an end, by a step.

    r(a, b, s, c, c) :- coarse(a, b, s, c).
    r(a, b, s, c, x + s) :- r(a, b, s, c, x), x + s before b, |x + s - c| < |STRIDE * s|.

The coarse numbers come first, each STRIDE steps from the one before: a recursion takes a round for every number that
comes after another, and there are not as many rounds as a range may have numbers.
"""

from __future__ import annotations

from whence.model.rules import Atom, Comparison, Condition, Rule
from whence.model.span import Span
from whence.model.terms import Call, Constant, Term, Variable
from whence.model.types import INT

STRIDE = 100


def range_rules(name: str, coarse: str, bounds: str, span: Span) -> list[Rule]:
    """The rules of `name`, whose last column has the values, for the start, end and step of every row of `bounds`."""
    start, end, step = (Variable(each, span=span) for each in ("start", "end", "step"))
    base, value = Variable("base", span=span), Variable("value", span=span)
    given = (start, end, step)

    def call(function: str, *arguments: Term) -> Call:
        return Call(function, arguments, span=span)

    def number(value: int) -> Constant:
        return Constant(value, INT, span=span)

    def inside(term: Term) -> Condition:
        up = call("and", call(">", step, number(0)), call("<", term, end))
        down = call("and", call("<", step, number(0)), call(">", term, end))
        return Condition(call("or", up, down), span=span)

    def rule(relation: str, terms: tuple[Term, ...], *body: Atom | Condition | Comparison) -> Rule:
        return Rule(Atom(relation, (*given, *terms), span=span), body, span=span)

    def atom(relation: str, *terms: Term) -> Atom:
        return Atom(relation, (*given, *terms), span=span)

    stride = call("*", step, number(STRIDE))
    far, near = call("+", value, stride), call("+", value, step)
    short = Comparison("<", call("abs", call("-", near, base)), call("abs", stride), span=span)
    # With 0 * step, what starts with a whole number and goes on by a fraction is of one type.
    first = call("+", start, call("*", step, number(0)))
    return [
        rule(coarse, (first,), atom(bounds), inside(start)),
        rule(coarse, (far,), atom(coarse, value), inside(far)),
        rule(name, (base, base), atom(coarse, base)),
        rule(name, (base, near), atom(name, base, value), inside(near), short),
    ]
