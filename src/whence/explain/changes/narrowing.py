"""Which of many changes it takes: the fewest that still do what all of them did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Part = TypeVar("Part")


def narrowed(parts: Sequence[Part], suffices: Callable[[Sequence[Part]], bool], most_tests: int) -> Sequence[Part]:
    """Parts that suffice, and none of which could be left out alone; more than that after `most_tests` tests.

    All parts together suffice. Halves are left out first, then quarters and so on, so that few among many are found in
    few tests.

    >>> narrowed(range(100), lambda some: {3, 71} <= {*some}, 1000)
    [3, 71]
    """
    left = list(parts)
    pieces = 2
    while len(left) > 1 and most_tests > 0:
        size = -(-len(left) // pieces)
        for start in range(0, len(left), size):
            rest = left[:start] + left[start + size :]
            most_tests -= 1
            if rest and suffices(rest):
                left, pieces = rest, max(pieces - 1, 2)
                break
            if most_tests <= 0:
                break
        else:
            if pieces >= len(left):
                return left
            pieces = min(2 * pieces, len(left))
    return left
