"""Kleene's three values: true, not yet, never. For views over documents that are still arriving."""

from __future__ import annotations

from enum import IntEnum


class Truth(IntEnum):
    """0, ½ and 1, doubled so that they are integers."""

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
