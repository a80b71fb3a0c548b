"""The algebra of annotations: union and projection add, join multiplies, and a tuple is there unless it is zero.

Every instance is a commutative semiring. Each law is there because an engine relies on it:

    (a + b) + c = a + (b + c)      derivations are added as they arrive, in batches cut anywhere
    a + b = b + a                  and in any order
    a + 0 = a                      a tuple that was never derived has an annotation too
    (a · b) · c = a · (b · c)      a join of several relations may be split into joins of two
    a · b = b · a                  and planned in any order
    a · 1 = a                      a body with no literal left is true
    a · 0 = 0                      a join with an absent tuple gives nothing, so it need not be tried
    a · (b + c) = a · b + a · c    the delta of a join is a join with the delta; projections move through joins

Annotations are canonical: equal ones are the same value with the same handle, so that "nothing changed" is one
comparison of integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from whence.errors import StratificationError
from whence.model.span import Span
from whence.semirings.handles import Handles

A = TypeVar("A")

# A longer cycle is shown by its beginning.
SHOWN_OF_A_CYCLE = 8


@dataclass(frozen=True, slots=True)
class Laws:
    """What holds beyond the common laws. An engine asks this, and never which semiring it is."""

    idempotent: bool
    """a + a = a: a derivation that arrives twice does no harm, so delivery at least once is enough."""

    absorptive: bool
    """a + a · b = a: a longer way to what is there already adds nothing, so it need not be propagated."""

    negatives: bool
    """Every a has a -a with a + -a = 0, so a + b = a + c only if b = c: a delete is an insert of the negative."""

    @property
    def sound_on_cycles(self) -> bool:
        """Whether recursion over cyclic data has a value, reached after as many rounds as there are tuples.

        Going round a cycle multiplies a derivation by something more, which is what absorption takes away. Being
        idempotent is not enough: the cheapest way around a cycle of negative cost is idempotent, and has no end.
        """
        return self.absorptive


class Semiring(Protocol[A]):
    """Annotations one by one, and by handle: batches hold one 64-bit integer per row that stands for an annotation."""

    @property
    def name(self) -> str:
        """A plural that begins a sentence to the user, as in "counts have no value on a cycle"."""

    @property
    def laws(self) -> Laws: ...

    @property
    def zero(self) -> A: ...

    @property
    def one(self) -> A: ...

    def plus(self, left: A, right: A) -> A: ...

    def times(self, left: A, right: A) -> A: ...

    def is_zero(self, annotation: A) -> bool:
        """Whether a tuple with this annotation is absent."""

    def handle(self, annotation: A) -> int: ...

    def value(self, handle: int) -> A: ...

    def plus_batch(self, left: Handles, right: Handles) -> Handles:
        """Row by row, the handle of the sum."""

    def times_batch(self, left: Handles, right: Handles) -> Handles:
        """Row by row, the handle of the product."""


class Ring(Semiring[A], Protocol[A]):
    """A semiring with negatives: deletes and differences of views are ordinary sums."""

    def negate(self, annotation: A) -> A: ...

    def negate_batch(self, handles: Handles) -> Handles: ...


def require_sound(semiring: Semiring[A], cycle: Sequence[str], span: Span | None = None) -> None:
    """Refuse a recursion that this semiring has no value for.

    `cycle` says in the user's words what depends on itself: the relations of a recursive component before there is
    data, or the rows of a derivation, each one derived from the next and the last from the first.
    """
    if semiring.laws.sound_on_cycles:
        return
    first = cycle[0]
    shown = [*cycle, first] if len(cycle) < SHOWN_OF_A_CYCLE else [*cycle[: SHOWN_OF_A_CYCLE - 1], "...", first]
    raise StratificationError(
        f"{semiring.name} have no value on a cycle, and {first} depends on itself: {' <- '.join(shown)}",
        span=span,
        hint="every way around the cycle would be one more derivation, without end; ask for an annotation in which a "
        "longer derivation adds nothing (true or false, supports, lowest costs)",
    )
