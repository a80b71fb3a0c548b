"""Deletion where tuples have costs: the four walks, with re-proving and spreading in the order of cost.

The dead wait with the best cost that anything outside gives them. The cheapest of them is right as it is, since
whatever the others still get can only be dearer; it is alive again, and may offer a cost to others that are dead.
"""

from __future__ import annotations

from whence.columns.compiled import inlined
from whence.engines.local.forest.costs import cost_of, drop_first, push, remember
from whence.engines.local.forest.layout import (
    ALIVE,
    ARITY,
    BODY,
    CHEAPENED,
    COMES,
    DEAD,
    DEAD_COUNT,
    DEAD_NODE,
    ENTERING,
    ENTERING_RELATION,
    FINISHED,
    FIRST,
    FIXED,
    GONE,
    GROWING,
    HEAD,
    HEAP,
    IS_COST,
    LIVE,
    LONGEST,
    MARKING,
    NEEDS_ROOM,
    NEXT_OF_HEAD,
    NOTED,
    NOTHING,
    OUT_OF_BOUNDS,
    PHASE,
    RELATION,
    REQUIRES,
    SIGN,
    SPREADING,
    STATUS,
    TOO_LARGE,
    USE,
    USES,
    Array,
    ForestArrays,
    RuleTables,
)
from whence.engines.local.forest.prune import lose, mark_dead, mark_user, outside
from whence.engines.local.forest.tuples import find


@inlined
def _leave(forest: ForestArrays, rules: RuleTables, rows: Array, costs: Array, roots: Array) -> int:
    """The nodes of rows that go, and of those that stay and get worse; returns how many there are.

    Where costs are no part of what a tuple is, a row that comes may be there already. Then it is NOTED, and where the
    new cost is the worse one, it has it at once.
    """
    nodes, best, slots, relations = forest.nodes, forest.best, forest.slots, rules.relations
    count = 0
    for at in range(len(rows)):
        relation = rows[at, ENTERING_RELATION]
        sign = relations[relation, FIXED]
        if rows[at, COMES] and sign:
            node = find(nodes, slots, relation, rows, at, ENTERING, relations[relation, ARITY])
            if node != NOTHING and nodes[node, STATUS] & ALIVE:
                nodes[node, STATUS] |= NOTED
                if sign * costs[at] > sign * best[node]:
                    best[node] = costs[at]
                    roots[count] = node
                    count += 1
    for at in range(len(rows)):
        if not rows[at, COMES]:
            relation = rows[at, ENTERING_RELATION]
            node = find(nodes, slots, relation, rows, at, ENTERING, relations[relation, ARITY])
            if not nodes[node, STATUS] & NOTED:
                roots[count] = node
                count += 1
    return count


@inlined
def _is_better(nodes: Array, best: Array, node: int, sign: int, cost: float, outcome: int) -> bool:
    """Whether a derivation's cost is better than what a node got so far from outside the dead."""
    return outcome == IS_COST and bool(nodes[node, LIVE] == NOTHING or sign * cost < sign * best[node])


@inlined
def _bury(forest: ForestArrays, rules: RuleTables, dead: Array) -> None:
    """Those of the dead that did not come back are gone, and so is what was derived from them."""
    nodes, derivations, counters = forest.nodes, forest.derivations, forest.counters
    may_wait = rules.shape[REQUIRES]
    for at in range(len(dead)):
        node = dead[at, DEAD_NODE]
        if nodes[node, STATUS] & DEAD:
            nodes[node, STATUS] &= ~(ALIVE | DEAD)
            nodes[node, LIVE] = NOTHING
            if not may_wait:
                nodes[node, FIRST] = NOTHING
            counters[GONE] += 1
            lose(nodes, derivations, counters, rules.shape[LONGEST], node)
    if may_wait:
        for at in range(len(dead)):
            if not nodes[dead[at, DEAD_NODE], STATUS] & ALIVE:
                _keep_waiting(nodes, derivations, dead[at, DEAD_NODE])


@inlined
def _keep_waiting(nodes: Array, derivations: Array, node: int) -> None:
    """Derivations of a node that is gone whose bodies are there: a better cost may do what is required of it."""
    number = nodes[node, FIRST]
    nodes[node, FIRST] = NOTHING
    while number != NOTHING:
        following = derivations[number, NEXT_OF_HEAD]
        if derivations[number, HEAD] == node:
            derivations[number, NEXT_OF_HEAD] = nodes[node, FIRST]
            nodes[node, FIRST] = number
        number = following


@inlined
def worsen(
    forest: ForestArrays,
    rules: RuleTables,
    rows: Array,
    row_costs: Array,
    roots: Array,
    dead: Array,
    heap_keys: Array,
    heap_nodes: Array,
    noted: Array,
    before: Array,
    walk: Array,
    stack: Array,
) -> int:
    """Delete the rows that go, let others get worse, and follow what stood on any of them.

    Afterwards `walk[DEAD_COUNT]` is how many tuples were dead for a moment. When a cost is out of bounds, the forest is
    not to be used any more. All arrays have room for every node; the heap may need more.
    """
    nodes, derivations, counters, best = forest.nodes, forest.derivations, forest.counters, forest.best
    heads, relations, longest = rules.heads, rules.relations, rules.shape[LONGEST]
    if walk[PHASE] == MARKING:
        roots = roots[: _leave(forest, rules, rows, row_costs, roots)]
        count = 0
        for at in range(len(roots)):
            use = nodes[roots[at], USES] if nodes[roots[at], STATUS] & NOTED else NOTHING
            while use != NOTHING:
                number = use // longest
                if derivations[number, HEAD] != NOTHING:
                    # What a worse row gives does not matter where there is better, but it has to be a cost.
                    _, outcome = cost_of(derivations, number, best, counters, rules, stack)
                    if outcome == TOO_LARGE:
                        return OUT_OF_BOUNDS
                    count = mark_user(nodes, derivations, number, dead, count)
                use = derivations[number, BODY + longest + use % longest]
        count = mark_dead(nodes, derivations, counters, longest, roots, dead, count)
        walk[DEAD_COUNT] = count
        for at in range(count):
            remember(nodes, best, noted, before, walk, dead[at, DEAD_NODE])
            nodes[dead[at, DEAD_NODE], LIVE] = NOTHING
        for at in range(count):
            node = dead[at, DEAD_NODE]
            sign = relations[nodes[node, RELATION], SIGN]
            number = nodes[node, FIRST]
            while number != NOTHING:
                if derivations[number, HEAD] == node and outside(nodes, derivations, heads, number):
                    cost, outcome = cost_of(derivations, number, best, counters, rules, stack)
                    if outcome == TOO_LARGE:
                        return OUT_OF_BOUNDS
                    if _is_better(nodes, best, node, sign, cost, outcome):
                        best[node] = cost
                        nodes[node, LIVE] = number
                number = derivations[number, NEXT_OF_HEAD]
            if nodes[node, LIVE] != NOTHING:
                walk[HEAP] = push(heap_keys, heap_nodes, walk[HEAP], sign * best[node], node)
        walk[PHASE] = SPREADING
    while True:
        while walk[USE] != NOTHING:
            if walk[HEAP] == len(heap_keys):
                return NEEDS_ROOM
            number = walk[USE] // longest
            head = derivations[number, HEAD]
            if head != NOTHING and outside(nodes, derivations, heads, number):
                cost, outcome = cost_of(derivations, number, best, counters, rules, stack)
                if outcome == TOO_LARGE:
                    return OUT_OF_BOUNDS
                sign = relations[nodes[head, RELATION], SIGN]
                better = _is_better(nodes, best, head, sign, cost, outcome)
                if better and nodes[head, STATUS] & DEAD:
                    best[head] = cost
                    nodes[head, LIVE] = number
                    walk[HEAP] = push(heap_keys, heap_nodes, walk[HEAP], sign * cost, head)
                elif better:
                    # It should have waited: the order of costs is not the order of proofs.
                    counters[CHEAPENED] = 1
            walk[USE] = derivations[number, BODY + longest + walk[USE] % longest]
        if walk[HEAP] == 0:
            break
        key, node = heap_keys[0], heap_nodes[0]
        walk[HEAP] = drop_first(heap_keys, heap_nodes, walk[HEAP])
        if nodes[node, STATUS] & DEAD and key == relations[nodes[node, RELATION], SIGN] * best[node]:
            nodes[node, STATUS] &= ~DEAD
            walk[USE] = nodes[node, USES]
    _bury(forest, rules, dead[: walk[DEAD_COUNT]])
    walk[PHASE] = GROWING
    return FINISHED
