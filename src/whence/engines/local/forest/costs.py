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
    HEAD_RELATION,
    LEAST,
    MULTIPLY,
    PUSH_BEST,
    PUSH_CONSTANT,
    RULE,
    SIGN,
    SUBTRACT,
    Array,
    Rules,
)


@inlined
def cost_of(
    derivations: Array, number: int, best: Array, counters: Array, rules: Rules, stack: Array
) -> tuple[float, bool]:
    """The cost by postfix operations, and whether the head's column can hold it; a rule without operations gives 0.

    Notes when it is better than that of a tuple it rests on. Only costs are read, and no nodes, which lie elsewhere.
    """
    costs, bounds = rules.costs, rules.bounds
    rule = derivations[number, RULE]
    fits = True
    size = 0
    at = 0
    stack[0] = 0
    while costs[rule, at, 0] != END:
        operation = costs[rule, at, 0]
        if operation == PUSH_BEST:
            stack[size] = best[derivations[number, BODY + costs[rule, at, 1]]]
            size += 1
        elif operation == PUSH_CONSTANT:
            stack[size] = rules.constants[costs[rule, at, 1]]
            size += 1
        else:
            size -= 1
            left, right = stack[size - 1], stack[size]
            if operation == ADD:
                stack[size - 1] = left + right
                # As machine numbers overflow wraps around, and may not be looked for afterwards.
                fits &= abs(np.float64(left) + np.float64(right)) <= rules.limit[0]
            elif operation == SUBTRACT:
                stack[size - 1] = left - right
                fits &= abs(np.float64(left) - np.float64(right)) <= rules.limit[0]
            elif operation == MULTIPLY:
                stack[size - 1] = left * right
            elif operation == LEAST:
                stack[size - 1] = min(left, right)
            elif operation == GREATEST:
                stack[size - 1] = max(left, right)
        at += 1
    cost = stack[0]
    relation = rules.heads[rule, HEAD_RELATION]
    sign = rules.relations[relation, SIGN]
    if not sign:
        return cost, fits
    for atom in range(rules.heads[rule, BODY_LENGTH]):
        if rules.signs[rule, atom] and sign * cost < sign * best[derivations[number, BODY + atom]]:
            counters[CHEAPENED] = 1
    return cost, fits and bounds[relation, 0] <= cost <= bounds[relation, 1]
