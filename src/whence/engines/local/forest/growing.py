"""The forward walk: what follows from new tuples. A new derivation of a live tuple is noted, never propagated."""

from __future__ import annotations

from whence.engines.local.forest.kernels import inlined, kernel
from whence.engines.local.forest.layout import (
    ALIVE,
    ARITY,
    BODY,
    BODY_LENGTH,
    COLUMNS,
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
    PASSED_ON,
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
from whence.engines.local.forest.matching import PLAN, advance, begin, is_complete, make_head
from whence.engines.local.forest.missing import postpone, take_up
from whence.engines.local.forest.tuples import find_or_add, let_find

# Where a walk stands, after the three entries of a match, so that it can go on when it was given more room:
# how many nodes are queued, how many of those are joined, the next plan of the one being joined (NOTHING: it has not
# begun), and whether a plan is being matched; then how many matches miss a value, how many others can go on with
# theirs, and how many of those have.
QUEUED, DONE, NEXT_PLAN, MATCHING, MISSED, ANSWERED, RESUMED = range(3, 10)
# Only without costs: after how many joined nodes to stop, and how many of the waiting are queued.
STOP, CALLED = range(10, 12)

FINISHED, NEEDS_ROOM, NEEDS_VALUES = range(3)


@inlined
def has_room(nodes: Array, slots: Array, derivations: Array, counters: Array, queued: int, queue: Array) -> bool:
    """Room for one more node and one more derivation, with the hash no more than half full."""
    count = counters[NODES]
    return (
        count < len(nodes)
        and 2 * count < len(slots)
        and queued < len(queue)
        and counters[DERIVATIONS] < len(derivations)
    )


@inlined
def has_room_in_indexes(index_state: Array) -> bool:
    for index in range(len(index_state)):  # noqa: SIM110 - numba has no all()
        if 2 * index_state[index, KEYS] > index_state[index, MASK]:
            return False
    return True


@inlined
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


@kernel
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
        node = find_or_add(nodes, slots, counters, relation, rows, at, arity)
        if not nodes[node, STATUS] & ALIVE:
            nodes[node, STATUS] |= ALIVE | PENDING
            if len(costs) > 0:
                best[node] = costs[at]
            queue[walk[QUEUED]] = node
            walk[QUEUED] += 1
    return len(rows)


@inlined
def call_group(nodes: Array, column: int, waiting: Array, queue: Array, walk: Array) -> bool:
    """Queue the next of the waiting, all that have the same value in a column; False where none are left."""
    first = walk[CALLED]
    while walk[CALLED] < len(waiting):
        node = waiting[walk[CALLED]]
        if nodes[node, COLUMNS + column] != nodes[waiting[first], COLUMNS + column]:
            break
        queue[walk[QUEUED]] = node
        walk[QUEUED] += 1
        walk[CALLED] += 1
    return walk[CALLED] > first


@inlined
def derive(forest: Forest, rules: Rules, queue: Array, walk: Array, work: Array) -> None:
    """Record the current match, and queue its head if that is new. There must be room."""
    nodes, heads, relations = forest.nodes, rules.heads, rules.relations
    rule = rules.plans[walk[PLAN], PLAN_RULE]
    relation = make_head(heads, relations, rule, work)
    head = find_or_add(nodes, forest.slots, forest.counters, relation, work, ROW, relations[relation, ARITY])
    new = not nodes[head, STATUS] & ALIVE
    if not new and not heads[rule, STORED]:
        return
    length, longest = heads[rule, BODY_LENGTH], rules.shape[LONGEST]
    number = note(nodes, forest.derivations, forest.counters, longest, rule, length, head, work)
    if new:
        nodes[head, STATUS] |= ALIVE | PENDING
        nodes[head, LIVE] = number
        queue[walk[QUEUED]] = head
        walk[QUEUED] += 1


@kernel
def grow(
    forest: Forest,
    rules: Rules,
    queue: Array,
    waiting: Array,
    walk: Array,
    work: Array,
    missing: Array,
    answered: Array,
) -> int:
    """Join queued nodes with what is there, queueing what is new; when none are left, the next group of the waiting.

    Matches that miss the value of a function are put off, and those that have got theirs go on.
    """
    nodes, index_slots, index_state = forest.nodes, forest.index_slots, forest.index_state
    plans, relations, indexes = rules.plans, rules.relations, rules.indexes
    while True:
        while walk[MATCHING]:
            if not has_room(nodes, forest.slots, forest.derivations, forest.counters, walk[QUEUED], queue):
                return NEEDS_ROOM
            if 0 < len(missing) == walk[MISSED]:
                return NEEDS_VALUES
            if not advance(forest, rules, walk, work):
                walk[MATCHING] = 0
            elif is_complete(plans, walk):
                derive(forest, rules, queue, walk, work)
            else:
                postpone(walk, work, missing, walk[MISSED])
                walk[MISSED] += 1
        if walk[RESUMED] < walk[ANSWERED]:
            take_up(forest, rules, answered, walk[RESUMED], walk, work)
            walk[RESUMED] += 1
            walk[MATCHING] = 1
            continue
        if walk[NEXT_PLAN] == NOTHING:
            if walk[DONE] == walk[STOP]:
                return FINISHED
            if walk[DONE] == walk[QUEUED] and not call_group(nodes, rules.shape[PASSED_ON], waiting, queue, walk):
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
        walk[MATCHING] = begin(forest, rules, plan, node, walk, work)
