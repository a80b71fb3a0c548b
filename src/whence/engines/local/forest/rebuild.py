"""Growing a forest again where most of it is dead: what is left takes less time to derive than what died to be proved.

The former forest is only compared with, so that the change is known.
"""

from __future__ import annotations

import numpy as np

from whence.columns.compiled import kernel
from whence.engines.local.forest.layout import (
    ALIVE,
    ARITY,
    COMES,
    DEAD,
    ENTERING,
    ENTERING_RELATION,
    NEGATED,
    NODES,
    NOTHING,
    STATUS,
    Array,
    ForestArrays,
)
from whence.engines.local.forest.rows import ForestChange
from whence.engines.local.forest.tuples import find, find_or_add


class MostIsDeadError(Exception):
    """A walk has found that most tuples lost their live derivation, and stopped: the forest cannot be used any more."""


@kernel
def strike(
    nodes: Array, slots: Array, counters: Array, relations: Array, rows: Array, costs: Array, stored: int
) -> int:
    """Rows as they are after a change: the first `stored` of them are there before it, the others come and go.

    What goes is taken away from what is there; only keys that rules negate are still to be counted. Returns how many
    rows are left. The forest is empty, and there is room. Nodes of what goes are left in it, not alive.
    """
    for at in range(stored, len(rows)):
        relation = rows[at, ENTERING_RELATION]
        if not rows[at, COMES] and not relations[relation, NEGATED]:
            node = find_or_add(nodes, slots, counters, relation, rows, at, ENTERING, relations[relation, ARITY])
            nodes[node, STATUS] |= DEAD
    kept = 0
    for at in range(len(rows)):
        relation = rows[at, ENTERING_RELATION]
        if not relations[relation, NEGATED]:
            if not rows[at, COMES]:
                continue
            if at < stored:
                node = find(nodes, slots, relation, rows, at, ENTERING, relations[relation, ARITY])
                if node != NOTHING and nodes[node, STATUS] & DEAD:
                    continue
        for field in range(rows.shape[1]):
            rows[kept, field] = rows[at, field]
        if len(costs) > 0:
            costs[kept] = costs[at]
        kept += 1
    for node in range(counters[NODES]):
        nodes[node, STATUS] &= ~DEAD
    return kept


@kernel
def _mark_missing(
    ids: Array, costs: Array, nodes: Array, slots: Array, best: Array, relation: int, is_missing: Array
) -> None:
    for at in range(len(ids)):
        node = find(nodes, slots, relation, ids, at, 0, ids.shape[1])
        is_there = node != NOTHING and nodes[node, STATUS] & ALIVE != 0
        is_missing[at] = not is_there or (len(costs) > 0 and costs[at] != best[node])


def difference(
    before: ForestChange, former: ForestArrays, after: ForestChange, now: ForestArrays, relation: int
) -> ForestChange:
    """What came and what went, of all rows of a relation in a former forest and now."""
    come, gone = _missing(after, former, relation), _missing(before, now, relation)
    costs = [rows.costs[at[: len(rows.costs)]] for rows, at in ((after, come), (before, gone))]
    return ForestChange(np.concatenate([after.ids[come], before.ids[gone]]), np.concatenate(costs), int(come.sum()))


def _missing(rows: ForestChange, forest: ForestArrays, relation: int) -> Array:
    is_missing = np.empty(len(rows.ids), np.bool_)
    _mark_missing(rows.ids, rows.costs, forest.nodes, forest.slots, forest.best, relation, is_missing)
    return is_missing
