"""The costs of derivations, and what comes of them: a heap of nodes, cheapest first, and better costs for heads."""

from __future__ import annotations

import numpy as np

from whence.columns.compiled import inlined
from whence.engines.local.forest.layout import (
    ABSENCES,
    ADD,
    ALIVE,
    BODY,
    BODY_LENGTH,
    CHEAPENED,
    DERIVATIONS,
    END,
    GONE,
    GREATEST,
    HEAD,
    HEAD_RELATION,
    HEAP,
    IS_COST,
    LEAST,
    LIVE,
    MATCHED,
    MULTIPLY,
    NO_COST,
    NOTED,
    NOTES,
    NULL_COST,
    PENDING,
    PUSH_BEST,
    PUSH_CONSTANT,
    RELATION,
    REQUIRE_LESS,
    REQUIRE_LESS_EQUAL,
    RULE,
    SIGN,
    STATUS,
    SUBTRACT,
    TOO_LARGE,
    Array,
    ForestArrays,
    RuleTables,
)
from whence.engines.local.forest.prune import live_by


@inlined
def sketch(forest: ForestArrays, rules: RuleTables, rule: int, head: int, work: Array) -> int:
    """The current match of a rule as the next derivation, which is not noted yet: enough to know its cost.

    There must be room for it.
    """
    derivations, number = forest.derivations, forest.counters[DERIVATIONS]
    derivations[number, HEAD], derivations[number, RULE] = head, rule
    for atom in range(rules.heads[rule, BODY_LENGTH] - rules.heads[rule, ABSENCES]):
        derivations[number, BODY + atom] = work[MATCHED, atom]
    return number


@inlined
def cost_of(
    derivations: Array, number: int, best: Array, counters: Array, rules: RuleTables, stack: Array
) -> tuple[float, int]:
    """The cost by postfix operations, and what came of them; a rule without operations gives 0.

    Sums and products of NULL are NULL; least and greatest pass over it, and nothing that is required of it holds. Notes
    when it is better than that of a tuple it rests on. Only costs are read, and no nodes, which lie elsewhere.
    """
    costs, bounds, null = rules.costs, rules.bounds, rules.constants[NULL_COST]
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
            if operation >= REQUIRE_LESS:
                size -= 1
                is_less = left < right or (operation == REQUIRE_LESS_EQUAL and left == right)
                if not is_less or abs(left) == null or abs(right) == null:
                    return stack[0], NO_COST if fits else TOO_LARGE
            elif abs(left) == null or abs(right) == null:
                if operation != LEAST and operation != GREATEST:
                    stack[size - 1] = null
                elif abs(left) == null:
                    stack[size - 1] = right
            elif operation == ADD:
                stack[size - 1] = left + right
                # As machine numbers overflow wraps around, and may not be looked for afterwards.
                fits &= abs(np.float64(left) + np.float64(right)) <= rules.limit[0]
            elif operation == SUBTRACT:
                stack[size - 1] = left - right
                fits &= abs(np.float64(left) - np.float64(right)) <= rules.limit[0]
            elif operation == MULTIPLY:
                stack[size - 1] = left * right
                fits &= abs(np.float64(left) * np.float64(right)) <= rules.limit[0]
            elif operation == LEAST:
                stack[size - 1] = min(left, right)
            elif operation == GREATEST:
                stack[size - 1] = max(left, right)
        at += 1
    cost = stack[0]
    relation = rules.heads[rule, HEAD_RELATION]
    sign = rules.relations[relation, SIGN]
    if not sign:
        return cost, IS_COST if fits else TOO_LARGE
    is_null = abs(cost) == null
    if is_null:
        cost = sign * null
    for atom in range(rules.heads[rule, BODY_LENGTH]):
        sign_below = rules.signs[rule, atom]
        if sign_below and sign * cost < sign_below * best[derivations[number, BODY + atom]]:
            counters[CHEAPENED] = 1
    fits = fits and (is_null or bounds[relation, 0] <= cost <= bounds[relation, 1])
    return cost, IS_COST if fits else TOO_LARGE


@inlined
def push(keys: Array, nodes: Array, size: int, key: float, node: int) -> int:
    """Add a node; returns the new size. There must be room."""
    at = size
    while at > 0:
        above = (at - 1) >> 1
        if keys[above] <= key:
            break
        keys[at] = keys[above]
        nodes[at] = nodes[above]
        at = above
    keys[at] = key
    nodes[at] = node
    return size + 1


@inlined
def drop_first(keys: Array, nodes: Array, size: int) -> int:
    """Remove the first entry; returns the new size."""
    size -= 1
    key, node = keys[size], nodes[size]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and keys[below + 1] < keys[below]:
            below += 1
        if key <= keys[below]:
            break
        keys[at] = keys[below]
        nodes[at] = nodes[below]
        at = below
    keys[at] = key
    nodes[at] = node
    return size


@inlined
def remember(nodes: Array, best: Array, noted: Array, before: Array, walk: Array, node: int) -> None:
    """Note what a node was before the change under way, once."""
    if not nodes[node, STATUS] & NOTED:
        noted[walk[NOTES], 0] = node
        noted[walk[NOTES], 1] = nodes[node, STATUS] & ALIVE
        noted[walk[NOTES], 2] = nodes[node, LIVE]
        before[walk[NOTES]] = best[node]
        walk[NOTES] += 1
        nodes[node, STATUS] |= NOTED


@inlined
def offer(
    forest: ForestArrays,
    rules: RuleTables,
    number: int,
    noted: Array,
    before: Array,
    heap_keys: Array,
    heap_nodes: Array,
    walk: Array,
    stack: Array,
) -> bool:
    """A derivation's cost for its head, if it has one: taken if the head is new or gets better by it.

    False where the cost is too large for the head's column.
    """
    nodes, best, head = forest.nodes, forest.best, forest.derivations[number, HEAD]
    cost, outcome = cost_of(forest.derivations, number, best, forest.counters, rules, stack)
    sign = rules.relations[nodes[head, RELATION], SIGN]
    alive = nodes[head, STATUS] & ALIVE
    if outcome == IS_COST and not (alive and sign * cost >= sign * best[head]):
        remember(nodes, best, noted, before, walk, head)
        if not alive:
            nodes[head, STATUS] |= ALIVE | PENDING
            forest.counters[GONE] -= 1
        best[head] = cost
        live_by(forest, rules.heads, head, number)
        walk[HEAP] = push(heap_keys, heap_nodes, walk[HEAP], sign * cost, head)
    return outcome != TOO_LARGE
