"""What has some derivation by way of given tuples, whether or not it has others: derivations, followed forwards.

A walk goes into the depth. What follows from a tuple often lies near it, so that it stays in the cache meanwhile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from whence.columns.compiled import inlined, kernel
from whence.engines.local.forest.layout import (
    ALIVE,
    ARITY,
    BODY,
    DEAD,
    DEAD_COUNT,
    DEAD_NODE,
    ENTERING,
    ENTERING_RELATION,
    FORWARD,
    FORWARDS,
    GONE,
    HEAD,
    HEAD_RELATION,
    LONGEST,
    NODES,
    NOTED,
    NOTHING,
    OTHERS,
    OVERFLOWN,
    PHASE,
    PLAN_RULE,
    PROVING,
    RELATION,
    ROW,
    STATUS,
    STORED,
    USES,
    Array,
    ForestArrays,
    RuleTables,
    new_walk,
    opened,
)
from whence.engines.local.forest.match import begin, make_head, next_known
from whence.engines.local.forest.prune import leave, lose
from whence.engines.local.forest.tuples import find

# Where derivations are not kept they are matched again, and there may be a thousand of them to a tuple. A second or so.
MOST_MATCHES = 1 << 23


class Reached(NamedTuple):
    nodes: Array  # int32
    is_complete: bool


def reached(forest: ForestArrays, rules: RuleTables, rows: Array, memory: int) -> Reached:
    """The tuples of the component with a derivation in which one of the rows takes part; those are read from below.

    The forest is only read.
    """
    count = int(forest.counters[NODES])
    roots, found, stack = (np.empty(size, np.int32) for size in (len(rows), count, count))
    scratch = (rows, roots, found, stack, np.zeros(count, np.bool_))
    if rules.heads[:, STORED].all():
        parts = (forest.nodes, forest.slots, forest.derivations, rules.relations, int(rules.shape[LONGEST]))
        number, is_complete = follow_uses(*parts, *scratch), True
    else:
        work = np.zeros((OVERFLOWN + 1, memory), np.int32)
        number, is_complete = follow_matches(MOST_MATCHES, *forest, *rules, *scratch, new_walk(), work)
    return Reached(found[:number], is_complete)


@inlined
def _begin(nodes: Array, slots: Array, relations: Array, rows: Array, roots: Array, stack: Array) -> int:
    """The tuples of the rows are roots, and wait; returns how many they are."""
    waiting = 0
    for at in range(len(rows)):
        relation = rows[at, ENTERING_RELATION]
        node = find(nodes, slots, relation, rows, at, ENTERING, relations[relation, ARITY])
        if node != NOTHING and nodes[node, STATUS] & ALIVE:
            roots[waiting] = stack[waiting] = node
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
        # Short and without a sign: numbers of 64 bits take several times as long to divide.
        number = np.uint32(use) // np.uint32(longest)
        head = derivations[number, HEAD]
        if head != NOTHING and not is_found[head]:
            is_found[head] = True
            found[count] = stack[waiting] = head
            count += 1
            waiting += 1
        use = derivations[number, BODY + longest + np.uint32(use) % np.uint32(longest)]
    return count, waiting


@kernel
def follow_uses(
    nodes: Array,
    slots: Array,
    derivations: Array,
    relations: Array,
    longest: int,
    rows: Array,
    roots: Array,
    found: Array,
    stack: Array,
    is_found: Array,
) -> int:
    """Where all derivations are kept; returns how many tuples were found."""
    waiting, count = _begin(nodes, slots, relations, rows, roots, stack), 0
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
    """Where some are not; returns how many tuples were found, and if there are no others.

    There may be so many matches. What follows by derivations that are noted comes first: at least that is found.
    """
    forest, rules = opened(arrays)
    rows, roots, found, stack, is_found, walk, work = arrays[OTHERS:]
    nodes, slots, derivations = forest.nodes, forest.slots, forest.derivations
    plans, heads, relations = rules.plans, rules.heads, rules.relations
    waiting, count, matches = _begin(nodes, slots, relations, rows, roots, stack), 0, 0
    # How many are matched; those below zero are roots.
    first_root = done = -waiting
    size = -1
    while True:
        while waiting > 0:
            waiting -= 1
            parts = (found, count, stack, waiting, is_found)
            count, waiting = _use(nodes, derivations, rules.shape[LONGEST], stack[waiting], *parts)
        if matches > len(found) and size < 0:
            # By now it does not matter to count them, to stop as soon as all are found.
            size = _size(nodes, len(found), heads)
        if count in (done, size):
            return count, True
        node = roots[done - first_root] if done < 0 else found[done]
        done += 1
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


@kernel
def over_delete(
    forest: ForestArrays, rules: RuleTables, rows: Array, roots: Array, dead: Array, walk: Array, work: Array
) -> None:
    """Mark everything that has a derivation from a row that goes as dead; `prune` goes on from there."""
    nodes, slots = forest.nodes, forest.slots
    plans, heads, relations = rules.plans, rules.heads, rules.relations
    roots = roots[: leave(nodes, slots, relations, rows, roots)]
    count, done = 0, -len(roots)
    while done < count:
        # What is to go is still joined with: the derivations are those from before.
        node = roots[done + len(roots)] if done < 0 else dead[done, DEAD_NODE]
        done += 1
        relation = nodes[node, RELATION]
        first = relations[relation, FORWARD]
        for plan in range(first, first + relations[relation, FORWARDS]):
            if not begin(forest, rules, plan, node, walk, work):
                continue
            rule = plans[plan, PLAN_RULE]
            while next_known(forest, rules, walk, work):
                head_relation = make_head(heads, relations, rule, work)
                head = find(nodes, slots, head_relation, work, ROW, 0, relations[head_relation, ARITY])
                if head != NOTHING and nodes[head, STATUS] & (ALIVE | NOTED) == ALIVE:
                    nodes[head, STATUS] |= NOTED
                    dead[count, DEAD_NODE] = head
                    count += 1
    for at in range(count):
        nodes[dead[at, DEAD_NODE], STATUS] = (nodes[dead[at, DEAD_NODE], STATUS] & ~NOTED) | DEAD
    for at in range(len(roots)):
        nodes[roots[at], STATUS] &= ~ALIVE
        forest.counters[GONE] += 1
        lose(nodes, forest.derivations, forest.counters, rules.shape[LONGEST], roots[at])
    walk[DEAD_COUNT], walk[PHASE] = count, PROVING
