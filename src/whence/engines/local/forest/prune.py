"""Deletion as four short walks: dead, re-prove, spread, gone.

Dead are the tuples whose live derivation broke. One that has a derivation from outside the dead is proved again, and
may carry others back. What stays dead is gone. A cycle cannot keep itself alive: re-proving looks outside the dead.
"""

from __future__ import annotations

import numpy as np

from whence.columns.compiled import inlined
from whence.engines.local.forest.layout import (
    ALIVE,
    ARITY,
    BACK_COUNT,
    BACKWARD,
    BACKWARDS,
    BODY,
    BODY_LENGTH,
    COMES,
    DEAD,
    DEAD_COUNT,
    DEAD_NODE,
    DERIVATIONS,
    ENTERING,
    ENTERING_RELATION,
    FIRST,
    FORWARD,
    FORWARDS,
    GONE,
    GONE_COUNT,
    GONE_NODE,
    GROWING,
    HEAD,
    LIVE,
    LIVE_BEFORE,
    LONGEST,
    LOST,
    MARKING,
    MOST_DEAD,
    NEXT_OF_HEAD,
    NOTED,
    NOTHING,
    PHASE,
    PLAN_RULE,
    POSITION,
    PROVING,
    RELATION,
    ROW,
    RULE,
    SPREADING,
    STATUS,
    STORED,
    USES,
    Array,
    ForestArrays,
    RuleTables,
)
from whence.engines.local.forest.match import begin, make_head, next_known, note_match
from whence.engines.local.forest.tuples import find, has_room_for_match


@inlined
def lose(nodes: Array, derivations: Array, counters: Array, longest: int, node: int) -> None:
    """Every derivation that uses the node is no more."""
    use = nodes[node, USES]
    while use != NOTHING:
        # Here and below short and without a sign: to divide numbers of 64 bits takes as long as a look far away.
        number = np.uint32(use) // np.uint32(longest)
        if derivations[number, HEAD] != NOTHING:
            derivations[number, HEAD] = NOTHING
            counters[LOST] += 1
        use = derivations[number, BODY + longest + np.uint32(use) % np.uint32(longest)]
    nodes[node, USES] = NOTHING


@inlined
def mark_user(nodes: Array, derivations: Array, number: int, dead: Array, count: int) -> int:
    """Dead is the head of a derivation, if that is the live one; returns how many are dead now."""
    head = derivations[number, HEAD]
    if head != NOTHING and nodes[head, LIVE] == number and nodes[head, STATUS] & (ALIVE | DEAD) == ALIVE:
        nodes[head, STATUS] |= DEAD
        dead[count, DEAD_NODE] = head
        dead[count, LIVE_BEFORE] = number
        count += 1
    return count


@inlined
def mark_users(nodes: Array, derivations: Array, longest: int, node: int, dead: Array, count: int) -> int:
    """The heads whose live derivation uses the node are dead as well. Lost derivations leave the node's list."""
    use, last = np.int64(nodes[node, USES]), np.int64(NOTHING)
    while use != NOTHING:
        number = np.uint32(use) // np.uint32(longest)
        following = np.int64(derivations[number, BODY + longest + np.uint32(use) % np.uint32(longest)])
        if derivations[number, HEAD] != NOTHING:
            count = mark_user(nodes, derivations, number, dead, count)
            last = use
        elif last == NOTHING:
            nodes[node, USES] = following
        else:
            at = BODY + longest + np.uint32(last) % np.uint32(longest)
            derivations[np.uint32(last) // np.uint32(longest), at] = following
        use = following
    return count


@inlined
def mark_dead(
    nodes: Array, derivations: Array, counters: Array, longest: int, roots: Array, dead: Array, count: int, most: int
) -> int:
    """The roots that are not NOTED are gone, and dead is what stood on them and on the first `count` of the dead.

    Live derivations tell what stands on what. Returns how many are dead then, or that they are more than `most`: the
    others are then not marked.
    """
    for at in range(len(roots)):
        if not nodes[roots[at], STATUS] & NOTED:
            nodes[roots[at], STATUS] &= ~ALIVE
            counters[GONE] += 1
    for at in range(len(roots)):
        if count > most:
            return count
        if not nodes[roots[at], STATUS] & NOTED:
            count = mark_users(nodes, derivations, longest, roots[at], dead, count)
    for at in range(len(roots)):
        if not nodes[roots[at], STATUS] & NOTED:
            lose(nodes, derivations, counters, longest, roots[at])
    at = 0
    while at < count <= most:
        count = mark_users(nodes, derivations, longest, dead[at, DEAD_NODE], dead, count)
        at += 1
    return count


@inlined
def outside(nodes: Array, derivations: Array, heads: Array, number: int) -> bool:
    """Whether the derivation's whole body is alive and not dead."""
    for atom in range(heads[derivations[number, RULE], BODY_LENGTH]):
        if nodes[derivations[number, BODY + atom], STATUS] & (ALIVE | DEAD) != ALIVE:
            return False
    return True


@inlined
def _stored_proof(nodes: Array, derivations: Array, heads: Array, node: int) -> int:
    """A derivation of the node from outside the dead, among those that are noted. Lost ones on the way leave the list.

    Otherwise a tuple of which one derivation comes and goes would have a list of all its comings.
    """
    number, last = np.int64(nodes[node, FIRST]), np.int64(NOTHING)
    while number != NOTHING:
        following = np.int64(derivations[number, NEXT_OF_HEAD])
        if derivations[number, HEAD] == node:
            if outside(nodes, derivations, heads, number):
                return number
            last = number
        elif last == NOTHING:
            nodes[node, FIRST] = following
        else:
            derivations[last, NEXT_OF_HEAD] = following
        number = following
    return np.int64(NOTHING)


@inlined
def _probed_proof(forest: ForestArrays, rules: RuleTables, node: int, walk: Array, work: Array) -> int:
    """The same, found by matching rules backwards, and noted."""
    relation = forest.nodes[node, RELATION]
    first = rules.relations[relation, BACKWARD]
    for plan in range(first, first + rules.relations[relation, BACKWARDS]):
        if begin(forest, rules, plan, node, walk, work) and next_known(forest, rules, walk, work):
            return np.int64(note_match(forest, rules, rules.plans[plan, PLAN_RULE], node, work))
    return np.int64(NOTHING)


@inlined
def leave(nodes: Array, slots: Array, relations: Array, rows: Array, roots: Array) -> int:
    """The nodes of rows that go, as the first of the roots; returns how many there are."""
    count = 0
    for at in range(len(rows)):
        if not rows[at, COMES]:
            relation = rows[at, ENTERING_RELATION]
            roots[count] = find(nodes, slots, relation, rows, at, ENTERING, relations[relation, ARITY])
            count += 1
    return count


@inlined
def prune(
    forest: ForestArrays, rules: RuleTables, rows: Array, dead: Array, back: Array, walk: Array, work: Array
) -> bool:
    """Delete the rows that go, and what stood on them; False where room is needed first, or most is dead.

    Afterwards `walk[DEAD_COUNT]` is how many nodes were dead for a moment, and the first `walk[GONE_COUNT]` entries in
    the last column of `dead` are those that are gone, and NOTED. `dead` and `back` have room for every node.
    """
    nodes, derivations, counters = forest.nodes, forest.derivations, forest.counters
    heads, longest = rules.heads, rules.shape[LONGEST]
    if walk[PHASE] == MARKING:
        # None of them has come back yet.
        roots = back[: leave(nodes, forest.slots, rules.relations, rows, back)]
        walk[DEAD_COUNT] = mark_dead(nodes, derivations, counters, longest, roots, dead, 0, walk[MOST_DEAD])
        walk[PHASE] = PROVING
        if walk[DEAD_COUNT] > walk[MOST_DEAD]:
            return False
    if walk[PHASE] == PROVING:
        while walk[POSITION] < walk[DEAD_COUNT]:
            # One derivation may be noted for each.
            if counters[DERIVATIONS] >= len(derivations) or not has_room_for_match(forest, rules):
                return False
            node = dead[walk[POSITION], DEAD_NODE]
            proof = _stored_proof(nodes, derivations, heads, node)
            if proof == NOTHING:
                proof = _probed_proof(forest, rules, node, walk, work)
            if proof != NOTHING:
                _revive(forest, heads, node, proof, back, walk)
            walk[POSITION] += 1
        walk[POSITION], walk[PHASE] = 0, SPREADING
    while walk[POSITION] < walk[BACK_COUNT]:
        if not _spread(forest, rules, back[walk[POSITION]], back, walk, work):
            return False
        walk[POSITION] += 1
    for at in range(walk[DEAD_COUNT]):
        node = dead[at, DEAD_NODE]
        if nodes[node, STATUS] & DEAD:
            nodes[node, STATUS] = (nodes[node, STATUS] & ~(ALIVE | DEAD)) | NOTED
            nodes[node, LIVE] = NOTHING
            nodes[node, FIRST] = NOTHING
            counters[GONE] += 1
            lose(nodes, derivations, counters, longest, node)
            dead[walk[GONE_COUNT], GONE_NODE] = node
            walk[GONE_COUNT] += 1
    walk[PHASE] = GROWING
    return True


@inlined
def _spread(forest: ForestArrays, rules: RuleTables, node: int, back: Array, walk: Array, work: Array) -> bool:
    """What the node, alive again, proves among the dead; False where room is needed first."""
    nodes, derivations, longest = forest.nodes, forest.derivations, rules.shape[LONGEST]
    heads = rules.heads
    use = nodes[node, USES]
    while use != NOTHING:
        number = np.uint32(use) // np.uint32(longest)
        head = derivations[number, HEAD]
        if head != NOTHING and nodes[head, STATUS] & DEAD and outside(nodes, derivations, heads, number):
            _revive(forest, heads, head, number, back, walk)
        use = derivations[number, BODY + longest + np.uint32(use) % np.uint32(longest)]
    slots, plans, relations = forest.slots, rules.plans, rules.relations
    relation = nodes[node, RELATION]
    first = relations[relation, FORWARD]
    for plan in range(first, first + relations[relation, FORWARDS]):
        rule = plans[plan, PLAN_RULE]
        if heads[rule, STORED] or not begin(forest, rules, plan, node, walk, work):
            continue
        while next_known(forest, rules, walk, work):
            head_relation = make_head(heads, relations, rule, work)
            head = find(nodes, slots, head_relation, work, ROW, 0, relations[head_relation, ARITY])
            if head != NOTHING and nodes[head, STATUS] & DEAD:
                if forest.counters[DERIVATIONS] >= len(derivations) or not has_room_for_match(forest, rules):
                    return False
                _revive(forest, heads, head, note_match(forest, rules, rule, head, work), back, walk)
    return True


@inlined
def live_by(forest: ForestArrays, heads: Array, node: int, proof: int) -> None:
    """The tuple lives by this derivation now. The one before is a spare, and kept only where all are."""
    nodes, derivations = forest.nodes, forest.derivations
    before = nodes[node, LIVE]
    is_other = before != NOTHING and before != proof and derivations[before, HEAD] == node
    if is_other and not heads[derivations[before, RULE], STORED]:
        derivations[before, HEAD] = NOTHING
        forest.counters[LOST] += 1
    nodes[node, LIVE] = proof


@inlined
def _revive(forest: ForestArrays, heads: Array, node: int, proof: int, back: Array, walk: Array) -> None:
    forest.nodes[node, STATUS] &= ~DEAD
    live_by(forest, heads, node, proof)
    back[walk[BACK_COUNT]] = node
    walk[BACK_COUNT] += 1
