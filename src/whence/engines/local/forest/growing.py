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
    WIDEST,
    Array,
    Forest,
    Rules,
)
from whence.engines.local.forest.matching import PLAN, advance, begin, is_complete, make_head
from whence.engines.local.forest.missing import postpone, take_up
from whence.engines.local.forest.tuples import add, find, let_find

# Where a walk stands, after the three entries of a match, so that it can go on when it was given more room:
# how many nodes are queued, how many of those are joined, the next plan of the one being joined (NOTHING: it has not
# begun), whether a plan is being matched, and whether a match waits to be recorded; then how many matches miss a value,
# how many others can go on with theirs, and how many of those have.
QUEUED, DONE, NEXT_PLAN, MATCHING, FOUND, MISSED, ANSWERED, RESUMED = range(3, 11)

FINISHED, NEEDS_ROOM, NEEDS_VALUES = range(3)


@nb.njit(cache=True, forceinline=True)
def has_room(nodes: Array, slots: Array, derivations: Array, counters: Array, queued: int, queue: Array) -> bool:
    """Room for one more node and one more derivation, with the hash no more than half full."""
    count = counters[NODES]
    return (
        count < len(nodes)
        and 2 * count < len(slots)
        and queued < len(queue)
        and counters[DERIVATIONS] < len(derivations)
    )


@nb.njit(cache=True)
def has_room_in_indexes(index_state: Array) -> bool:
    for index in range(len(index_state)):  # noqa: SIM110 - numba has no all()
        if 2 * index_state[index, KEYS] > index_state[index, MASK]:
            return False
    return True


@nb.njit(cache=True, forceinline=True)
def note(
    nodes: Array, derivations: Array, counters: Array, longest: int, rule: int, length: int, head: int, work: Array
) -> int:
    """Record a derivation in the lists of its head and of its body."""
    number = counters[DERIVATIONS]
    counters[DERIVATIONS] = number + 1
    derivations[number, HEAD] = head
    derivations[number, RULE] = rule
    derivations[number, NEXT_OF_HEAD] = nodes[head, FIRST]
    nodes[head, FIRST] = number
    for atom in range(length):
        node = work[MATCHED, atom]
        derivations[number, BODY + atom] = node
        derivations[number, BODY + longest + atom] = nodes[node, USES]
        nodes[node, USES] = number * longest + atom
    for atom in range(length, longest):
        derivations[number, BODY + atom] = NOTHING
    return number


@nb.njit(cache=True)
def put(
    forest: Forest, rules: Rules, relation: int, rows: Array, costs: Array, start: int, queue: Array, walk: Array
) -> int:
    """Make tuples that are read from below alive, from row `start` on; returns how many rows are done.

    Fewer than all means that room is needed first.
    """
    nodes, slots, counters, best = forest.nodes, forest.slots, forest.counters, forest.best
    arity = rules.relations[relation, ARITY]
    for at in range(start, len(rows)):
        if not has_room(nodes, slots, forest.derivations, counters, walk[QUEUED], queue):
            return at
        node, slot = find(nodes, slots, relation, rows, at, arity)
        if node == NOTHING:
            node = add(nodes, slots, counters, relation, rows, at, arity, slot)
        if not nodes[node, STATUS] & ALIVE:
            nodes[node, STATUS] |= ALIVE | PENDING
            if len(costs) > 0:
                best[node] = costs[at]
            queue[walk[QUEUED]] = node
            walk[QUEUED] += 1
    return len(rows)


@nb.njit(cache=True)
def grow(forest: Forest, rules: Rules, queue: Array, walk: Array, work: Array, missing: Array, answered: Array) -> int:
    """Join every queued node with what is there, queueing what is new, until nothing is left.

    Matches that miss the value of a function are put off, and those that have got theirs go on.
    """
    nodes, slots, counters, derivations = forest.nodes, forest.slots, forest.counters, forest.derivations
    index_slots, index_state = forest.index_slots, forest.index_state
    plans, steps, tests, heads = rules.plans, rules.steps, rules.tests, rules.heads
    relations, indexes, numbers = rules.relations, rules.indexes, rules.numbers
    columns, longest = rules.shape[WIDEST], rules.shape[LONGEST]
    while True:
        if walk[FOUND] and not is_complete(plans, walk):
            if walk[MISSED] == len(missing):
                return NEEDS_VALUES
            postpone(walk, work, missing, walk[MISSED])
            walk[MISSED] += 1
            walk[FOUND] = 0
        if walk[FOUND]:
            if not has_room(nodes, slots, derivations, counters, walk[QUEUED], queue):
                return NEEDS_ROOM
            rule = plans[walk[PLAN], PLAN_RULE]
            relation = make_head(heads, relations, rule, work)
            arity = relations[relation, ARITY]
            head, slot = find(nodes, slots, relation, work, ROW, arity)
            if head == NOTHING:
                head = add(nodes, slots, counters, relation, work, ROW, arity, slot)
            new = not nodes[head, STATUS] & ALIVE
            if new or heads[rule, STORED]:
                number = note(nodes, derivations, counters, longest, rule, heads[rule, BODY_LENGTH], head, work)
                if new:
                    nodes[head, STATUS] |= ALIVE | PENDING
                    nodes[head, LIVE] = number
                    queue[walk[QUEUED]] = head
                    walk[QUEUED] += 1
            walk[FOUND] = 0
        if walk[MATCHING]:
            if advance(nodes, index_slots, index_state, plans, steps, tests, indexes, numbers, columns, walk, work):
                walk[FOUND] = 1
                continue
            walk[MATCHING] = 0
        if walk[RESUMED] < walk[ANSWERED]:
            at = walk[RESUMED]
            walk[RESUMED] += 1
            take_up(nodes, index_slots, index_state, plans, steps, indexes, columns, answered, at, walk, work)
            walk[MATCHING] = 1
            continue
        if walk[NEXT_PLAN] == NOTHING:
            if walk[DONE] == walk[QUEUED]:
                return FINISHED
            if not has_room_in_indexes(index_state):
                return NEEDS_ROOM
            node = queue[walk[DONE]]
            nodes[node, STATUS] &= ~PENDING
            if not nodes[node, STATUS] & INDEXED:
                let_find(nodes, index_slots, index_state, relations, indexes, node, work)
            walk[NEXT_PLAN] = 0
        node = queue[walk[DONE]]
        relation = nodes[node, RELATION]
        if walk[NEXT_PLAN] == relations[relation, FORWARDS]:
            walk[NEXT_PLAN] = NOTHING
            walk[DONE] += 1
            continue
        plan = relations[relation, FORWARD] + walk[NEXT_PLAN]
        walk[NEXT_PLAN] += 1
        if begin(
            nodes, index_slots, index_state, plans, steps, tests, indexes, numbers, columns, plan, node, walk, work
        ):
            walk[MATCHING] = 1
