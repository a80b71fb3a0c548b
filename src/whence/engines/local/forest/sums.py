"""Sums of INT columns, compared with a number."""

from __future__ import annotations

import numpy as np

from whence.engines.local.forest.kernels import inlined
from whence.engines.local.forest.layout import (
    ADD,
    EQUAL,
    GREATER,
    IN_RANGE,
    LESS,
    LESS_EQUAL,
    OVERFLOWN,
    REGISTER,
    REGISTERS,
    SUBTRACT,
    TEST_LEFT,
    TEST_OPERATOR,
    UNEQUAL,
    Array,
)


@inlined
def compares(operator: int, left: int, tests: Array, first: int, count: int, numbers: Array, work: Array) -> bool:
    """Whether a number compares with the sum of the operands that stand in the tests from `first` on.

    A sum that is no INT compares with nothing, and is remembered.
    """
    total = np.int64(0)
    for at in range(first, first + count):
        argument = tests[at, TEST_LEFT + 1]
        value = numbers[work[REGISTERS, argument] if tests[at, TEST_LEFT] == REGISTER else argument]
        step = tests[at, TEST_OPERATOR]
        if step == ADD:
            total += value
        elif step == SUBTRACT:
            total -= value
        else:
            total *= value
        if total < -(2**31) or total >= 2**31:
            work[OVERFLOWN, 0] = 1
            return False
    if operator == IN_RANGE:
        return True
    if operator == EQUAL:
        return bool(left == total)
    if operator == UNEQUAL:
        return bool(left != total)
    if operator == LESS:
        return bool(left < total)
    if operator == LESS_EQUAL:
        return bool(left <= total)
    return bool(left > total if operator == GREATER else left >= total)
