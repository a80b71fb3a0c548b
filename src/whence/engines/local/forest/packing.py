"""Packing: lost derivations and gone nodes leave their room. It takes as long as the state is large, so it is rare."""

from __future__ import annotations

import numpy as np

from whence.engines.local.forest.kernels import kernel
from whence.engines.local.forest.layout import (
    ALIVE,
    BODY,
    BODY_LENGTH,
    DERIVATIONS,
    FIRST,
    GONE,
    HEAD,
    KEYS,
    LIVE,
    LONGEST,
    LOST,
    NEXT_OF_HEAD,
    NODES,
    NOTHING,
    RULE,
    STATUS,
    USES,
    Array,
    Forest,
    Rules,
)
from whence.engines.local.forest.room import copied, no_nodes
from whence.engines.local.forest.tuples import rehash, reindex


def pack(forest: Forest, rules: Rules, work: Array) -> Forest:
    """The same forest without what is gone. Nodes and derivations have other numbers afterwards."""
    counters = forest.counters.copy()
    count = int(counters[NODES])
    nodes = copied(forest.nodes, count, len(forest.nodes))
    best = copied(forest.best, count, len(forest.best))
    derivations = copied(forest.derivations, int(counters[DERIVATIONS]), len(forest.derivations))
    moved = np.full(count, NOTHING, np.int32)
    _close_gaps(nodes, best, derivations, counters, rules.heads, int(rules.shape[LONGEST]), moved)
    slots = no_nodes(len(forest.slots))
    rehash(nodes, slots, int(counters[NODES]), rules.relations)
    index_slots = no_nodes(len(forest.index_slots))
    index_state = forest.index_state.copy()
    index_state[:, KEYS] = 0
    reindex(nodes, index_slots, index_state, int(counters[NODES]), rules.relations, rules.indexes, work)
    return Forest(nodes, best, slots, index_slots, index_state, derivations, counters)


@kernel
def _close_gaps(
    nodes: Array, best: Array, derivations: Array, counters: Array, heads: Array, longest: int, moved: Array
) -> None:
    """`moved` becomes the new number of each node, and is NOTHING where it is gone."""
    count = 0
    for node in range(counters[NODES]):
        if nodes[node, STATUS] & ALIVE:
            moved[node] = count
            for field in range(nodes.shape[1]):
                nodes[count, field] = nodes[node, field]
            if len(best) > 0:
                best[count] = best[node]
            nodes[count, FIRST] = NOTHING
            nodes[count, USES] = NOTHING
            count += 1
    counters[NODES] = count
    counters[GONE] = 0
    kept = 0
    for number in range(counters[DERIVATIONS]):
        if derivations[number, HEAD] == NOTHING or moved[derivations[number, HEAD]] == NOTHING:
            continue
        head = moved[derivations[number, HEAD]]
        if nodes[head, LIVE] == number:
            nodes[head, LIVE] = kept
        rule = derivations[number, RULE]
        derivations[kept, HEAD] = head
        derivations[kept, RULE] = rule
        derivations[kept, NEXT_OF_HEAD] = nodes[head, FIRST]
        nodes[head, FIRST] = kept
        for atom in range(longest):
            if atom < heads[rule, BODY_LENGTH]:
                node = moved[derivations[number, BODY + atom]]
                derivations[kept, BODY + atom] = node
                derivations[kept, BODY + longest + atom] = nodes[node, USES]
                nodes[node, USES] = kept * longest + atom
            else:
                derivations[kept, BODY + atom] = NOTHING
        kept += 1
    counters[DERIVATIONS] = kept
    counters[LOST] = 0
