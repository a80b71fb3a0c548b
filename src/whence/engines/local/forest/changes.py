"""What a change comes to: how many rows of each relation have come and gone, and then which."""

from __future__ import annotations

from whence.engines.local.forest.kernels import inlined, kernel
from whence.engines.local.forest.layout import ALIVE, COLUMNS, NOTED, RELATION, STATUS, Array


@inlined
def _copy(nodes: Array, node: int, rows: Array, at: int) -> None:
    for column in range(rows.shape[1]):
        rows[at, column] = nodes[node, COLUMNS + column]


@kernel
def take_moved(nodes: Array, relation: int, removed: Array, added: Array, rows: Array) -> tuple[int, int]:
    """The columns of what was removed and added of a relation, first what came; returns how many of each there are.

    What was removed is NOTED until then. A tuple that came again has kept its node, and has not changed. There is room
    for all.
    """
    came = 0
    for at in range(len(added)):
        node = added[at]
        if nodes[node, RELATION] == relation and not nodes[node, STATUS] & NOTED:
            _copy(nodes, node, rows, came)
            came += 1
    count = came
    for at in range(len(removed)):
        node = removed[at]
        if nodes[node, RELATION] == relation:
            nodes[node, STATUS] &= ~NOTED
            if not nodes[node, STATUS] & ALIVE:
                _copy(nodes, node, rows, count)
                count += 1
    return came, count - came


@inlined
def _differs(nodes: Array, best: Array, noted: Array, before: Array, at: int) -> bool:
    node, was = noted[at, 0], noted[at, 1] != 0
    is_ = nodes[node, STATUS] & ALIVE != 0
    return bool(was != is_ or (is_ and before[at] != best[node]))


@inlined
def count_differing(nodes: Array, best: Array, noted: Array, before: Array, count: int) -> int:
    """How many rows come and go, of the first `count` nodes that are noted. What has another cost does both."""
    rows = 0
    for at in range(count):
        if _differs(nodes, best, noted, before, at):
            rows += (nodes[noted[at, 0], STATUS] & ALIVE != 0) + (noted[at, 1] != 0)
    return rows


@kernel
def take_differing(
    nodes: Array,
    best: Array,
    noted: Array,
    before: Array,
    count: int,
    relation: int,
    rows: Array,
    costs: Array,
) -> tuple[int, int]:
    """The columns and costs of tuples of a relation that are not what they were, first of what came.

    The first `count` nodes that are noted are looked at. Returns how many came, and how many went.
    """
    came = 0
    for at in range(count):
        node = noted[at, 0]
        if (
            nodes[node, RELATION] == relation
            and nodes[node, STATUS] & ALIVE
            and _differs(nodes, best, noted, before, at)
        ):
            _copy(nodes, node, rows, came)
            if len(costs) > 0:
                costs[came] = best[node]
            came += 1
    total = came
    for at in range(count):
        node = noted[at, 0]
        if nodes[node, RELATION] == relation:
            nodes[node, STATUS] &= ~NOTED
            if noted[at, 1] and _differs(nodes, best, noted, before, at):
                _copy(nodes, node, rows, total)
                if len(costs) > 0:
                    costs[total] = before[at]
                total += 1
    return came, total - came
