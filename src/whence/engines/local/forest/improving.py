"""The forward walk where tuples have costs: better ways are taken in the order of their cost, as Dijkstra does.

A node stands for a group, and its cost is the best that any derivation gives. Every derivation is kept; one that is not
the best is a spare. When a node improves, the derivations that use it are looked at again.
"""

from __future__ import annotations

from whence.engines.local.forest.costs import cost_of
from whence.engines.local.forest.deriving import has_room, has_room_in_indexes, note
from whence.engines.local.forest.growing import enter, learn, needs_breath
from whence.engines.local.forest.heap import drop_first, push
from whence.engines.local.forest.kernels import inlined
from whence.engines.local.forest.layout import (
    ALIVE,
    ARITY,
    BODY,
    BODY_LENGTH,
    FORWARD,
    FORWARDS,
    HEAD,
    INDEXED,
    LIVE,
    LONGEST,
    NODES,
    NOTED,
    NOTHING,
    PENDING,
    PLAN_RULE,
    RELATION,
    ROW,
    SIGN,
    STATUS,
    USES,
    Array,
    Forest,
    Rules,
)
from whence.engines.local.forest.matching import advance, begin, is_complete, make_head
from whence.engines.local.forest.missing import postpone, take_up
from whence.engines.local.forest.tuples import find_or_add, let_find
from whence.engines.local.forest.walking import (
    ANSWERED,
    CURRENT,
    DONE,
    ENDLESS,
    FINISHED,
    FOUND,
    HEAP,
    MATCHING,
    MISSED,
    NEEDS_ROOM,
    NEEDS_VALUES,
    NEXT_PLAN,
    NOTES,
    OUT_OF_BOUNDS,
    PLAN,
    QUEUED,
    RESUMED,
    ROUNDS,
    TAKEN,
    USE,
)


@inlined
def remember(nodes: Array, best: Array, noted: Array, before: Array, walk: Array, node: int) -> None:
    """Note what a node was before the change under way, once."""
    if not nodes[node, STATUS] & NOTED:
        noted[walk[NOTES], 0] = node
        noted[walk[NOTES], 1] = nodes[node, STATUS] & ALIVE
        before[walk[NOTES]] = best[node]
        walk[NOTES] += 1
        nodes[node, STATUS] |= NOTED


@inlined
def offer(
    nodes: Array,
    best: Array,
    relations: Array,
    head: int,
    number: int,
    cost: float,
    noted: Array,
    before: Array,
    heap_keys: Array,
    heap_nodes: Array,
    walk: Array,
) -> None:
    """A derivation's cost for its head: taken if the head is new or gets better by it."""
    sign = relations[nodes[head, RELATION], SIGN]
    alive = nodes[head, STATUS] & ALIVE
    if alive and sign * cost >= sign * best[head]:
        return
    remember(nodes, best, noted, before, walk, head)
    if not alive:
        nodes[head, STATUS] |= ALIVE | PENDING
    best[head] = cost
    nodes[head, LIVE] = number
    walk[HEAP] = push(heap_keys, heap_nodes, walk[HEAP], sign * cost, head)


@inlined
def improve(
    forest: Forest,
    rules: Rules,
    rows: Array,
    row_costs: Array,
    queue: Array,
    heap_keys: Array,
    heap_nodes: Array,
    noted: Array,
    before: Array,
    walk: Array,
    work: Array,
    stack: Array,
    missing: Array,
    answered: Array,
    learned: Array,
) -> int:
    """Join the rows that come, and everything that becomes alive or better by that, until nothing does.

    Nodes are not taken from the heap without end, as they could be around a cycle that improves itself.
    """
    nodes, slots, counters, derivations = forest.nodes, forest.slots, forest.counters, forest.derivations
    index_slots, index_state, best = forest.index_slots, forest.index_state, forest.best
    plans, heads, relations, indexes = rules.plans, rules.heads, rules.relations, rules.indexes
    longest = rules.shape[LONGEST]
    if not enter(forest, rules, rows, row_costs, queue, walk) or not learn(forest, rules, learned, walk, work):
        return NEEDS_ROOM
    while True:
        if walk[HEAP] >= len(heap_keys) or walk[NOTES] >= len(noted):
            return NEEDS_ROOM
        if walk[FOUND] and not is_complete(plans, walk):
            if walk[MISSED] == len(missing):
                return NEEDS_VALUES
            postpone(walk, work, missing, walk[MISSED])
            walk[MISSED] += 1
            walk[FOUND] = 0
            continue
        if walk[FOUND]:
            if not has_room(nodes, slots, derivations, counters, walk[QUEUED], queue):
                return NEEDS_ROOM
            rule = plans[walk[PLAN], PLAN_RULE]
            relation = make_head(heads, relations, rule, work)
            head = find_or_add(nodes, slots, counters, relation, work, ROW, 0, relations[relation, ARITY])
            number = note(nodes, derivations, counters, longest, rule, heads[rule, BODY_LENGTH], head, work)
            cost, fits = cost_of(derivations, number, best, counters, rules, stack)
            if not fits:
                return OUT_OF_BOUNDS
            offer(nodes, best, relations, head, number, cost, noted, before, heap_keys, heap_nodes, walk)
            walk[FOUND] = 0
            continue
        if walk[MATCHING]:
            if advance(forest, rules, walk, work):
                walk[FOUND] = 1
            else:
                walk[MATCHING] = 0
            continue
        if walk[RESUMED] < walk[ANSWERED]:
            at = walk[RESUMED]
            walk[RESUMED] += 1
            take_up(forest, rules, answered, at, walk, work)
            walk[MATCHING] = 1
            continue
        if walk[USE] != NOTHING:
            number = walk[USE] // longest
            head = derivations[number, HEAD]
            walk[USE] = derivations[number, BODY + longest + walk[USE] % longest]
            if head != NOTHING:
                cost, fits = cost_of(derivations, number, best, counters, rules, stack)
                if not fits:
                    return OUT_OF_BOUNDS
                offer(nodes, best, relations, head, number, cost, noted, before, heap_keys, heap_nodes, walk)
            continue
        if walk[NEXT_PLAN] != NOTHING:
            relation = nodes[walk[CURRENT], RELATION]
            if walk[NEXT_PLAN] == relations[relation, FORWARDS]:
                walk[NEXT_PLAN] = NOTHING
                continue
            plan = relations[relation, FORWARD] + walk[NEXT_PLAN]
            walk[NEXT_PLAN] += 1
            if begin(forest, rules, plan, walk[CURRENT], walk, work):
                walk[MATCHING] = 1
            continue
        if needs_breath(walk, walk[DONE] + walk[TAKEN]) or not has_room_in_indexes(index_state):
            return NEEDS_ROOM
        if walk[DONE] < walk[QUEUED]:
            node = queue[walk[DONE]]
            walk[DONE] += 1
        elif walk[HEAP] > 0:
            key, node = heap_keys[0], heap_nodes[0]
            walk[HEAP] = drop_first(heap_keys, heap_nodes, walk[HEAP])
            if key != relations[nodes[node, RELATION], SIGN] * best[node]:
                # It has improved since, and stands in the heap once more.
                continue
            walk[TAKEN] += 1
            walk[CURRENT] = node
            if walk[TAKEN] > walk[ROUNDS] * (counters[NODES] + 1):
                return ENDLESS
        else:
            return FINISHED
        walk[CURRENT] = node
        if nodes[node, STATUS] & PENDING:
            nodes[node, STATUS] &= ~PENDING
            if not nodes[node, STATUS] & INDEXED:
                let_find(nodes, index_slots, index_state, relations, indexes, node, work)
            walk[NEXT_PLAN] = 0
        else:
            walk[USE] = nodes[node, USES]
