"""Window functions stand behind the columns of one atom, in the one rule of their relation.

    ranked(g, x, over {g; x desc} rank()) :- score(g, x).

What they are taken of, and what is done with them, is the affair of other rules. So every row of the relation is a row
of the one below it with values at its end, and those who keep it need not match bodies.
"""

from __future__ import annotations

from collections import Counter

from whence.errors import UnsupportedError
from whence.functions.windows import NUMBERING
from whence.model.program import Program
from whence.model.rules import Atom, Rule
from whence.model.schema import relation_named
from whence.model.terms import Constant, Unnest, Variable, Window

_SHAPE = "collect the rows in a relation of its own first: v(x, y, over {x; y} rank()) :- rows(x, y)."


def check_windows(program: Program) -> None:
    """Refuse windows that stand elsewhere, and those over rows that may be there less than zero times."""
    windowed = [rule for rule in program.rules if rule.windows or rule.unnests]
    if not windowed:
        return
    rules = Counter(rule.head.relation for rule in program.rules)
    for rule in windowed:
        if rules[rule.head.relation] > 1 or rule.sign < 0:
            raise UnsupportedError(
                f"{relation_named(rule.head.relation)} has window functions, or elements of arrays, and other rules",
                span=rule.head.span,
                hint=_SHAPE,
            )
        _check_shape(rule)
    _check_owing(program, windowed)


def _check_shape(rule: Rule) -> None:
    match rule.body:
        case (Atom(terms=terms),) if all(isinstance(term, Variable) for term in terms) and len(set(terms)) == len(
            terms
        ):
            plain, windows = rule.head.terms[: len(terms)], rule.head.terms[len(terms) :]
            if plain == terms and all(_is_same_array(each, windows[0]) for each in windows):
                return
            if plain == terms and all(isinstance(each, Window) for each in windows):
                keeping = 0
                for each in windows:
                    assert isinstance(each, Window)
                    _check_window(each, windows[0])
                    keeping += each.within is not None
                if keeping <= 1:
                    return
    raise UnsupportedError(
        "window functions, and elements of one array, stand behind all the columns of one atom",
        span=rule.head.span or rule.span,
        hint=_SHAPE,
    )


def _is_same_array(term: object, first: object) -> bool:
    match term, first:
        case Unnest(argument=Variable() as array, outer=outer), Unnest():
            return array == first.argument and outer == first.outer
    return False


def _check_window(window: Window, first: object) -> None:
    assert isinstance(first, Window)
    keys = (*window.partition, *window.order_terms)
    if not all(isinstance(key, Variable) for key in keys) or not all(
        isinstance(argument, Variable | Constant) for argument in window.arguments
    ):
        raise UnsupportedError("a window function computes with columns only", span=window.span, hint=_SHAPE)
    if (window.partition, window.order) != (first.partition, first.order):
        raise UnsupportedError(
            "the window functions of a rule have one partition and one order", span=window.span, hint=_SHAPE
        )
    if window.within is not None and window.function not in NUMBERING:
        raise UnsupportedError(f"rows are kept by one of {', '.join(NUMBERING)}", span=window.span)


def _check_owing(program: Program, windowed: list[Rule]) -> None:
    """Rows that others are taken away from may be owed, and those have no place in an order."""
    bags = {relation.name for relation in program.relations if not relation.distinct}
    owing = {rule.head.relation for rule in program.rules if rule.sign < 0 and rule.head.relation in bags}
    grown = True
    while grown and owing:
        found = {r.head.relation for r in program.rules if not owing.isdisjoint(r.reads) and r.head.relation in bags}
        grown = not found <= owing
        owing |= found
    for rule in windowed:
        if not owing.isdisjoint(rule.reads):
            raise UnsupportedError(
                f"{relation_named(rule.reads[0])} has rules that take rows away, and no window can be over it",
                span=rule.span,
                hint="declare it as a set",
            )
