"""The algebra of annotations: union and projection add, join multiplies, and a tuple is there unless it is zero.

Every instance is a commutative semiring. Each law is there because an evaluation relies on it:

    (a + b) + c = a + (b + c)      derivations are added as they arrive, in batches cut anywhere
    a + b = b + a                  and in any order
    a + 0 = a                      a tuple that was never derived has an annotation too
    (a · b) · c = a · (b · c)      a join of several relations may be split into joins of two
    a · b = b · a                  and planned in any order
    a · 1 = a                      a body with no literal left is true
    a · 0 = 0                      a join with an absent tuple gives nothing, so it need not be tried
    a · (b + c) = a · b + a · c    the delta of a join is a join with the delta; projections move through joins

Annotations are canonical: equal ones compare as equal, so that "nothing changed" is one comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from fractions import Fraction
from typing import Protocol, TypeAlias, TypeVar

from whence.errors import EvaluationError, StratificationError

A = TypeVar("A")

# A longer cycle is shown by its beginning.
SHOWN_OF_A_CYCLE = 8

# What 64 bits hold.
LOWEST, HIGHEST = -(2**63), 2**63 - 1
# The cost of what cannot be had: above every cost.
INFINITE = HIGHEST

LEVELS = ("public", "confidential", "secret", "top secret")


class Semiring(Protocol[A]):
    @property
    def name(self) -> str:
        """A plural that begins a sentence to the user, as in "counts have no value on a cycle"."""

    @property
    def absorptive(self) -> bool:
        """Whether a + a · b = a: a longer derivation of what is there adds nothing, so it need not be propagated.

        Then recursion over cyclic data has a value, reached after as many rounds as there are tuples: going round a
        cycle multiplies a derivation by something more, which is what absorption takes away. That a + a = a is not
        enough: the cheapest path around a cycle of negative cost is idempotent, and has no end.
        """

    @property
    def zero(self) -> A: ...

    @property
    def one(self) -> A: ...

    def plus(self, left: A, right: A) -> A: ...

    def times(self, left: A, right: A) -> A: ...


def require_sound(semiring: Semiring[A], cycle: Sequence[str]) -> None:
    """Refuse a recursion that this semiring has no value for.

    `cycle` says in the user's words what depends on itself: tuples, each one derived from the next and the last from
    the first.
    """
    if semiring.absorptive:
        return
    first = cycle[0]
    shown = [*cycle, first] if len(cycle) < SHOWN_OF_A_CYCLE else [*cycle[: SHOWN_OF_A_CYCLE - 1], "...", first]
    raise StratificationError(
        f"{semiring.name} have no value on a cycle, and {first} depends on itself: {' <- '.join(shown)}",
        hint="every way around the cycle would be one more derivation, without end; ask for an annotation in which a "
        "longer derivation adds nothing (true or false, supports, lowest costs)",
    )


class Counts:
    """(Z, +, ×, 0, 1), on 64 bits; changes of relations are maps to it, see `deltas.py`.

    Not idempotent, so every derivation must be counted exactly once. Neither absorptive: around a cycle a count would
    grow without end.
    """

    name = "counts"
    absorptive = False
    zero = 0
    one = 1

    def plus(self, left: int, right: int) -> int:
        return _checked(left + right)

    def times(self, left: int, right: int) -> int:
        return _checked(left * right)


def _checked(count: int) -> int:
    if not LOWEST <= count <= HIGHEST:
        raise EvaluationError(
            "a row is there more often than can be counted (2^63 times or more)",
            hint="a DISTINCT before the join that multiplies the rows keeps the counts small",
        )
    return count


COUNTS = Counts()


class Boolean:
    """({false, true}, or, and): what set semantics computes.

    Absorptive, so recursion ends. It forgets how a row came about, so after a delete it must look again: that is why
    the other absorptive instances exist.
    """

    name = "truth values"
    absorptive = True
    zero = False
    one = True

    def plus(self, left: bool, right: bool) -> bool:
        return left or right

    def times(self, left: bool, right: bool) -> bool:
        return left and right


BOOLEAN = Boolean()

Cost: TypeAlias = int | Fraction


class Tropical:
    """(Q ∪ {∞}, min, +, ∞, 0).

    A sum is a choice between paths and a product joins two. Absorptive because no cost is negative: a detour never
    improves on the path it contains, so recursion ends and aggregate selection may drop the dearer row. Costs are whole
    numbers or fractions, never floats: sums of rounded numbers depend on their order.
    """

    name = "lowest costs"
    absorptive = True
    zero = INFINITE
    one = 0

    def plus(self, left: Cost, right: Cost) -> Cost:
        return min(left, right)

    def times(self, left: Cost, right: Cost) -> Cost:
        if left < 0 or right < 0:
            raise EvaluationError(
                f"a cost is negative ({min(left, right)}), so a way around a cycle could become cheaper without end",
                hint="lowest costs need costs of zero or more",
            )
        if INFINITE in (left, right):
            return INFINITE
        if left + right >= INFINITE:
            raise EvaluationError("a sum of costs is too large for 64 bits", hint="give the costs in a larger unit")
        return left + right


TROPICAL = Tropical()


class Viterbi:
    """([0, 1], max, ×): a derivation is as sure as all that it uses together, and the surest one counts.

    Absorptive, because nothing is more than certain: a detour is never surer than the derivation it contains.
    """

    name = "confidences"
    absorptive = True
    zero = 0.0
    one = 1.0

    def plus(self, left: float, right: float) -> float:
        return max(left, right)

    def times(self, left: float, right: float) -> float:
        return left * right


VITERBI = Viterbi()


class Security:
    """(levels, min, max): a derivation is as secret as the most secret thing it uses, and the least secret one counts.

    Levels are numbers from 0, for what everybody may know, to the number of levels, for what nobody can know.
    """

    name = "security levels"
    absorptive = True
    levels = LEVELS
    zero = len(LEVELS)
    one = 0

    def plus(self, left: int, right: int) -> int:
        return min(left, right)

    def times(self, left: int, right: int) -> int:
        return max(left, right)


class Truth(IntEnum):
    """Kleene's three values, for views over documents that are still arriving: 0, ½ and 1, doubled so that they are
    integers.
    """

    FALSE = 0
    """It does not hold and never will."""

    MAYBE = 1
    """It does not hold yet, and what still arrives may make it hold."""

    TRUE = 2
    """It holds, whatever arrives."""

    def reaches(self, threshold: Truth) -> bool:
        """Whether it is so true or truer.

        For each threshold above FALSE this is a homomorphism to the Boolean semiring: max becomes or, min becomes and.
        So a program over the three values is two programs over two values, one for MAYBE and one for TRUE, and whoever
        maintains sets maintains it.
        """
        return self >= threshold

    @classmethod
    def between(cls, *, sure: bool, possible: bool) -> Truth:
        """The value that reaches TRUE if it is sure and MAYBE if it is possible: the way back from the two programs."""
        return cls.TRUE if sure else cls.MAYBE if possible else cls.FALSE


class Kleene:
    """({0, ½, 1}, max, min).

    A row is wanted as long as it is not zero: what is false forever can be thrown away with the streams that feed it,
    and what is true already waits for nothing. Absorptive, so recursion ends.
    """

    name = "three-valued truths"
    absorptive = True
    zero = Truth.FALSE
    one = Truth.TRUE

    def plus(self, left: Truth, right: Truth) -> Truth:
        return max(left, right)

    def times(self, left: Truth, right: Truth) -> Truth:
        return min(left, right)


KLEENE = Kleene()
