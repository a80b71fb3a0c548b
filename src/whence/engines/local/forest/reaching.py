"""What has some derivation by way of given tuples, whether or not it has others: derivations, followed forwards.

A walk goes into the depth. What follows from a tuple often lies near it, so that it stays in the cache meanwhile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from whence.engines.local.forest.following import OTHERS, opened
from whence.engines.local.forest.kernels import inlined, kernel
from whence.engines.local.forest.layout import (
    ALIVE,
    ARITY,
    BODY,
    ENTERING,
    ENTERING_RELATION,
    FORWARD,
    FORWARDS,
    HEAD,
    HEAD_RELATION,
    LONGEST,
    NODES,
    NOTHING,
    OVERFLOWN,
    PLAN_RULE,
    RELATION,
    ROW,
    STATUS,
    STORED,
    USES,
    Array,
    Forest,
    Rules,
)
from whence.engines.local.forest.matching import begin, make_head, next_known
from whence.engines.local.forest.tuples import find
from whence.engines.local.forest.walking import new_walk

# Where derivations are not kept they are matched again, and there may be a thousand of them to a tuple. About a second.
MOST_MATCHES = 1 << 24


class Reached(NamedTuple):
    nodes: Array  # int32
    is_complete: bool


def reached(forest: Forest, rules: Rules, rows: Array, memory: int) -> Reached:
    """The tuples of the component with a derivation in which one of the rows takes part; those are read from below.

    The forest is only read.
    """
    count = int(forest.counters[NODES])
    found, stack = np.empty(count, np.int32), np.empty(count, np.int32)
    scratch = (rows, found, stack, np.zeros(count, np.bool_))
    if rules.heads[:, STORED].all():
        parts = (forest.nodes, forest.slots, forest.derivations, rules.relations, int(rules.shape[LONGEST]))
        number, is_complete = follow_uses(*parts, *scratch), True
    else:
        work = np.zeros((OVERFLOWN + 1, memory), np.int32)
        number, is_complete = follow_matches(MOST_MATCHES, *forest, *rules, *scratch, new_walk(), work)
    return Reached(found[:number], is_complete)


@inlined
def _begin(nodes: Array, slots: Array, relations: Array, rows: Array, stack: Array) -> int:
    """The tuples of the rows wait; returns how many they are."""
    waiting = 0
    for at in range(len(rows)):
        relation = rows[at, ENTERING_RELATION]
        node = find(nodes, slots, relation, rows, at, ENTERING, relations[relation, ARITY])
        if node != NOTHING and nodes[node, STATUS] & ALIVE:
            stack[waiting] = node
            waiting += 1
    return waiting


@inlined
def _use(
    nodes: Array,
    derivations: Array,
    longest: int,
    node: int,
    found: Array,
    count: int,
    stack: Array,
    waiting: int,
    is_found: Array,
) -> tuple[int, int]:
    """The heads of the derivations that are noted with the node; returns how many are found and waiting then."""
    use = nodes[node, USES]
    while use != NOTHING:
        number = use // longest
        head = derivations[number, HEAD]
        if head != NOTHING and not is_found[head]:
            is_found[head] = True
            found[count] = stack[waiting] = head
            count += 1
            waiting += 1
        use = derivations[number, BODY + longest + use % longest]
    return count, waiting


@kernel
def follow_uses(
    nodes: Array,
    slots: Array,
    derivations: Array,
    relations: Array,
    longest: int,
    rows: Array,
    found: Array,
    stack: Array,
    is_found: Array,
) -> int:
    """Where all derivations are kept; returns how many tuples were found."""
    waiting, count = _begin(nodes, slots, relations, rows, stack), 0
    while waiting > 0:
        waiting -= 1
        parts = (found, count, stack, waiting, is_found)
        count, waiting = _use(nodes, derivations, longest, stack[waiting], *parts)
    return count


@inlined
def _size(nodes: Array, count: int, heads: Array) -> int:
    """How many tuples the component has."""
    size = 0
    for node in range(count):
        for rule in range(len(heads)):
            if heads[rule, HEAD_RELATION] == nodes[node, RELATION]:
                size += nodes[node, STATUS] & ALIVE
                break
    return size


@kernel
def follow_matches(most: int, *arrays: Array) -> tuple[int, bool]:
    """Where some are not, up to so many matches; returns how many tuples were found, and if there are no others."""
    forest, rules = opened(arrays)
    rows, found, stack, is_found, walk, work = arrays[OTHERS:]
    nodes, slots, derivations = forest.nodes, forest.slots, forest.derivations
    plans, heads, relations = rules.plans, rules.heads, rules.relations
    waiting, count, matches = _begin(nodes, slots, relations, rows, stack), 0, 0
    size = -1
    while waiting > 0:
        if matches > len(found):
            # By then it does not matter to count them, to stop as soon as all are found.
            if size < 0:
                size = _size(nodes, len(found), heads)
            if count == size:
                break
        waiting -= 1
        node = stack[waiting]
        parts = (found, count, stack, waiting, is_found)
        count, waiting = _use(nodes, derivations, rules.shape[LONGEST], node, *parts)
        relation = nodes[node, RELATION]
        first = relations[relation, FORWARD]
        for plan in range(first, first + relations[relation, FORWARDS]):
            rule = plans[plan, PLAN_RULE]
            if heads[rule, STORED] or not begin(forest, rules, plan, node, walk, work):
                continue
            while next_known(forest, rules, walk, work):
                matches += 1
                if matches > most:
                    return count, False
                head_relation = make_head(heads, relations, rule, work)
                head = find(nodes, slots, head_relation, work, ROW, 0, relations[head_relation, ARITY])
                if head != NOTHING and not is_found[head] and nodes[head, STATUS] & ALIVE:
                    is_found[head] = True
                    found[count] = stack[waiting] = head
                    count += 1
                    waiting += 1
    return count, True
