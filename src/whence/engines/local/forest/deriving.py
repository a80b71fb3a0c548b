"""Recording derivations: a new derivation of a live tuple is noted, never propagated."""

from __future__ import annotations

from whence.engines.local.forest.kernels import inlined
from whence.engines.local.forest.layout import (
    ALIVE,
    ARITY,
    BODY,
    BODY_LENGTH,
    CANDIDATES,
    DERIVATIONS,
    FIRST,
    HEAD,
    INDEX_LINK,
    KEYS,
    LIVE,
    LONGEST,
    MASK,
    MATCHED,
    NEXT_OF_HEAD,
    NODES,
    NOTHING,
    PENDING,
    PLAN_ATOM,
    PLAN_RULE,
    PLAN_STEP,
    ROW,
    RULE,
    STATUS,
    STEP_ATOM,
    STEP_INDEX,
    STEP_TERMS,
    STORED,
    USABLE,
    USES,
    WIDEST,
    Array,
    Forest,
    Rules,
)
from whence.engines.local.forest.matching import fits, make_head
from whence.engines.local.forest.tuples import find_or_add
from whence.engines.local.forest.walking import PLAN, QUEUED, TRIGGER


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


@inlined
def derive(forest: Forest, rules: Rules, rule: int, queue: Array, walk: Array, work: Array) -> None:
    """Record the current match of a rule, and queue its head if that is new. There must be room."""
    nodes, heads, relations = forest.nodes, rules.heads, rules.relations
    relation = make_head(heads, relations, rule, work)
    head = find_or_add(nodes, forest.slots, forest.counters, relation, work, ROW, 0, relations[relation, ARITY])
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


@inlined
def derive_all(forest: Forest, rules: Rules, queue: Array, walk: Array, work: Array) -> bool:
    """Derive all that a plan of a single look-up gives; False where room is needed first.

    Most rules of large recursions have such plans. A loop of its own takes less time than going from match to match.
    """
    nodes, steps = forest.nodes, rules.steps
    plan, trigger = walk[PLAN], walk[TRIGGER]
    step, rule, trigger_atom = rules.plans[plan, PLAN_STEP], rules.plans[plan, PLAN_RULE], rules.plans[plan, PLAN_ATOM]
    link, atom = rules.indexes[steps[step, STEP_INDEX], INDEX_LINK], steps[step, STEP_ATOM]
    candidate = work[CANDIDATES, 0]
    while candidate != NOTHING:
        if not has_room(nodes, forest.slots, forest.derivations, forest.counters, walk[QUEUED], queue):
            work[CANDIDATES, 0] = candidate
            return False
        is_usable = nodes[candidate, STATUS] & USABLE == ALIVE and (candidate != trigger or atom > trigger_atom)
        if is_usable and fits(nodes, candidate, steps, step, STEP_TERMS, rules.shape[WIDEST], work):
            work[MATCHED, atom] = candidate
            derive(forest, rules, rule, queue, walk, work)
        candidate = nodes[candidate, link]
    return True
