"""Supports: sets of input rows that are enough for a tuple, with absorption: a set that contains another is not kept.

This is PosBool(X) in its minimal disjunctive form. A formula is the set of its minimal supports, an antichain; `plus`
and `times` are its `or` and `and`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeAlias

Support: TypeAlias = frozenset[Hashable]
Formula: TypeAlias = frozenset[Support]

FALSE: Formula = frozenset()
TRUE: Formula = frozenset([frozenset()])


def variable(name: Hashable) -> Formula:
    return frozenset([frozenset([name])])


def plus(left: Formula, right: Formula) -> Formula:
    fresh = [support for support in right if not any(known <= support for known in left)]
    if not fresh:
        return left
    kept = [known for known in left if not any(support <= known for support in fresh)]
    return frozenset(kept + fresh)


def times(formulas: Iterable[Formula]) -> Formula:
    """The supports that combine one of each formula."""
    product = TRUE
    for formula in formulas:
        product = minimal([one | other for one in product for other in formula])
    return product


def without(formula: Formula, names: Iterable[Hashable]) -> Formula:
    """The formula when these variables are false."""
    gone = frozenset(names)
    return frozenset(support for support in formula if gone.isdisjoint(support))


def minimal(supports: Iterable[Support]) -> Formula:
    kept: list[Support] = []
    for support in sorted(set(supports), key=len):
        if not any(smaller <= support for smaller in kept):
            kept.append(support)
    return frozenset(kept)
