"""The forward walk where tuples have costs: what comes or gets better is joined in the order of cost."""

from __future__ import annotations

from whence.columns.compiled import inlined
from whence.engines.local.forest.costs import drop_first, offer, sketch
from whence.engines.local.forest.grow import enter, has_joined_enough, learn
from whence.engines.local.forest.layout import (
    AGAIN,
    ANSWERED,
    ARITY,
    BODY,
    CURRENT,
    DONE,
    ENDLESS,
    FINISHED,
    FORWARD,
    FORWARDS,
    FOUND,
    HEAD,
    HEAP,
    INDEXED,
    LIVE,
    LONGEST,
    MATCHING,
    MISSED,
    NEEDS_ROOM,
    NEEDS_VALUES,
    NEXT_PLAN,
    NODES,
    NOTES,
    NOTHING,
    OUT_OF_BOUNDS,
    PENDING,
    PLAN,
    PLAN_RULE,
    PLAN_STEPS,
    QUEUED,
    RELATION,
    RESUMED,
    ROUNDS,
    ROW,
    SIGN,
    STATUS,
    STORED,
    TAKEN,
    USE,
    USES,
    Array,
    ForestArrays,
    RuleTables,
)
from whence.engines.local.forest.match import advance, begin, is_complete, make_head, note_match, postpone, take_up
from whence.engines.local.forest.tuples import find_or_add, has_room, has_room_in_indexes, let_find


@inlined
def _record(
    forest: ForestArrays,
    rules: RuleTables,
    rule: int,
    noted: Array,
    before: Array,
    heap_keys: Array,
    heap_nodes: Array,
    walk: Array,
    work: Array,
    stack: Array,
) -> bool:
    """Offer the head of the current match its cost, and note the match where all are kept or the cost was taken.

    There must be room. False where the cost is too large for the head's column.
    """
    nodes, heads, relations = forest.nodes, rules.heads, rules.relations
    relation = make_head(heads, relations, rule, work)
    head = find_or_add(nodes, forest.slots, forest.counters, relation, work, ROW, 0, relations[relation, ARITY])
    number = sketch(forest, rules, rule, head, work)
    is_cost = offer(forest, rules, number, noted, before, heap_keys, heap_nodes, walk, stack)
    if heads[rule, STORED] or nodes[head, LIVE] == number:
        note_match(forest, rules, rule, head, work)
    return is_cost


@inlined
def improve(
    forest: ForestArrays,
    rules: RuleTables,
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
    learned_costs: Array,
) -> int:
    """Join the rows that come, and everything that becomes alive or better by that, until nothing does.

    Nodes are not taken from the heap without end, as they could be around a cycle that improves itself.
    """
    nodes, counters, derivations = forest.nodes, forest.counters, forest.derivations
    index_slots, index_state, best = forest.index_slots, forest.index_state, forest.best
    plans, heads, relations, indexes = rules.plans, rules.heads, rules.relations, rules.indexes
    longest = rules.shape[LONGEST]
    marks = (noted, before, heap_keys, heap_nodes)
    if not enter(forest, rules, rows, row_costs, queue, walk) or not learn(
        forest, rules, learned, learned_costs, walk, work
    ):
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
            if not has_room(forest, rules, walk[QUEUED], queue):
                return NEEDS_ROOM
            if not _record(forest, rules, plans[walk[PLAN], PLAN_RULE], *marks, walk, work, stack):
                return OUT_OF_BOUNDS
            walk[FOUND] = 0
            continue
        if walk[MATCHING]:
            if advance(forest, rules, walk, plans[walk[PLAN], PLAN_STEPS], work):
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
            if head != NOTHING and not offer(forest, rules, number, *marks, walk, stack):
                return OUT_OF_BOUNDS
            continue
        if walk[NEXT_PLAN] != NOTHING:
            relation = nodes[walk[CURRENT], RELATION]
            if walk[NEXT_PLAN] == relations[relation, FORWARDS]:
                walk[NEXT_PLAN] = NOTHING
                continue
            plan = relations[relation, FORWARD] + walk[NEXT_PLAN]
            walk[NEXT_PLAN] += 1
            if walk[AGAIN] and heads[plans[plan, PLAN_RULE], STORED]:
                continue
            if begin(forest, rules, plan, walk[CURRENT], walk, work):
                walk[MATCHING] = 1
            continue
        if has_joined_enough(walk, walk[DONE] + walk[TAKEN]) or not has_room_in_indexes(index_state):
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
            walk[AGAIN] = 0
        else:
            walk[USE] = nodes[node, USES]
            walk[AGAIN] = 1
        walk[NEXT_PLAN] = 0
