"""The cost that a derivation gives its head: the rule's computation over the costs of the body."""

from __future__ import annotations

import numba as nb

from whence.engines.local.forest.layout import (
    ADD,
    BODY,
    END,
    GREATEST,
    LEAST,
    MULTIPLY,
    PUSH_BEST,
    PUSH_CONSTANT,
    RULE,
    SUBTRACT,
    Array,
)


@nb.njit(cache=True, forceinline=True)
def cost_of(derivations: Array, number: int, best: Array, costs: Array, constants: Array, stack: Array) -> float:
    """The cost by postfix operations; a rule without any gives 0."""
    rule = derivations[number, RULE]
    size = 0
    at = 0
    stack[0] = 0
    while costs[rule, at, 0] != END:
        operation = costs[rule, at, 0]
        if operation == PUSH_BEST:
            stack[size] = best[derivations[number, BODY + costs[rule, at, 1]]]
            size += 1
        elif operation == PUSH_CONSTANT:
            stack[size] = constants[costs[rule, at, 1]]
            size += 1
        else:
            size -= 1
            left, right = stack[size - 1], stack[size]
            if operation == ADD:
                stack[size - 1] = left + right
            elif operation == SUBTRACT:
                stack[size - 1] = left - right
            elif operation == MULTIPLY:
                stack[size - 1] = left * right
            elif operation == LEAST:
                stack[size - 1] = min(left, right)
            elif operation == GREATEST:
                stack[size - 1] = max(left, right)
        at += 1
    return stack[0]
