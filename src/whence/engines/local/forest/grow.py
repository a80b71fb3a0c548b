"""The forward walk: what follows from new tuples. A new derivation of a live tuple is noted, never propagated."""

from __future__ import annotations

from whence.columns.compiled import inlined
from whence.engines.local.forest.layout import (
    ALIVE,
    ANSWERED,
    ARITY,
    CALLED,
    CANDIDATES,
    COLUMNS,
    COMES,
    COMPUTED,
    DECIDED,
    DEPTH,
    DONE,
    ENTERED,
    ENTERING,
    ENTERING_RELATION,
    FINISHED,
    FORWARD,
    FORWARDS,
    GONE,
    HELD,
    INDEX_LINK,
    INDEXED,
    INPUTS,
    IS_FIRST,
    LEARNED,
    LIVE,
    MATCHED,
    MATCHING,
    MISSED,
    NEEDS_ROOM,
    NEEDS_VALUES,
    NEXT_PLAN,
    NODES,
    NODES_AT_RETURN,
    NODES_PER_CALL,
    NOTED,
    NOTHING,
    PASSED_ON,
    PENDING,
    PLAN,
    PLAN_ATOM,
    PLAN_LOOP,
    PLAN_RECURS,
    PLAN_RULE,
    PLAN_STEP,
    PLAN_STEPS,
    QUEUED,
    RELATION,
    RESUMED,
    ROW,
    STATUS,
    STEP_ATOM,
    STEP_INDEX,
    STEP_TERMS,
    STORED,
    TO_BE_DIVIDED,
    TRIGGER,
    USABLE,
    WIDEST,
    Array,
    ForestArrays,
    RuleTables,
)
from whence.engines.local.forest.match import (
    advance,
    begin,
    fits,
    make_head,
    note_match,
    postpone,
    probe,
    take_up,
)
from whence.engines.local.forest.tuples import find_or_add, has_room, has_room_in_indexes, let_find


@inlined
def derive(forest: ForestArrays, rules: RuleTables, rule: int, queue: Array, walk: Array, work: Array) -> None:
    """Record the current match of a rule, and queue its head if that is new. There must be room."""
    nodes, heads, relations = forest.nodes, rules.heads, rules.relations
    relation = make_head(heads, relations, rule, work)
    head = find_or_add(nodes, forest.slots, forest.counters, relation, work, ROW, 0, relations[relation, ARITY])
    new = not nodes[head, STATUS] & ALIVE
    if not new and not heads[rule, STORED]:
        return
    number = note_match(forest, rules, rule, head, work)
    if new:
        nodes[head, STATUS] |= ALIVE | PENDING
        forest.counters[GONE] -= 1
        nodes[head, LIVE] = number
        queue[walk[QUEUED]] = head
        walk[QUEUED] += 1


@inlined
def derive_all(forest: ForestArrays, rules: RuleTables, depth: int, queue: Array, walk: Array, work: Array) -> bool:
    """Derive all that the last step of a plan gives, the one at this depth; False where room is needed first.

    Most rules of large recursions have such plans. A loop of its own takes less time than going from match to match.
    """
    nodes, steps = forest.nodes, rules.steps
    plan, trigger = walk[PLAN], walk[TRIGGER]
    rule, trigger_atom = rules.plans[plan, PLAN_RULE], rules.plans[plan, PLAN_ATOM]
    step = rules.plans[plan, PLAN_STEP] + depth
    link, atom = rules.indexes[steps[step, STEP_INDEX], INDEX_LINK], steps[step, STEP_ATOM]
    candidate = work[CANDIDATES, depth]
    while candidate != NOTHING:
        if not has_room(forest, rules, walk[QUEUED], queue):
            work[CANDIDATES, depth] = candidate
            return False
        is_usable = nodes[candidate, STATUS] & USABLE == ALIVE and (candidate != trigger or atom > trigger_atom)
        if is_usable and fits(nodes, candidate, steps, step, STEP_TERMS, rules.shape[WIDEST], work):
            work[MATCHED, atom] = candidate
            derive(forest, rules, rule, queue, walk, work)
        candidate = nodes[candidate, link]
    work[CANDIDATES, depth] = NOTHING
    return True


# So many tuples that follow from the inputs alone are divided into groups, and as few as two of the very first.
_MANY = 1 << 10


@inlined
def enter(forest: ForestArrays, rules: RuleTables, rows: Array, costs: Array, queue: Array, walk: Array) -> bool:
    """Make tuples that come from below alive, and queue them; False where room is needed first."""
    nodes, slots, counters, best = forest.nodes, forest.slots, forest.counters, forest.best
    while walk[ENTERED] < len(rows):
        at = walk[ENTERED]
        if rows[at, COMES]:
            if not has_room(forest, rules, walk[QUEUED], queue):
                return False
            relation = rows[at, ENTERING_RELATION]
            arity = rules.relations[relation, ARITY]
            node = find_or_add(nodes, slots, counters, relation, rows, at, ENTERING, arity)
            is_new = not nodes[node, STATUS] & ALIVE
            if is_new:
                nodes[node, STATUS] |= ALIVE | PENDING
                counters[GONE] -= 1
            # One that is NOTED has been there with another cost. What a worse one means is known by then.
            if is_new or (nodes[node, STATUS] & NOTED and best[node] != costs[at]):
                if len(costs) > 0:
                    best[node] = costs[at]
                queue[walk[QUEUED]] = node
                walk[QUEUED] += 1
            nodes[node, STATUS] &= ~NOTED
        walk[ENTERED] += 1
    return True


@inlined
def learn(forest: ForestArrays, rules: RuleTables, learned: Array, costs: Array, walk: Array, work: Array) -> bool:
    """Let joins find the values of functions that were missed; False where room is needed first."""
    nodes, slots, counters = forest.nodes, forest.slots, forest.counters
    while walk[LEARNED] < walk[COMPUTED]:
        at = walk[LEARNED]
        count = counters[NODES]
        if count == len(nodes) or 2 * count >= len(slots) or not has_room_in_indexes(forest.index_state):
            return False
        relation = learned[at, ENTERING_RELATION]
        arity = rules.relations[relation, ARITY]
        node = find_or_add(nodes, slots, counters, relation, learned, at, ENTERING, arity)
        if not nodes[node, STATUS] & ALIVE:
            nodes[node, STATUS] |= ALIVE
            counters[GONE] -= 1
            if len(costs) > 0:
                forest.best[node] = costs[at]
            let_find(nodes, forest.index_slots, forest.index_state, rules.relations, rules.indexes, node, work)
        walk[LEARNED] += 1
    return True


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
def has_joined_enough(walk: Array, joined: int) -> bool:
    """Whether so many nodes have been joined since the kernel was called that it should return."""
    if joined < walk[NODES_AT_RETURN]:
        return False
    walk[NODES_AT_RETURN] = joined + NODES_PER_CALL
    return True


@inlined
def grow(
    forest: ForestArrays,
    rules: RuleTables,
    rows: Array,
    queue: Array,
    waiting: Array,
    walk: Array,
    work: Array,
    missing: Array,
    answered: Array,
    learned: Array,
) -> int:
    """Join rows that come with what is there, queueing what is new; when none are left, the next group of the waiting.

    Matches that miss the value of a function are put off, and those that have got theirs go on.
    """
    if walk[ENTERED] < len(rows):
        if not enter(forest, rules, rows, forest.best, queue, walk):
            return NEEDS_ROOM
        walk[INPUTS] = walk[QUEUED]
        walk[IS_FIRST] = walk[INPUTS] + walk[HELD] == forest.counters[NODES]
        walk[DECIDED] = rules.shape[PASSED_ON] == NOTHING
    if not learn(forest, rules, learned, forest.best, walk, work):
        return NEEDS_ROOM
    nodes, index_slots, index_state = forest.nodes, forest.index_slots, forest.index_state
    plans, relations, indexes = rules.plans, rules.relations, rules.indexes
    while True:
        while walk[MATCHING]:
            plan = walk[PLAN]
            is_loop = plans[plan, PLAN_LOOP]
            count = plans[plan, PLAN_STEPS] - is_loop
            if is_loop and walk[DEPTH] == count:
                if not derive_all(forest, rules, count, queue, walk, work):
                    return NEEDS_ROOM
                if count == 0:
                    walk[MATCHING] = 0
                    break
            if not has_room(forest, rules, walk[QUEUED], queue):
                return NEEDS_ROOM
            if 0 < len(missing) == walk[MISSED]:
                return NEEDS_VALUES
            if not advance(forest, rules, walk, count, work):
                walk[MATCHING] = 0
            elif walk[DEPTH] >= count:
                if is_loop:
                    probe(forest, rules, plans[plan, PLAN_STEP] + count, count, work)
                else:
                    derive(forest, rules, plans[plan, PLAN_RULE], queue, walk, work)
            else:
                postpone(walk, work, missing, walk[MISSED])
                walk[MISSED] += 1
        if walk[RESUMED] < walk[ANSWERED]:
            take_up(forest, rules, answered, walk[RESUMED], walk, work)
            walk[RESUMED] += 1
            walk[MATCHING] = 1
            continue
        if walk[NEXT_PLAN] == NOTHING:
            if walk[DONE] == walk[INPUTS] and not walk[DECIDED]:
                if walk[MISSED] > 0:
                    return FINISHED
                walk[DECIDED] = 1
                if walk[QUEUED] - walk[DONE] >= (2 if walk[IS_FIRST] else _MANY):
                    return TO_BE_DIVIDED
            if walk[DONE] == walk[QUEUED] and not call_group(nodes, rules.shape[PASSED_ON], waiting, queue, walk):
                return FINISHED
            if has_joined_enough(walk, walk[DONE]) or not has_room_in_indexes(index_state):
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
        if walk[IS_FIRST] and walk[DONE] < walk[INPUTS] and plans[plan, PLAN_RECURS]:
            # The component has no tuples yet to join with.
            continue
        walk[MATCHING] = begin(forest, rules, plan, node, walk, work)
