"""Delete and re-derive, the way without provenance: first everything that could have depended on what is deleted goes.

It is here to be compared with: in a well connected graph nearly everything could have depended on a deleted link.
"""

from __future__ import annotations

from whence.engines.local.forest.kernels import kernel
from whence.engines.local.forest.layout import (
    ALIVE,
    ARITY,
    DEAD,
    FORWARD,
    FORWARDS,
    GONE,
    LONGEST,
    NOTED,
    NOTHING,
    PLAN_RULE,
    RELATION,
    ROW,
    STATUS,
    Array,
    Forest,
    Rules,
)
from whence.engines.local.forest.matching import begin, make_head, next_known
from whence.engines.local.forest.pruning import leave, lose
from whence.engines.local.forest.tuples import find
from whence.engines.local.forest.walking import DEAD_COUNT, PHASE, PROVING


@kernel
def over_delete(forest: Forest, rules: Rules, rows: Array, roots: Array, dead: Array, walk: Array, work: Array) -> None:
    """Mark everything that has a derivation from a row that goes as dead; `pruning.prune` goes on from there."""
    nodes, slots = forest.nodes, forest.slots
    plans, heads, relations = rules.plans, rules.heads, rules.relations
    roots = roots[: leave(nodes, slots, relations, rows, roots)]
    count, done = 0, -len(roots)
    while done < count:
        # What is to go is still joined with: the derivations are those from before.
        node = roots[done + len(roots)] if done < 0 else dead[done]
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
                    dead[count] = head
                    count += 1
    for at in range(count):
        nodes[dead[at], STATUS] = (nodes[dead[at], STATUS] & ~NOTED) | DEAD
    for at in range(len(roots)):
        nodes[roots[at], STATUS] &= ~ALIVE
        forest.counters[GONE] += 1
        lose(nodes, forest.derivations, forest.counters, rules.shape[LONGEST], roots[at])
    walk[DEAD_COUNT], walk[PHASE] = count, PROVING
