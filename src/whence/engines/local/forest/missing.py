"""Matches that wait for the value of a function, which is computed outside of the kernels.

A match is written down as far as it has come, so that it can go on from there: its plan, depth and trigger, then the
registers, then the matched nodes.
"""

from __future__ import annotations

import numba as nb

from whence.engines.local.forest.layout import CANDIDATES, MATCHED, NOTHING, PLAN_STEP, REGISTERS, Array
from whence.engines.local.forest.matching import DEPTH, PLAN, TRIGGER, probe

# Where the registers begin.
STATE = 3


@nb.njit(cache=True)
def postpone(match: Array, work: Array, waiting: Array, at: int) -> None:
    """Write an incomplete match down."""
    waiting[at, PLAN], waiting[at, DEPTH], waiting[at, TRIGGER] = match[PLAN], match[DEPTH], match[TRIGGER]
    memory = work.shape[1]
    for place in range(memory):
        waiting[at, STATE + place] = work[REGISTERS, place]
        waiting[at, STATE + memory + place] = work[MATCHED, place]


@nb.njit(cache=True)
def take_up(
    nodes: Array,
    index_slots: Array,
    index_state: Array,
    plans: Array,
    steps: Array,
    indexes: Array,
    columns: int,
    waiting: Array,
    at: int,
    match: Array,
    work: Array,
) -> None:
    """Let a match go on with the value that it has been waiting for, and with that one only."""
    match[PLAN], match[DEPTH], match[TRIGGER] = waiting[at, PLAN], waiting[at, DEPTH], waiting[at, TRIGGER]
    memory = work.shape[1]
    for place in range(memory):
        work[REGISTERS, place] = waiting[at, STATE + place]
        work[MATCHED, place] = waiting[at, STATE + memory + place]
    depth = match[DEPTH]
    for before in range(depth):
        work[CANDIDATES, before] = NOTHING
    step = plans[match[PLAN], PLAN_STEP] + depth
    probe(nodes, index_slots, index_state, steps, indexes, columns, step, depth, work)
