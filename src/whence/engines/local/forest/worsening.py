"""Deletion where tuples have costs: the four walks, with re-proving and spreading in the order of cost.

The dead wait with the best cost that anything outside gives them. The cheapest of them is right as it is, since
whatever the others still get can only be dearer; it is alive again, and may offer a cost to others that are dead.
"""

from __future__ import annotations

from whence.engines.local.forest.costs import cost_of, holds
from whence.engines.local.forest.heap import drop_first, push
from whence.engines.local.forest.improving import HEAP, remember
from whence.engines.local.forest.kernels import kernel
from whence.engines.local.forest.layout import (
    ALIVE,
    BODY,
    CHEAPENED,
    DEAD,
    FIRST,
    GONE,
    HEAD,
    LIVE,
    LONGEST,
    NEXT_OF_HEAD,
    NOTHING,
    RELATION,
    SIGN,
    STATUS,
    USES,
    Array,
    Forest,
    Rules,
)
from whence.engines.local.forest.pruning import lose, mark_dead, outside


@kernel
def worsen(
    forest: Forest,
    rules: Rules,
    roots: Array,
    dead: Array,
    heap_keys: Array,
    heap_nodes: Array,
    noted: Array,
    before: Array,
    walk: Array,
    stack: Array,
) -> int:
    """Delete the nodes in `roots` (read from below); returns how many others were dead for a moment.

    NOTHING instead means that a cost is out of bounds, and the forest is not to be used any more.

    The heap has room for every use of every derivation, the other arrays for every node.
    """
    nodes, derivations, counters, best = forest.nodes, forest.derivations, forest.counters, forest.best
    heads, relations, costs = rules.heads, rules.relations, rules.costs
    constants, limit, bounds = rules.constants, rules.limit, rules.bounds
    longest = rules.shape[LONGEST]
    count = mark_dead(nodes, derivations, counters, longest, roots, dead)
    for at in range(count):
        remember(nodes, best, noted, before, walk, dead[at])
        nodes[dead[at], LIVE] = NOTHING
    walk[HEAP] = 0
    for at in range(count):
        node = dead[at]
        sign = relations[nodes[node, RELATION], SIGN]
        number = nodes[node, FIRST]
        while number != NOTHING:
            if derivations[number, HEAD] == node and outside(nodes, derivations, heads, number):
                cost, overflown = cost_of(derivations, number, best, costs, constants, limit, stack)
                relation = nodes[node, RELATION]
                if overflown or not holds(
                    nodes, derivations, counters, number, best, heads, relations, bounds, relation, cost
                ):
                    return NOTHING
                if nodes[node, LIVE] == NOTHING or sign * cost < sign * best[node]:
                    best[node] = cost
                    nodes[node, LIVE] = number
            number = derivations[number, NEXT_OF_HEAD]
        if nodes[node, LIVE] != NOTHING:
            walk[HEAP] = push(heap_keys, heap_nodes, walk[HEAP], sign * best[node], node)
    while walk[HEAP] > 0:
        key, node = heap_keys[0], heap_nodes[0]
        walk[HEAP] = drop_first(heap_keys, heap_nodes, walk[HEAP])
        if not nodes[node, STATUS] & DEAD or key != relations[nodes[node, RELATION], SIGN] * best[node]:
            continue
        nodes[node, STATUS] &= ~DEAD
        use = nodes[node, USES]
        while use != NOTHING:
            number = use // longest
            head = derivations[number, HEAD]
            if head != NOTHING and outside(nodes, derivations, heads, number):
                cost, overflown = cost_of(derivations, number, best, costs, constants, limit, stack)
                relation = nodes[head, RELATION]
                if overflown or not holds(
                    nodes, derivations, counters, number, best, heads, relations, bounds, relation, cost
                ):
                    return NOTHING
                sign = relations[relation, SIGN]
                better = nodes[head, LIVE] == NOTHING or sign * cost < sign * best[head]
                if better and nodes[head, STATUS] & DEAD:
                    best[head] = cost
                    nodes[head, LIVE] = number
                    walk[HEAP] = push(heap_keys, heap_nodes, walk[HEAP], sign * cost, head)
                elif better:
                    # It should have waited: the order of costs is not the order of proofs.
                    counters[CHEAPENED] = 1
            use = derivations[number, BODY + longest + use % longest]
    for at in range(count):
        node = dead[at]
        if nodes[node, STATUS] & DEAD:
            nodes[node, STATUS] &= ~(ALIVE | DEAD)
            nodes[node, LIVE] = NOTHING
            nodes[node, FIRST] = NOTHING
            counters[GONE] += 1
            lose(nodes, derivations, counters, longest, node)
    return count
