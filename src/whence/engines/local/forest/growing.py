"""The forward walk: what follows from new tuples. A new derivation of a live tuple is noted, never propagated."""

from __future__ import annotations

import numba as nb

from whence.engines.local.forest.layout import (
    ALIVE,
    ARITY,
    BODY,
    BODY_LENGTH,
    DERIVATIONS,
    FIRST,
    FORWARD,
    FORWARDS,
    HEAD,
    INDEXED,
    KEY,
    KEYS,
    LIVE,
    LONGEST,
    MASK,
    MATCHED,
    NEXT_OF_HEAD,
    NODES,
    NOTHING,
    PENDING,
    PLAN_RULE,
    RELATION,
    ROW,
    RULE,
    STATUS,
    STORED,
    USES,
    Array,
    Forest,
    Rules,
)
from whence.engines.local.forest.matching import PLAN, advance, begin, make_head
from whence.engines.local.forest.tuples import add, find, let_find

# Where a walk stands, after the three entries of a match, so that it can go on when it was given more room:
# how many nodes are queued, how many of those are joined, the next plan of the one being joined (NOTHING: it has not
# begun), whether a plan is being matched, and whether a match waits to be recorded.
QUEUED, DONE, NEXT_PLAN, MATCHING, FOUND = range(3, 8)

FINISHED, NEEDS_ROOM = range(2)


@nb.njit(cache=True, inline="always")
def has_room(forest: Forest, queued: int, queue: Array) -> bool:
    """Room for one more node and one more derivation, with the hash no more than half full."""
    count = forest.counters[NODES]
    return (
        count < len(forest.nodes)
        and 2 * count < len(forest.slots)
        and queued < len(queue)
        and forest.counters[DERIVATIONS] < len(forest.derivations)
    )


@nb.njit(cache=True)
def has_room_in_indexes(forest: Forest) -> bool:
    for number in range(len(forest.index_state)):
        if 2 * forest.index_state[number, KEYS] > forest.index_state[number, MASK]:
            return False
    return True


@nb.njit(cache=True)
def note(nodes: Array, derivations: Array, counters: Array, longest: int, rule: int, length: int, head: int, body: Array) -> int:
    """Record a derivation in the lists of its head and of its body."""
    number = counters[DERIVATIONS]
    counters[DERIVATIONS] = number + 1
    derivation = derivations[number]
    derivation[HEAD] = head
    derivation[RULE] = rule
    derivation[NEXT_OF_HEAD] = nodes[head, FIRST]
    nodes[head, FIRST] = number
    for atom in range(length):
        node = body[atom]
        derivation[BODY + atom] = node
        derivation[BODY + longest + atom] = nodes[node, USES]
        nodes[node, USES] = number * longest + atom
    for atom in range(length, longest):
        derivation[BODY + atom] = NOTHING
    return number


@nb.njit(cache=True)
def put(forest: Forest, rules: Rules, relation: int, rows: Array, costs: Array, start: int, queue: Array, walk: Array) -> int:
    """Make tuples that are read from below alive, from row `start` on; returns how many rows are done.

    Fewer than all means that room is needed first.
    """
    arity = rules.relations[relation, ARITY]
    for at in range(start, len(rows)):
        if not has_room(forest, walk[QUEUED], queue):
            return at
        node, slot = find(forest.nodes, forest.slots, relation, rows[at], arity)
        if node == NOTHING:
            node = add(forest.nodes, forest.slots, forest.counters, relation, rows[at], arity, slot)
        if not forest.nodes[node, STATUS] & ALIVE:
            forest.nodes[node, STATUS] |= ALIVE | PENDING
            if len(costs) > 0:
                forest.best[node] = costs[at]
            queue[walk[QUEUED]] = node
            walk[QUEUED] += 1
    return len(rows)


@nb.njit(cache=True)
def grow(forest: Forest, rules: Rules, queue: Array, walk: Array, work: Array) -> int:
    """Join every queued node with what is there, queueing what is new, until nothing is left."""
    nodes = forest.nodes
    while True:
        if walk[FOUND]:
            if not has_room(forest, walk[QUEUED], queue):
                return NEEDS_ROOM
            rule = rules.plans[walk[PLAN], PLAN_RULE]
            relation = make_head(rules, rule, work)
            arity = rules.relations[relation, ARITY]
            head, slot = find(nodes, forest.slots, relation, work[ROW], arity)
            if head == NOTHING:
                head = add(nodes, forest.slots, forest.counters, relation, work[ROW], arity, slot)
            new = not nodes[head, STATUS] & ALIVE
            if new or rules.heads[rule, STORED]:
                length = rules.heads[rule, BODY_LENGTH]
                longest = rules.shape[LONGEST]
                number = note(nodes, forest.derivations, forest.counters, longest, rule, length, head, work[MATCHED])
                if new:
                    nodes[head, STATUS] |= ALIVE | PENDING
                    nodes[head, LIVE] = number
                    queue[walk[QUEUED]] = head
                    walk[QUEUED] += 1
            walk[FOUND] = 0
        if walk[MATCHING]:
            if advance(forest, rules, walk, work):
                walk[FOUND] = 1
                continue
            walk[MATCHING] = 0
        if walk[NEXT_PLAN] == NOTHING:
            if walk[DONE] == walk[QUEUED]:
                return FINISHED
            if not has_room_in_indexes(forest):
                return NEEDS_ROOM
            node = queue[walk[DONE]]
            nodes[node, STATUS] &= ~PENDING
            if not nodes[node, STATUS] & INDEXED:
                let_find(nodes, forest.index_slots, forest.index_state, rules.relations, rules.indexes, node, work[KEY])
            walk[NEXT_PLAN] = 0
        node = queue[walk[DONE]]
        relation = nodes[node, RELATION]
        if walk[NEXT_PLAN] == rules.relations[relation, FORWARDS]:
            walk[NEXT_PLAN] = NOTHING
            walk[DONE] += 1
            continue
        plan = rules.relations[relation, FORWARD] + walk[NEXT_PLAN]
        walk[NEXT_PLAN] += 1
        if begin(forest, rules, plan, node, walk, work):
            walk[MATCHING] = 1
