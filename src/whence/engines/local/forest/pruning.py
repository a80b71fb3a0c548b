"""Deletion as four short walks: dead, re-prove, spread, gone.

Dead are the tuples whose live derivation broke. One that has a derivation from outside the dead is proved again, and
may carry others back. What stays dead is gone. A cycle cannot keep itself alive: re-proving looks outside the dead.
"""

from __future__ import annotations

import numpy as np

from whence.engines.local.forest.growing import FINISHED, NEEDS_ROOM, note
from whence.engines.local.forest.kernels import inlined, kernel
from whence.engines.local.forest.layout import (
    ALIVE,
    ARITY,
    BACKWARD,
    BACKWARDS,
    BODY,
    BODY_LENGTH,
    DEAD,
    DERIVATIONS,
    FIRST,
    FORWARD,
    FORWARDS,
    GONE,
    HEAD,
    LIVE,
    LONGEST,
    LOST,
    NEXT_OF_HEAD,
    NOTHING,
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
from whence.engines.local.forest.matching import begin, make_head, next_known
from whence.engines.local.forest.tuples import find

# Where a deletion stands, after the three entries of a match: its phase, how many nodes are or were dead, how many of
# them came back, and the position in the list of the phase.
PHASE, DEAD_COUNT, BACK_COUNT, POSITION = range(3, 7)


@inlined
def lose(nodes: Array, derivations: Array, counters: Array, longest: int, node: int) -> None:
    """Every derivation that uses the node is no more."""
    use = nodes[node, USES]
    while use != NOTHING:
        number = use // longest
        if derivations[number, HEAD] != NOTHING:
            derivations[number, HEAD] = NOTHING
            counters[LOST] += 1
        use = derivations[number, BODY + longest + use % longest]
    nodes[node, USES] = NOTHING


@inlined
def mark_users(nodes: Array, derivations: Array, longest: int, node: int, dead: Array, count: int) -> int:
    """The tuples whose live derivation uses the node are dead as well."""
    use = nodes[node, USES]
    while use != NOTHING:
        number = use // longest
        head = derivations[number, HEAD]
        if head != NOTHING and nodes[head, LIVE] == number and nodes[head, STATUS] & (ALIVE | DEAD) == ALIVE:
            nodes[head, STATUS] |= DEAD
            dead[count] = head
            count += 1
        use = derivations[number, BODY + longest + use % longest]
    return count


@inlined
def mark_dead(nodes: Array, derivations: Array, counters: Array, longest: int, roots: Array, dead: Array) -> int:
    """The roots are gone, and dead is what stood on them, along live derivations; returns how many those are."""
    count = 0
    for at in range(len(roots)):
        nodes[roots[at], STATUS] &= ~ALIVE
        counters[GONE] += 1
    for at in range(len(roots)):
        count = mark_users(nodes, derivations, longest, roots[at], dead, count)
    for at in range(len(roots)):
        lose(nodes, derivations, counters, longest, roots[at])
    at = 0
    while at < count:
        count = mark_users(nodes, derivations, longest, dead[at], dead, count)
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
    """A derivation of the node from outside the dead, among those that are noted."""
    number = np.int64(nodes[node, FIRST])
    while number != NOTHING:
        if derivations[number, HEAD] == node and outside(nodes, derivations, heads, number):
            return number
        number = np.int64(derivations[number, NEXT_OF_HEAD])
    return np.int64(NOTHING)


@inlined
def _note_match(forest: Forest, rules: Rules, rule: int, head: int, work: Array) -> int:
    length = rules.heads[rule, BODY_LENGTH]
    return note(forest.nodes, forest.derivations, forest.counters, rules.shape[LONGEST], rule, length, head, work)


@inlined
def _probed_proof(forest: Forest, rules: Rules, node: int, walk: Array, work: Array) -> int:
    """The same, found by matching rules backwards, and noted."""
    relation = forest.nodes[node, RELATION]
    first = rules.relations[relation, BACKWARD]
    for plan in range(first, first + rules.relations[relation, BACKWARDS]):
        if begin(forest, rules, plan, node, walk, work) and next_known(forest, rules, walk, work):
            return np.int64(_note_match(forest, rules, rules.plans[plan, PLAN_RULE], node, work))
    return np.int64(NOTHING)


@kernel
def prune(forest: Forest, rules: Rules, roots: Array, dead: Array, back: Array, walk: Array, work: Array) -> int:
    """Delete the nodes in `roots` (read from below) and what stood on them.

    Afterwards the first `walk[DEAD_COUNT]` entries of `dead` are the nodes that were dead for a moment; those that are
    not ALIVE are gone. `dead` and `back` have room for every node.
    """
    nodes, derivations, counters = forest.nodes, forest.derivations, forest.counters
    heads, longest = rules.heads, rules.shape[LONGEST]
    if walk[PHASE] == 0:
        count = mark_dead(nodes, derivations, counters, longest, roots, dead)
        walk[DEAD_COUNT], walk[BACK_COUNT], walk[POSITION], walk[PHASE] = count, 0, 0, 1
    if walk[PHASE] == 1:
        while walk[POSITION] < walk[DEAD_COUNT]:
            # One derivation may be noted for each.
            if counters[DERIVATIONS] >= len(derivations):
                return NEEDS_ROOM
            node = dead[walk[POSITION]]
            proof = _stored_proof(nodes, derivations, heads, node)
            if proof == NOTHING:
                proof = _probed_proof(forest, rules, node, walk, work)
            if proof != NOTHING:
                _revive(nodes, node, proof, back, walk)
            walk[POSITION] += 1
        walk[POSITION], walk[PHASE] = 0, 2
    while walk[POSITION] < walk[BACK_COUNT]:
        if not _spread(forest, rules, back[walk[POSITION]], back, walk, work):
            return NEEDS_ROOM
        walk[POSITION] += 1
    for at in range(walk[DEAD_COUNT]):
        node = dead[at]
        if nodes[node, STATUS] & DEAD:
            nodes[node, STATUS] &= ~(ALIVE | DEAD)
            nodes[node, LIVE] = NOTHING
            nodes[node, FIRST] = NOTHING
            counters[GONE] += 1
            lose(nodes, derivations, counters, longest, node)
    return FINISHED


@inlined
def _spread(forest: Forest, rules: Rules, node: int, back: Array, walk: Array, work: Array) -> bool:
    """What the node, alive again, proves among the dead; False where room is needed first."""
    nodes, derivations, longest = forest.nodes, forest.derivations, rules.shape[LONGEST]
    heads = rules.heads
    use = nodes[node, USES]
    while use != NOTHING:
        number = use // longest
        head = derivations[number, HEAD]
        if head != NOTHING and nodes[head, STATUS] & DEAD and outside(nodes, derivations, heads, number):
            _revive(nodes, head, number, back, walk)
        use = derivations[number, BODY + longest + use % longest]
    slots, plans, relations = forest.slots, rules.plans, rules.relations
    relation = nodes[node, RELATION]
    first = relations[relation, FORWARD]
    for plan in range(first, first + relations[relation, FORWARDS]):
        rule = plans[plan, PLAN_RULE]
        if heads[rule, STORED] or not begin(forest, rules, plan, node, walk, work):
            continue
        while next_known(forest, rules, walk, work):
            head_relation = make_head(heads, relations, rule, work)
            head = find(nodes, slots, head_relation, work, ROW, relations[head_relation, ARITY])
            if head != NOTHING and nodes[head, STATUS] & DEAD:
                if forest.counters[DERIVATIONS] >= len(derivations):
                    return False
                _revive(nodes, head, _note_match(forest, rules, rule, head, work), back, walk)
    return True


@inlined
def _revive(nodes: Array, node: int, proof: int, back: Array, walk: Array) -> None:
    nodes[node, STATUS] &= ~DEAD
    nodes[node, LIVE] = proof
    back[walk[BACK_COUNT]] = node
    walk[BACK_COUNT] += 1
