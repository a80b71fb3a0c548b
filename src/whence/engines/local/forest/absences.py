"""Keys that rules negate: rows that come or go with such a key make its absence go or come."""

from __future__ import annotations

from whence.columns.compiled import kernel
from whence.engines.local.forest.layout import (
    ALIVE,
    ARITY,
    COMES,
    ENTERING,
    ENTERING_RELATION,
    GONE,
    NEGATED,
    NODES,
    NOTHING,
    ROWS_WITH_KEY,
    STATUS,
    Array,
)
from whence.engines.local.forest.tuples import find_or_add

# Instead of COMES, while rows are looked at: a row that changes nothing, and absences that go and come.
_NOTHING_CHANGES, _ABSENCE_GOES, _ABSENCE_COMES = range(2, 5)


@kernel
def turn_absences(
    nodes: Array, slots: Array, counters: Array, relations: Array, rows: Array, costs: Array
) -> tuple[int, int]:
    """Count the rows with a negated key, which enter as such keys; what enters then is their absences.

    Returns how many rows are left, and how many nodes are new for keys that rows have. There must be room. Rows that
    come are counted first: where a key passes from one row to another, its absence does neither.
    """
    before = counters[NODES]
    for comes in (1, 0):
        for at in range(len(rows)):
            relation = rows[at, ENTERING_RELATION]
            if not relations[relation, NEGATED] or rows[at, COMES] != comes:
                continue
            node = find_or_add(nodes, slots, counters, relation, rows, at, ENTERING, relations[relation, ARITY])
            count = max(0, nodes[node, ROWS_WITH_KEY]) + (1 if comes else -1)
            rows[at, COMES] = _NOTHING_CHANGES
            # Nodes of keys that rows have are not alive, and yet not gone.
            if comes and count == 1:
                counters[GONE] -= 1
                if nodes[node, STATUS] & ALIVE:
                    rows[at, COMES] = _ABSENCE_GOES
            elif count == 0:
                counters[GONE] += 1
                rows[at, COMES] = _ABSENCE_COMES
            nodes[node, ROWS_WITH_KEY] = count if count > 0 else NOTHING
    kept = 0
    for at in range(len(rows)):
        comes = rows[at, COMES]
        if comes == _NOTHING_CHANGES:
            continue
        for field in range(rows.shape[1]):
            rows[kept, field] = rows[at, field]
        rows[kept, COMES] = comes if comes < _NOTHING_CHANGES else comes - _ABSENCE_GOES
        if len(costs) > 0:
            costs[kept] = costs[at]
        kept += 1
    return kept, counters[NODES] - before
