"""Equality as a look-up: when a term's value can be found in an index over a column.

An index finds what Python calls equal. That is what `<=>` calls equal if both sides have the same type, or exact
numeric types, of whatever widths; otherwise the sides meet in a wider type first.
"""

from __future__ import annotations

from collections.abc import Iterator

from whence.functions.typing import common_type, fits
from whence.functions.widening import is_exact
from whence.model.terms import Call, Cast, Term
from whence.model.types import DOUBLE, INT, NULL, Type


def as_key(term: Term, given: Type, column: Type) -> Term | None:
    """The term, of type `given`, as a column holds values equal to it; None if the column would have to be widened."""
    if is_same(given, column):
        return term
    return Cast(term, column, span=term.span) if fits(given, column) else None


def is_same(left: Type, right: Type) -> bool:
    """Whether values of the two types are equal exactly if Python says so. A DOUBLE holds every INT."""
    return (
        left == right or NULL in (left, right) or (is_exact(left) and is_exact(right)) or {left, right} == {INT, DOUBLE}
    )


def meeting_type(given: Type, column: Type) -> Type:
    """The type that a column is widened to before it is compared."""
    common = common_type([given, column])
    assert common is not None, "analysis lets no other comparison pass"
    return common


def equality(condition: Term) -> Iterator[tuple[Term, Term, bool]]:
    """The sides of `a = b` and `a <=> b`, both ways round, and whether NULL equals NULL."""
    match condition:
        case Call(function="=" | "<=>" as function, arguments=(left, right)):
            yield left, right, function == "<=>"
            yield right, left, function == "<=>"
