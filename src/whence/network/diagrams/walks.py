"""Walks over diagrams: what is under them, what is over a leaf, what is left without it, and the way to other branches.

Branches lead to smaller numbers only, so that a list of them in ascending order has everything before it is needed. The
lists are made by `under` and `over`, which mark what they list in the memo; whoever sorts and uses a list clears it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whence.engines.local.forest.kernels import kernel
from whence.network.diagrams.layout import (
    FIRST_BRANCH,
    HIGH,
    LEVEL,
    LOW,
    NEXT_BY_HIGH,
    NEXT_BY_LOW,
    NONE,
    SAME_LEVEL,
    USER,
    Array,
    Branches,
    Long,
)
from whence.network.diagrams.operations import branch, chosen


@kernel
def under(branches: Branches, diagrams: Array, listed: Array) -> int:
    """List the branches of these diagrams, and say how many there are."""
    rows, memo = branches.rows, branches.memo
    ready, end = 0, 0
    for at in range(len(diagrams)):
        top = diagrams[at]
        if top < FIRST_BRANCH or memo[top] != NONE:
            continue
        memo[top] = 0
        listed[end] = top
        end += 1
        while ready < end:
            number = listed[ready]
            ready += 1
            for column in (HIGH, LOW):
                next_one = rows[number, column]
                if next_one >= FIRST_BRANCH and memo[next_one] == NONE:
                    memo[next_one] = 0
                    listed[end] = next_one
                    end += 1
    return end


@kernel
def over(branches: Branches, levels: Array, listed: Array) -> int:
    """List the branches that ask for leaves of these levels, at once or later, and say how many there are."""
    rows, memo = branches.rows, branches.memo
    end = 0
    for at in range(len(levels)):
        number = branches.tops[levels[at]]
        while number != NONE:
            if memo[number] == NONE:
                memo[number] = 0
                listed[end] = number
                end += 1
            number = rows[number, SAME_LEVEL]
    ready = 0
    while ready < end:
        number = listed[ready]
        ready += 1
        user = rows[number, USER]
        while user != NONE:
            if memo[user] == NONE:
                memo[user] = 0
                listed[end] = user
                end += 1
            user = rows[user, NEXT_BY_HIGH] if rows[user, HIGH] == number else rows[user, NEXT_BY_LOW]
    return end


@kernel
def clear(memo: Array, listed: Array) -> None:
    for at in range(len(listed)):
        memo[listed[at]] = NONE


@kernel
def leave_out(branches: Branches, gone: NDArray[np.bool_], listed: Array, start: int) -> int:
    """Into the memo goes what is left of the listed branches without the leaves that are gone, by their levels.

    How far there was room for, from `start`.
    """
    rows, memo = branches.rows, branches.memo
    for at in range(start, len(listed)):
        number = listed[at]
        low = rows[number, LOW]
        if memo[low] != NONE:
            low = memo[low]
        result = low
        if not gone[rows[number, LEVEL]]:
            high = rows[number, HIGH]
            if memo[high] != NONE:
                high = memo[high]
            result = branch(branches, rows[number, LEVEL], high, low)
            if result == NONE:
                return at
        memo[number] = result
    return len(listed)


@kernel
def build(branches: Branches, levels: Array, numbers: Long, results: Array, start: int) -> int:
    """Diagrams from triples: the number of a leaf, whose level is given, and what follows, in the order of results.

    The first of the results are the constants. How far there was room for, from `start`.
    """
    for at in range(start, len(numbers)):
        result = chosen(branches, levels[numbers[at, 0]], results[numbers[at, 1]], results[numbers[at, 2]])
        if result == NONE:
            return at
        results[at + FIRST_BRANCH] = result
    return len(numbers)


@kernel
def move(source: Branches, target: Branches, levels: Array, listed: Array, start: int) -> int:
    """The listed branches in other branches, where leaves have other levels. Their numbers there go into the memo.

    How far there was room for, from `start`.
    """
    rows, memo = source.rows, source.memo
    for at in range(start, len(listed)):
        number = listed[at]
        high, low = rows[number, HIGH], rows[number, LOW]
        high = memo[high] if high >= FIRST_BRANCH else high
        low = memo[low] if low >= FIRST_BRANCH else low
        result = chosen(target, levels[rows[number, LEVEL]], high, low)
        if result == NONE:
            return at
        memo[number] = result
    return len(listed)


@kernel
def flatten(branches: Branches, places: Array, listed: Array, numbers: Long) -> None:
    """Triples from branches, as `build` reads them, with the places of leaves by level. The memo gets references."""
    rows, memo = branches.rows, branches.memo
    for at in range(len(listed)):
        number = listed[at]
        high, low = rows[number, HIGH], rows[number, LOW]
        numbers[at, 0] = places[rows[number, LEVEL]]
        numbers[at, 1] = memo[high] if high >= FIRST_BRANCH else high
        numbers[at, 2] = memo[low] if low >= FIRST_BRANCH else low
        memo[number] = at + FIRST_BRANCH
