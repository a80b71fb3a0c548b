"""The cost that a derivation gives its head: the rule's computation over the costs of the body."""

from __future__ import annotations

import numpy as np

from whence.engines.local.forest.kernels import inlined
from whence.engines.local.forest.layout import (
    ADD,
    BODY,
    BODY_LENGTH,
    CHEAPENED,
    END,
    GREATEST,
    LEAST,
    MULTIPLY,
    PUSH_BEST,
    PUSH_CONSTANT,
    RELATION,
    RULE,
    SIGN,
    SUBTRACT,
    Array,
)


@inlined
def cost_of(
    derivations: Array, number: int, best: Array, costs: Array, constants: Array, limit: Array, stack: Array
) -> tuple[float, bool]:
    """The cost by postfix operations, and whether a sum has overflown; a rule without operations gives 0."""
    rule = derivations[number, RULE]
    overflown = False
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
                # As machine numbers overflow wraps around, and may not be looked for afterwards.
                overflown |= abs(np.float64(left) + np.float64(right)) > limit[0]
            elif operation == SUBTRACT:
                stack[size - 1] = left - right
                overflown |= abs(np.float64(left) - np.float64(right)) > limit[0]
            elif operation == MULTIPLY:
                stack[size - 1] = left * right
            elif operation == LEAST:
                stack[size - 1] = min(left, right)
            elif operation == GREATEST:
                stack[size - 1] = max(left, right)
        at += 1
    return stack[0], overflown


@inlined
def holds(
    nodes: Array,
    derivations: Array,
    counters: Array,
    number: int,
    best: Array,
    heads: Array,
    relations: Array,
    bounds: Array,
    relation: int,
    cost: float,
) -> bool:
    """Whether the head's column can hold the cost; notes when it is better than that of a tuple it rests on."""
    sign = relations[relation, SIGN]
    if not sign:
        return True
    for atom in range(heads[derivations[number, RULE], BODY_LENGTH]):
        node = derivations[number, BODY + atom]
        if relations[nodes[node, RELATION], SIGN] and sign * cost < sign * best[node]:
            counters[CHEAPENED] = 1
    return bounds[relation, 0] <= cost <= bounds[relation, 1]
