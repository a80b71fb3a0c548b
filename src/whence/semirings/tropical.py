"""Lowest costs: the cheapest derivation of a row, as in shortest paths and the costs of plans."""

from __future__ import annotations

import numpy as np

from whence.errors import EvaluationError
from whence.semirings.handles import Handles
from whence.semirings.semiring import Laws

# The cost of what cannot be had: above every cost.
INFINITE = 2**63 - 1


class Tropical:
    """(N ∪ {∞}, min, +, ∞, 0).

    A sum is a choice and a product is a way walked to its end. Absorptive because no cost is negative: a detour never
    improves on the way it contains, so recursion ends and aggregate selection may drop the dearer row. Costs are whole
    numbers, because sums of binary fractions depend on their order; whoever has cents counts in cents.
    """

    name = "lowest costs"
    laws = Laws(idempotent=True, absorptive=True, negatives=False)
    zero = INFINITE
    one = 0

    def plus(self, left: int, right: int) -> int:
        return min(left, right)

    def times(self, left: int, right: int) -> int:
        if left < 0 or right < 0:
            raise _negative(min(left, right))
        if INFINITE in (left, right):
            return INFINITE
        if left + right >= INFINITE:
            raise _overflow()
        return left + right

    def is_zero(self, annotation: int) -> bool:
        return annotation == INFINITE

    def handle(self, annotation: int) -> int:
        return annotation

    def value(self, handle: int) -> int:
        return handle

    def plus_batch(self, left: Handles, right: Handles) -> Handles:
        return np.minimum(left, right)

    def times_batch(self, left: Handles, right: Handles) -> Handles:
        lowest = np.minimum(left, right)
        if np.any(lowest < 0):
            raise _negative(int(lowest.min()))
        infinite = np.maximum(left, right) == INFINITE
        # The sum of two costs wraps around at most once, and is negative then.
        total = left + right
        if np.any(~infinite & ((total < 0) | (total == INFINITE))):
            raise _overflow()
        return np.where(infinite, INFINITE, total)


def _negative(cost: int) -> EvaluationError:
    return EvaluationError(
        f"a cost is negative ({cost}), so a way around a cycle could become cheaper without end",
        hint="lowest costs need costs of zero or more",
    )


def _overflow() -> EvaluationError:
    return EvaluationError("a sum of costs is too large for 64 bits", hint="give the costs in a larger unit")


TROPICAL = Tropical()
