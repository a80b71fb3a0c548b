"""Changes that lie over each other in tiers: which of them are to become one."""

from __future__ import annotations

# A tier of up to so many rows is merged whenever there is occasion, a larger one when a quarter of its rows follow it.
_SMALL = 1000
_SHARE = 4


def first_to_merge(rows: list[int]) -> int:
    """Of tiers with so many rows, oldest first, the place from which they are to become one.

    What stays before it is large against all that follows, so that there are few tiers, and a row is written again only
    when several times as many have come.
    """
    at, total = len(rows), 0
    while at and rows[at - 1] <= max(_SMALL, _SHARE * total):
        at -= 1
        total += rows[at]
    return at
