"""Security levels: how cleared one must be to know that a row is there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whence.semirings.handles import Handles
from whence.semirings.semiring import Laws

LEVELS = ("public", "confidential", "secret", "top secret")


class Security:
    """(levels, min, max): a derivation is as secret as the most secret thing it uses, and the least secret one counts.

    Levels are numbers from 0, for what everybody may know, to the number of levels, for what nobody can know.
    """

    name = "security levels"
    laws = Laws(idempotent=True, absorptive=True, negatives=False)
    one = 0

    def __init__(self, levels: Sequence[str] = LEVELS) -> None:
        self.levels = tuple(levels)
        self.zero = len(self.levels)

    def plus(self, left: int, right: int) -> int:
        return min(left, right)

    def times(self, left: int, right: int) -> int:
        return max(left, right)

    def is_zero(self, annotation: int) -> bool:
        return annotation == self.zero

    def handle(self, annotation: int) -> int:
        return annotation

    def value(self, handle: int) -> int:
        return handle

    def plus_batch(self, left: Handles, right: Handles) -> Handles:
        return np.minimum(left, right)

    def times_batch(self, left: Handles, right: Handles) -> Handles:
        return np.maximum(left, right)
