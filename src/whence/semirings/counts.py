"""Counts, the ring Z: how often a row is there; a delta is a count with a sign."""

from __future__ import annotations

import numpy as np

from whence.errors import EvaluationError
from whence.semirings.handles import Handles
from whence.semirings.semiring import Laws

LOWEST, HIGHEST = -(2**63), 2**63 - 1


class Counts:
    """(Z, +, ×, 0, 1), on 64 bits.

    The only instance with negatives: the delta of a union, projection or join is the same sum of products over deltas,
    deletes included, and a view can be subtracted from another. Not idempotent, so every derivation must be counted
    exactly once. Neither absorptive: around a cycle a count would grow without end.
    """

    name = "counts"
    laws = Laws(idempotent=False, absorptive=False, negatives=True)
    zero = 0
    one = 1

    def plus(self, left: int, right: int) -> int:
        return _checked(left + right)

    def times(self, left: int, right: int) -> int:
        return _checked(left * right)

    def negate(self, annotation: int) -> int:
        return _checked(-annotation)

    def is_zero(self, annotation: int) -> bool:
        return annotation == 0

    def handle(self, annotation: int) -> int:
        return annotation

    def value(self, handle: int) -> int:
        return handle

    def plus_batch(self, left: Handles, right: Handles) -> Handles:
        total: Handles = left + right
        # A sum has wrapped around where its sign is that of neither summand.
        if np.any((left ^ total) & (right ^ total) < 0):
            raise _overflow()
        return total

    def times_batch(self, left: Handles, right: Handles) -> Handles:
        # Exact products are slow and hardly ever needed: first ask whether any two rows could overflow.
        if _magnitude(left) * _magnitude(right) > HIGHEST:
            exact = left.astype(object) * right.astype(object)
            if any(not LOWEST <= product <= HIGHEST for product in exact):
                raise _overflow()
        product: Handles = left * right
        return product

    def negate_batch(self, handles: Handles) -> Handles:
        if np.any(handles == LOWEST):
            raise _overflow()
        negated: Handles = -handles
        return negated


def _checked(count: int) -> int:
    if not LOWEST <= count <= HIGHEST:
        raise _overflow()
    return count


def _magnitude(handles: Handles) -> int:
    return max(-int(handles.min()), int(handles.max())) if len(handles) else 0


def _overflow() -> EvaluationError:
    return EvaluationError(
        "a row is there more often than can be counted (2^63 times or more)",
        hint="a DISTINCT before the join that multiplies the rows keeps the counts small",
    )


COUNTS = Counts()
