"""True and false: whether a row is there."""

from __future__ import annotations

from whence.semirings.handles import Handles
from whence.semirings.semiring import Laws


class Boolean:
    """({false, true}, or, and): what set semantics computes.

    Absorptive, so recursion ends. It forgets how a row came about, so after a delete it must look again: that is why
    the other absorptive instances exist.
    """

    name = "truth values"
    laws = Laws(idempotent=True, absorptive=True, negatives=False)
    zero = False
    one = True

    def plus(self, left: bool, right: bool) -> bool:
        return left or right

    def times(self, left: bool, right: bool) -> bool:
        return left and right

    def is_zero(self, annotation: bool) -> bool:
        return not annotation

    def handle(self, annotation: bool) -> int:
        return int(annotation)

    def value(self, handle: int) -> bool:
        return bool(handle)

    def plus_batch(self, left: Handles, right: Handles) -> Handles:
        return left | right

    def times_batch(self, left: Handles, right: Handles) -> Handles:
        return left & right


BOOLEAN = Boolean()
