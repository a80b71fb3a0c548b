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
