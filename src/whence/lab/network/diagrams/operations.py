"""Branches are made, diagrams combined and walked over.

Branches lead to smaller numbers only, so that a list of them in ascending order has everything before it is needed. The
lists are made by `under` and `over`, which mark what they list in the memo; what sorts and uses a list clears it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whence.columns.compiled import inlined, kernel
from whence.lab.network.diagrams.layout import (
    AND,
    DONE_HIGH,
    FIRST_BRANCH,
    HIGH,
    LEFT,
    LEVEL,
    LOW,
    NEXT_BY_HIGH,
    NEXT_BY_LOW,
    NONE,
    OR,
    RIGHT,
    SAME_LEVEL,
    TRUE,
    USER,
    Array,
    Branches,
    Long,
)


@inlined
def mixed(number: int) -> int:
    """A number whose lower bits depend on all of it."""
    number *= 0x9E3779B97F4A7C1
    return number ^ (number >> 29)


@inlined
def first_place(branches: Branches, level: int, high: int, low: int) -> int:
    """Where to look first for a branch."""
    return (mixed(mixed(level + (high << 20)) + low) >> 8) & (len(branches.found) - 1)


@inlined
def branch(branches: Branches, level: int, high: int, low: int) -> int:
    """The one branch with these columns, or NONE if there is no room for it."""
    if high == low:
        return low
    rows, found = branches.rows, branches.found
    mask = len(found) - 1
    place = first_place(branches, level, high, low)
    while found[place] != NONE:
        number = int(found[place])
        if rows[number, LEVEL] == level and rows[number, HIGH] == high and rows[number, LOW] == low:
            return number
        place = (place + 1) & mask
    number = int(branches.used[0])
    if number == len(rows):
        return NONE
    branches.used[0] += 1
    found[place] = number
    rows[number, LEVEL] = level
    rows[number, HIGH] = high
    rows[number, LOW] = low
    rows[number, SAME_LEVEL] = branches.tops[level]
    branches.tops[level] = number
    rows[number, USER] = NONE
    if high >= FIRST_BRANCH:
        rows[number, NEXT_BY_HIGH] = rows[high, USER]
        rows[high, USER] = number
    if low >= FIRST_BRANCH:
        rows[number, NEXT_BY_LOW] = rows[low, USER]
        rows[low, USER] = number
    return number


@inlined
def place_of(branches: Branches, operation: int, left: int, right: int) -> int:
    """Where the result of an operation is remembered."""
    return (mixed((left << 33) + (right << 1) + operation) >> 8) & (len(branches.known) - 1)


@inlined
def combined(branches: Branches, operation: int, left: int, right: int) -> int:
    """Both, or either, of two diagrams; NONE if there is no room."""
    rows, known, stack = branches.rows, branches.known, branches.stack
    depth = 0
    while True:
        value = NONE
        if left == operation or right == operation:
            value = operation
        elif left < FIRST_BRANCH or left == right:
            value = right
        elif right < FIRST_BRANCH:
            value = left
        else:
            if left > right:
                left, right = right, left
            place = place_of(branches, operation, left, right)
            if known[place, 0] == (left << 33) + (right << 1) + operation:
                value = known[place, 1]
        if value == NONE:
            stack[depth, LEFT] = left
            stack[depth, RIGHT] = right
            stack[depth, DONE_HIGH] = NONE
            depth += 1
            level = min(rows[left, LEVEL], rows[right, LEVEL])
            left = rows[left, HIGH] if rows[left, LEVEL] == level else left
            right = rows[right, HIGH] if rows[right, LEVEL] == level else right
            continue
        while depth > 0 and stack[depth - 1, DONE_HIGH] != NONE:
            left = stack[depth - 1, LEFT]
            right = stack[depth - 1, RIGHT]
            level = min(rows[left, LEVEL], rows[right, LEVEL])
            value = branch(branches, level, stack[depth - 1, DONE_HIGH], value)
            if value == NONE:
                return NONE
            place = place_of(branches, operation, left, right)
            known[place, 0] = (left << 33) + (right << 1) + operation
            known[place, 1] = value
            depth -= 1
        if depth == 0:
            return value
        stack[depth - 1, DONE_HIGH] = value
        left = stack[depth - 1, LEFT]
        right = stack[depth - 1, RIGHT]
        level = min(rows[left, LEVEL], rows[right, LEVEL])
        left = rows[left, LOW] if rows[left, LEVEL] == level else left
        right = rows[right, LOW] if rows[right, LEVEL] == level else right


@inlined
def chosen(branches: Branches, level: int, high: int, low: int) -> int:
    """The diagram that asks for a leaf first, whatever the levels of what follows; NONE if there is no room."""
    rows = branches.rows
    if level < rows[high, LEVEL] and level < rows[low, LEVEL]:
        return branch(branches, level, high, low)
    leaf = branch(branches, level, TRUE, 0)
    if leaf == NONE:
        return NONE
    # What holds without the leaf holds with it.
    high = combined(branches, AND, leaf, high)
    return NONE if high == NONE else combined(branches, OR, high, low)


@kernel
def combine(branches: Branches, operation: int, left: Array, right: Array, results: Array, start: int) -> int:
    """Pair by pair from `start`; how far there was room for."""
    for at in range(start, len(left)):
        result = combined(branches, operation, left[at], right[at])
        if result == NONE:
            return at
        results[at] = result
    return len(left)


@kernel
def find_again(branches: Branches) -> None:
    """Fill an empty hash table with all branches."""
    rows, found = branches.rows, branches.found
    mask = len(found) - 1
    for number in range(FIRST_BRANCH, branches.used[0]):
        place = first_place(branches, rows[number, LEVEL], rows[number, HIGH], rows[number, LOW])
        while found[place] != NONE:
            place = (place + 1) & mask
        found[place] = number


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
