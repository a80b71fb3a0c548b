"""How diagrams lie in memory.

A diagram is reduced and ordered, so that equal ones are the same. It is a number: 0 is false, 1 is true, and any other
is a branch, which asks for one leaf and goes on to `high` if that tuple is there and to `low` if it is not. Branches
are never changed, and have greater numbers than those they lead to. Leaves have levels, from 0 at the top.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from whence.columns.compiled import kernel

Array: TypeAlias = NDArray[np.int32]
Long: TypeAlias = NDArray[np.int64]

FALSE, TRUE, FIRST_BRANCH = 0, 1, 2
# Where there is none, and what a kernel answers when there is no room for one more branch.
NONE = -1

# The columns of a branch. What leads to it is a list, of which it has the first; each of those has the next one, by
# whether it leads here with its high or its low.
LEVEL, HIGH, LOW, SAME_LEVEL, USER, NEXT_BY_HIGH, NEXT_BY_LOW, WIDTH = range(8)
# Below all leaves.
BOTTOM = np.iinfo(np.int32).max

# Operations are numbered by the constant that decides them alone.
AND, OR = FALSE, TRUE

# The columns of a frame on the stack of an operation.
LEFT, RIGHT, DONE_HIGH, FRAME = range(4)


class Branches(NamedTuple):
    """`found` is a hash table of all branches, `known` remembers results of operations, `tops` has the first branch of
    every level, `used` is how many branches there are, and `stack` and `memo` are what walks work with: a frame per
    level, and a number per branch that is NONE between walks.
    """

    rows: Array
    found: Array
    known: Long
    tops: Array
    used: Long
    stack: Array
    memo: Array


def new_branches(capacity: int, levels: int) -> Branches:
    rows = np.empty((capacity, WIDTH), np.int32)
    rows[:FIRST_BRANCH, LEVEL] = BOTTOM
    return Branches(
        rows,
        np.full(2 * capacity, NONE, np.int32),
        np.full((capacity // 4, 2), NONE, np.int64),
        np.full(levels, NONE, np.int32),
        np.array([FIRST_BRANCH], np.int64),
        np.empty((levels + 1, FRAME), np.int32),
        np.full(capacity, NONE, np.int32),
    )


def grown(branches: Branches) -> Branches:
    """The same with twice the room. The hash table is still to be filled."""
    capacity = 2 * len(branches.rows)
    larger = new_branches(capacity, len(branches.tops))
    for name in ("rows", "memo", "tops", "used"):
        before, after = getattr(branches, name), getattr(larger, name)
        after[: len(before)] = before
    return larger


def with_levels(branches: Branches, levels: int) -> Branches:
    """The same with room for more levels."""
    tops = np.full(levels, NONE, np.int32)
    tops[: len(branches.tops)] = branches.tops
    return branches._replace(tops=tops, stack=np.empty((levels + 1, FRAME), np.int32))


def as_list(numbers: NDArray[np.integer]) -> list[int]:
    listed: list[int] = numbers.tolist()
    return listed


Bytes: TypeAlias = NDArray[np.uint8]

# Seven bits in each: what fits an integer of 64 bits, the sign aside.
MOST_BYTES = 9


@kernel
def pack(numbers: Long, data: Bytes) -> int:
    """The numbers as bytes, of which there are so many then."""
    end = 0
    for at in range(len(numbers)):
        number = numbers[at]
        while number > 0x7F:
            data[end] = number & 0x7F | 0x80
            end += 1
            number >>= 7
        data[end] = number
        end += 1
    return end


@kernel
def unpack(data: Bytes, numbers: Long) -> int:
    """All numbers of the bytes, and how many they are; NONE if the last one has no end, or one does not fit."""
    end = 0
    number, shift = np.int64(0), 0
    for at in range(len(data)):
        if shift == 7 * MOST_BYTES:
            return NONE
        byte = np.int64(data[at])
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers[end] = number
            end += 1
            number, shift = np.int64(0), 0
    return end if shift == 0 else NONE


def unpacked(data: bytes) -> Long | None:
    """What was packed; None where the bytes are no numbers."""
    numbers = np.empty(len(data), np.int64)
    count = unpack(np.frombuffer(data, np.uint8), numbers)
    return None if count == NONE else numbers[:count]


def packed(numbers: Long) -> bytes:
    data = np.empty(MOST_BYTES * len(numbers), np.uint8)
    return data[: pack(numbers, data)].tobytes()
