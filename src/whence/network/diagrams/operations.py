"""Branches are made, and diagrams combined."""

from __future__ import annotations

from whence.engines.local.forest.kernels import inlined, kernel
from whence.network.diagrams.layout import (
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
