"""Deletion where tuples have costs: the four walks, with re-proving and spreading in the order of cost.

The dead wait with the best cost that anything outside gives them. The cheapest of them is right as it is, since
whatever the others still get can only be dearer; it is alive again, and may offer a cost to others that are dead.
"""

from __future__ import annotations

import numpy as np

from whence.columns.compiled import inlined
from whence.engines.local.forest.costs import cost_of, drop_first, push, remember, sketch
from whence.engines.local.forest.layout import (
    ALIVE,
    ARITY,
    BACKWARD,
    BACKWARDS,
    BODY,
    CHEAPENED,
    COMES,
    CURRENT,
    DEAD,
    DEAD_COUNT,
    DEAD_NODE,
    DERIVATIONS,
    ENTERING,
    ENTERING_RELATION,
    FINISHED,
    FIRST,
    FIXED,
    FORWARD,
    FORWARDS,
    GONE,
    GROWING,
    HEAD,
    HEAP,
    IS_COST,
    LIVE,
    LIVE_BEFORE,
    LONGEST,
    LOST,
    MARKING,
    MOST_DEAD,
    MOST_IS_DEAD,
    NEEDS_ROOM,
    NEXT_OF_HEAD,
    NEXT_PLAN,
    NOTED,
    NOTHING,
    OUT_OF_BOUNDS,
    PHASE,
    PLAN_RULE,
    POSITION,
    PROVING,
    RELATION,
    REQUIRES,
    ROW,
    RULE,
    SIGN,
    SPREADING,
    STATUS,
    STORED,
    TOO_LARGE,
    USE,
    USES,
    Array,
    ForestArrays,
    RuleTables,
)
from whence.engines.local.forest.match import begin, make_head, next_known, note_match
from whence.engines.local.forest.prune import live_by, lose, mark_dead, mark_user, outside
from whence.engines.local.forest.tuples import find, has_room_for_match


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
def _prove(forest: ForestArrays, rules: RuleTables, node: int, stack: Array) -> bool:
    """Let a dead node live by the best of its derivations from outside the dead, as far as they are noted.

    False where a cost is out of bounds.
    """
    nodes, derivations, best = forest.nodes, forest.derivations, forest.best
    sign = rules.relations[nodes[node, RELATION], SIGN]
    number = nodes[node, FIRST]
    while number != NOTHING:
        if derivations[number, HEAD] == node and outside(nodes, derivations, rules.heads, number):
            cost, outcome = cost_of(derivations, number, best, forest.counters, rules, stack)
            if outcome == TOO_LARGE:
                return False
            if _is_better(nodes, best, node, sign, cost, outcome):
                best[node] = cost
                nodes[node, LIVE] = number
        number = derivations[number, NEXT_OF_HEAD]
    return True


@inlined
def _bring_back(
    forest: ForestArrays, rules: RuleTables, number: int, heap_keys: Array, heap_nodes: Array, walk: Array, stack: Array
) -> bool:
    """A derivation's cost for its head, if that is dead and gets better by it; False where it is out of bounds."""
    nodes, best, head = forest.nodes, forest.best, forest.derivations[number, HEAD]
    cost, outcome = cost_of(forest.derivations, number, best, forest.counters, rules, stack)
    # A head without a node is one for which something was required of a cost, and was not so before.
    sign = rules.relations[nodes[head, RELATION], SIGN] if head != NOTHING else 0
    if outcome == IS_COST and (head == NOTHING or _is_better(nodes, best, head, sign, cost, outcome)):
        if head != NOTHING and nodes[head, STATUS] & DEAD:
            best[head] = cost
            live_by(forest, rules.heads, head, number)
            walk[HEAP] = push(heap_keys, heap_nodes, walk[HEAP], sign * cost, head)
        else:
            # It should have waited: the order of costs is not the order of proofs.
            forest.counters[CHEAPENED] = 1
    return outcome != TOO_LARGE


@inlined
def _match_again(
    forest: ForestArrays,
    rules: RuleTables,
    node: int,
    heap_keys: Array,
    heap_nodes: Array,
    walk: Array,
    work: Array,
    stack: Array,
) -> int:
    """Derivations that are not kept, from outside the dead: those of a dead node while it is proved, and afterwards
    those by which a node that is alive again brings others back.

    Where room is needed it is begun again, with the best so far.
    """
    nodes, heads, relations = forest.nodes, rules.heads, rules.relations
    is_proved = walk[PHASE] == PROVING
    relation = nodes[node, RELATION]
    first = relations[relation, BACKWARD] if is_proved else relations[relation, FORWARD]
    count = relations[relation, BACKWARDS] if is_proved else relations[relation, FORWARDS]
    for plan in range(first, first + count):
        rule = rules.plans[plan, PLAN_RULE]
        if heads[rule, STORED] or not begin(forest, rules, plan, node, walk, work):
            continue
        while next_known(forest, rules, walk, work):
            has_room = forest.counters[DERIVATIONS] < len(forest.derivations) and has_room_for_match(forest, rules)
            if walk[HEAP] == len(heap_keys) or not has_room:
                return NEEDS_ROOM
            head = np.int64(node)
            if not is_proved:
                of_head = make_head(heads, relations, rule, work)
                head = find(nodes, forest.slots, of_head, work, ROW, 0, relations[of_head, ARITY])
            number = sketch(forest, rules, rule, head, work)
            if not _bring_back(forest, rules, number, heap_keys, heap_nodes, walk, stack):
                return OUT_OF_BOUNDS
            if head != NOTHING and nodes[head, LIVE] == number:
                note_match(forest, rules, rule, head, work)
    return FINISHED


@inlined
def _bury(forest: ForestArrays, rules: RuleTables, dead: Array) -> None:
    """Those of the dead that did not come back are gone, and so is what was derived from them."""
    nodes, derivations, counters = forest.nodes, forest.derivations, forest.counters
    may_wait = rules.shape[REQUIRES]
    for at in range(len(dead)):
        node, before = dead[at, DEAD_NODE], dead[at, LIVE_BEFORE]
        # A node that lives by another derivation keeps the former one only where all are kept.
        is_spare = nodes[node, LIVE] != before and derivations[before, HEAD] == node
        if is_spare and not rules.heads[derivations[before, RULE], STORED]:
            derivations[before, HEAD] = NOTHING
            counters[LOST] += 1
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
    work: Array,
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
        count = mark_dead(nodes, derivations, counters, longest, roots, dead, count, walk[MOST_DEAD])
        walk[DEAD_COUNT] = count
        if count > walk[MOST_DEAD]:
            return MOST_IS_DEAD
        for at in range(count):
            remember(nodes, best, noted, before, walk, dead[at, DEAD_NODE])
            nodes[dead[at, DEAD_NODE], LIVE] = NOTHING
        walk[PHASE] = PROVING
    while True:
        while walk[USE] != NOTHING:
            if walk[HEAP] == len(heap_keys):
                return NEEDS_ROOM
            number = walk[USE] // longest
            is_whole = derivations[number, HEAD] != NOTHING and outside(nodes, derivations, heads, number)
            if is_whole and not _bring_back(forest, rules, number, heap_keys, heap_nodes, walk, stack):
                return OUT_OF_BOUNDS
            walk[USE] = derivations[number, BODY + longest + walk[USE] % longest]
        if walk[NEXT_PLAN] != NOTHING:
            end = _match_again(forest, rules, walk[CURRENT], heap_keys, heap_nodes, walk, work, stack)
            if end != FINISHED:
                return end
            walk[NEXT_PLAN] = NOTHING
        if walk[PHASE] == PROVING:
            if walk[POSITION] == walk[DEAD_COUNT]:
                walk[PHASE] = SPREADING
                continue
            if walk[HEAP] == len(heap_keys):
                return NEEDS_ROOM
            node = dead[walk[POSITION], DEAD_NODE]
            walk[POSITION] += 1
            if not _prove(forest, rules, node, stack):
                return OUT_OF_BOUNDS
            relation = nodes[node, RELATION]
            if nodes[node, LIVE] != NOTHING:
                walk[HEAP] = push(heap_keys, heap_nodes, walk[HEAP], relations[relation, SIGN] * best[node], node)
            if relations[relation, BACKWARDS]:
                walk[NEXT_PLAN], walk[CURRENT] = 0, node
            continue
        if walk[HEAP] == 0:
            break
        key, node = heap_keys[0], heap_nodes[0]
        walk[HEAP] = drop_first(heap_keys, heap_nodes, walk[HEAP])
        if nodes[node, STATUS] & DEAD and key == relations[nodes[node, RELATION], SIGN] * best[node]:
            nodes[node, STATUS] &= ~DEAD
            walk[USE], walk[NEXT_PLAN], walk[CURRENT] = nodes[node, USES], 0, node
    _bury(forest, rules, dead[: walk[DEAD_COUNT]])
    walk[PHASE] = GROWING
    return FINISHED
