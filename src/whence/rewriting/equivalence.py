"""Whether two programs mean the same, whatever the tables hold.

Under counts that may be negative that is decidable, with projections, unions, differences and Skolem functions: both
are unfolded to sums over tables, and they mean the same exactly if the sums are equal. A comparison or a condition
counts as it is written, and may be turned round: two that are written differently are taken for different ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from whence.errors import StateError, UnsupportedError
from whence.model.program import Program
from whence.model.rules import Rule
from whence.rewriting.conjunction import Sets
from whence.rewriting.signed_union import NOTHING, SignedUnion, summed
from whence.rewriting.substitution import NotUnifiedError
from whence.rewriting.unfold import unfold

# Rules, as text or as values.
Rules: TypeAlias = str | Program | Iterable[Rule]


def equivalent(left: Rules, right: Rules, views: Rules = (), *, sets: Sets = ()) -> bool:
    """Whether every relation that both or one of them define has the same rows, as often, in both.

    `views` are defined for both. Relations are bags, unless `sets` names them, which makes a join of such a one with
    itself the same as one of it alone; `sets` are not defined by rules. The rules are not recursive, and have neither
    aggregates nor negated atoms of views.

    >>> equivalent("q(x) :- r(x, y), s(y).", "q(a) :- s(b), r(a, b).")
    True
    >>> equivalent("q(x) :- r(x), r(x).", "q(x) :- r(x).")
    False
    >>> equivalent("q(x) :- r(x), r(x).", "q(x) :- r(x).", sets={"r"})
    True
    """
    shared = definitions(views, sets)
    one, other = definitions(left, sets), definitions(right, sets)
    for name in {*one, *other}:
        sides = [_unfolded(each, shared, name, sets) for each in (one, other)]
        if sides[0] != sides[1]:
            return False
    return True


def _unfolded(
    program: Mapping[str, SignedUnion], views: Mapping[str, SignedUnion], name: str, sets: Sets
) -> SignedUnion:
    known = _acyclic({**views, **program}, name)
    try:
        return unfold(program.get(name, NOTHING), known, sets, most=None)
    except NotUnifiedError:
        raise UnsupportedError(
            f"{name!r} cannot be compared: an atom asks for a value that a rule computes",
            hint="give the computed value a column, and compare it in a condition",
        ) from None


def parsed(rules: Rules, sets: Sets = ()) -> SignedUnion:
    """The sum that the rules of one relation are."""
    found = definitions(rules, sets)
    if len(found) != 1:
        raise StateError(f"rules of one relation are wanted, and these define {', '.join(found) or 'none'}")
    return next(iter(found.values()))


def definitions(rules: Rules, sets: Sets = ()) -> dict[str, SignedUnion]:
    """For every relation that the rules define, the sum that it is."""
    if isinstance(rules, str):
        # Only who has a text needs the parser.
        from whence.lang.datalog.parse import parse_datalog

        rules = parse_datalog(rules) if rules.strip() else Program()
    found: dict[str, list[Rule]] = {}
    for rule in rules.rules if isinstance(rules, Program) else rules:
        if rule.aggregates:
            raise UnsupportedError("rules with aggregates cannot be compared", span=rule.span)
        found.setdefault(rule.head.relation, []).append(rule)
    return {name: summed(each, sets) for name, each in found.items()}


def _acyclic(views: Mapping[str, SignedUnion], name: str) -> Mapping[str, SignedUnion]:
    """The same, if nothing under the relation is recursive."""
    path: list[str] = []

    def visit(each: str) -> None:
        if each in path:
            raise UnsupportedError(
                f"recursive rules cannot be compared: {' -> '.join([*path[path.index(each) :], each])}"
            )
        if each in views:
            path.append(each)
            for below in sorted(views[each].relations):
                visit(below)
            path.pop()

    visit(name)
    return views
