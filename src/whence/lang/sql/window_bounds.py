"""Numbers that nobody reads: where only rows numbered up to 10 are read, a window leaves the others out by itself.

    best$window(g, x, over {g; x desc; within 1 to 10} row_number()) :- score(g, x).
    best(g, x) :- best$window(g, x, n), n <= 10.

What keeps the rows up to date then has at most 10 of each partition to number again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from whence.functions.windows import NUMBERING
from whence.lang.sql.lowering import Lowering
from whence.model.rules import Atom, Comparison, Negation, Rule
from whence.model.schema import is_auxiliary
from whence.model.terms import Constant, Term, Variable, Window

# From a number to another, both included; None is no limit.
_Range = tuple[int | None, int | None]
_ALL: _Range = (None, None)
_SWAPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def push_bounds(lowering: Lowering) -> None:
    """Let windows leave out what all their readers leave out."""
    for at, rule in enumerate(lowering.rules):
        for position in rule.windows:
            window = rule.head.terms[position]
            assert isinstance(window, Window)
            if window.within is not None:
                break
            if window.function not in NUMBERING or not is_auxiliary(rule.head.relation):
                continue
            first, last = _read(lowering.rules, rule.head.relation, position, frozenset())
            if (first or 1) > 1 or last is not None:
                terms: list[Term] = list(rule.head.terms)
                terms[position] = replace(window, within=(max(first or 1, 1), last))
                lowering.rules[at] = replace(rule, head=replace(rule.head, terms=tuple(terms)))
                break


def _read(rules: Sequence[Rule], relation: str, position: int, above: frozenset[str]) -> _Range:
    """The values of a column with which rows of the relation are read at all."""
    if relation in above or not is_auxiliary(relation):
        return _ALL
    found: list[_Range] = []
    for rule in rules:
        for literal in rule.body:
            match literal:
                case Atom() if literal.relation == relation:
                    found.append(_read_by(rules, rule, literal.terms[position], above | {relation}))
                case Negation(atom=atom) if atom.relation == relation:
                    return _ALL
    lows, highs = [low for low, _ in found], [high for _, high in found]
    low = None if not lows or None in lows else min(each for each in lows if each is not None)
    high = None if not highs or None in highs else max(each for each in highs if each is not None)
    return low, high


def _read_by(rules: Sequence[Rule], rule: Rule, term: Term, above: frozenset[str]) -> _Range:
    if not isinstance(term, Variable):
        return _ALL
    ranges = list(_compared(rule, term))
    if not rule.windows:
        passed_on = [at for at, each in enumerate(rule.head.terms) if each == term]
        ranges.extend(_read(rules, rule.head.relation, at, above) for at in passed_on)
    lows = [low for low, _ in ranges if low is not None]
    highs = [high for _, high in ranges if high is not None]
    return max(lows, default=None), min(highs, default=None)


def _compared(rule: Rule, variable: Variable) -> Iterator[_Range]:
    for literal in rule.body:
        match literal:
            case Comparison(op=op, left=left, right=Constant(value=int(value))) if left == variable and op in _SWAPPED:
                yield _range(op, value)
            case Comparison(op=op, left=Constant(value=int(value)), right=right) if (
                right == variable and op in _SWAPPED
            ):
                yield _range(_SWAPPED[op], value)


def _range(op: str, value: int) -> _Range:
    match op:
        case "=":
            return value, value
        case "<" | "<=":
            return None, value - (op == "<")
    return value + (op == ">"), None
