"""Absorption provenance, PosBool(X): which base tuples, in which combinations, keep a tuple alive.

A base tuple is a variable, named by its id. A derived tuple is a monotone Boolean expression over them, simplified by
a ∨ (a ∧ b) = a. A deleted base tuple becomes false, and a tuple whose expression becomes false with it is gone: a
delete needs no rule and no search. That, and an end of recursion on cycles, is what the law is for.

The same annotations have two forms: `supports` spells out every minimal support and is easy to read and to trust;
`bdd` shares what supports have in common and holds far more of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet
from typing import Protocol, TypeAlias, TypeVar

from whence.errors import UnsupportedError
from whence.semirings.handles import Handles
from whence.semirings.semiring import Semiring

A = TypeVar("A")

# Ids of base tuples that suffice together.
Support: TypeAlias = frozenset[int]
# Supports of which none contains another.
Antichain: TypeAlias = frozenset[Support]

# There can be exponentially many; nobody reads more, and telling which are minimal is quadratic.
MOST_SUPPORTS = 10_000


class Absorption(Semiring[A], Protocol[A]):
    def variable(self, tuple_id: int) -> A:
        """The annotation of a base tuple."""

    def without(self, annotation: A, deleted: Collection[int]) -> A:
        """What is left of an annotation when these base tuples are gone."""

    def without_batch(self, handles: Handles, deleted: Collection[int]) -> Handles: ...

    def holds(self, annotation: A, present: AbstractSet[int]) -> bool:
        """Whether a tuple is there when exactly these base tuples are."""

    def minimal_supports(self, annotation: A) -> Antichain:
        """Every set of base tuples that suffices and of which none can be left out."""

    def retain(self, handles: Iterable[int]) -> None:
        """Forget the annotations behind all other handles, zero and one aside; new ones may get those handles."""


def require_few(number: int) -> None:
    """Refuse before the supports of one tuple take all time and memory there is."""
    if number > MOST_SUPPORTS:
        raise UnsupportedError(
            f"a row has too many different supports to tell the minimal ones (more than {MOST_SUPPORTS:,})",
            hint="ask for one proof, or whether the row depends on a given base row",
        )
