"""The kernels that follow a change from the rows that enter to all that it means for the forest."""

from __future__ import annotations

from whence.engines.local.forest.changes import count_differing
from whence.engines.local.forest.growing import grow
from whence.engines.local.forest.improving import improve
from whence.engines.local.forest.kernels import inlined, kernel
from whence.engines.local.forest.layout import OVERFLOWN, Array, Forest, Rules
from whence.engines.local.forest.pruning import prune
from whence.engines.local.forest.walking import (
    DIFFERING,
    FINISHED,
    GROWING,
    MISSED,
    NEEDS_ROOM,
    NOTES,
    OVERFLOWS,
    PHASE,
    WAITS,
)
from whence.engines.local.forest.worsening import worsen

_RULES = len(Forest._fields)
OTHERS = _RULES + len(Rules._fields)
_WALK = OTHERS + 8


@inlined
def opened(arrays: tuple[Array, ...]) -> tuple[Forest, Rules]:
    """The forest and the rules. To find out what is in them takes numba long when they are given as they are."""
    return Forest(*arrays[:_RULES]), Rules(*arrays[_RULES:OTHERS])


@inlined
def _ending(end: int, walk: Array, work: Array) -> int:
    if work[OVERFLOWN, 0]:
        work[OVERFLOWN, 0] = 0
        return OVERFLOWS
    return WAITS if end == FINISHED and walk[MISSED] > 0 else end


@kernel
def follow(*arrays: Array) -> int:
    """In a forest without costs: first rows go, then others come. Returns why it stops."""
    forest, rules = opened(arrays)
    rows, queue, dead, waiting, walk, work, missing, answered, learned = arrays[OTHERS:]
    if walk[PHASE] != GROWING and not prune(forest, rules, rows, dead, queue, walk, work):
        return NEEDS_ROOM
    return _ending(grow(forest, rules, rows, queue, waiting, walk, work, missing, answered, learned), walk, work)


@kernel
def follow_costs(*arrays: Array) -> int:
    """The same in a forest with costs."""
    forest, rules = opened(arrays)
    rows, costs, queue, dead, heap_keys, heap_nodes, noted, before = arrays[OTHERS:_WALK]
    walk, work, stack, missing, answered, learned = arrays[_WALK:]
    if walk[PHASE] != GROWING:
        # Nothing is queued while rows go.
        end = worsen(forest, rules, rows, costs, queue, dead, heap_keys, heap_nodes, noted, before, walk, stack)
        if end != FINISHED:
            return end
    scratch = (heap_keys, heap_nodes, noted, before)
    values = (missing, answered, learned)
    end = improve(forest, rules, rows, costs, queue, *scratch, walk, work, stack, *values)
    end = _ending(end, walk, work)
    if end == FINISHED:
        walk[DIFFERING] = count_differing(forest.nodes, forest.best, noted, before, walk[NOTES])
    return end
