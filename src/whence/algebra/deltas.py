"""Deltas as a group: they add up, and each has an inverse. A row whose count comes to zero is not there.

>>> added({("a",): 1}, {("a",): -1, ("b",): 2})
{('b',): 2}
>>> negated({("b",): 2})
{('b',): -2}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping

from whence.model.types import Row
from whence.model.updates import Delta

# A tier of up to so many rows is merged whenever there is occasion, a larger one when a quarter of its rows follow it.
_SMALL = 1000
_SHARE = 4


def add_to(total: MutableMapping[Row, int], changes: Iterable[tuple[Row, int]]) -> None:
    """More changes, in place."""
    for row, change in changes:
        count = total.get(row, 0) + change
        if count:
            total[row] = count
        else:
            total.pop(row, None)


def added(first: Delta, *rest: Delta) -> Delta:
    """Changes one after the other, as one. A change that is alone is handed on as it is, and none is altered."""
    parts = [delta for delta in (first, *rest) if delta]
    if len(parts) <= 1:
        return parts[0] if parts else {}
    total = dict(parts[0])
    for delta in parts[1:]:
        add_to(total, delta.items())
    return total


def delta_between(before: Delta, after: Delta) -> dict[Row, int]:
    """What leads from one state of a relation to another."""
    change = {row: count - before.get(row, 0) for row, count in after.items() if before.get(row, 0) != count}
    change.update((row, -count) for row, count in before.items() if row not in after)
    return change


def negated(delta: Delta) -> dict[Row, int]:
    """What takes a change back."""
    return {row: -change for row, change in delta.items()}


def all_added(*changes: Mapping[str, Delta]) -> dict[str, Delta]:
    """Changes of several relations one after the other, as one."""
    names = dict.fromkeys(name for change in changes for name in change)
    total = {name: added({}, *(change[name] for change in changes if name in change)) for name in names}
    return {name: delta for name, delta in total.items() if delta}


def all_negated(deltas: Mapping[str, Delta]) -> dict[str, Delta]:
    return {name: negated(delta) for name, delta in deltas.items()}


def first_to_merge(rows: list[int]) -> int:
    """Of deltas that lie over each other in tiers of so many rows, oldest first, the place from which they become one.

    What stays before it is large against all that follows, so that there are few tiers, and a row is written again only
    when several times as many have come.
    """
    at, total = len(rows), 0
    while at and rows[at - 1] <= max(_SMALL, _SHARE * total):
        at -= 1
        total += rows[at]
    return at
