"""Matches that wait for the value of a function, which is computed outside of the kernels.

A match is written down as far as it has come, so that it can go on from there: its plan, depth and trigger, then the
registers, then the matched nodes.
"""

from __future__ import annotations

from whence.engines.local.forest.kernels import inlined
from whence.engines.local.forest.layout import CANDIDATES, MATCHED, NOTHING, PLAN_STEP, REGISTERS, Array, Forest, Rules
from whence.engines.local.forest.matching import probe
from whence.engines.local.forest.walking import DEPTH, PLAN, TRIGGER

# Where the registers begin.
STATE = 3


@inlined
def postpone(match: Array, work: Array, waiting: Array, at: int) -> None:
    """Write an incomplete match down."""
    waiting[at, PLAN], waiting[at, DEPTH], waiting[at, TRIGGER] = match[PLAN], match[DEPTH], match[TRIGGER]
    memory = work.shape[1]
    for place in range(memory):
        waiting[at, STATE + place] = work[REGISTERS, place]
        waiting[at, STATE + memory + place] = work[MATCHED, place]


@inlined
def take_up(forest: Forest, rules: Rules, waiting: Array, at: int, match: Array, work: Array) -> None:
    """Let a match go on with the value that it has been waiting for, and with that one only."""
    match[PLAN], match[DEPTH], match[TRIGGER] = waiting[at, PLAN], waiting[at, DEPTH], waiting[at, TRIGGER]
    memory = work.shape[1]
    for place in range(memory):
        work[REGISTERS, place] = waiting[at, STATE + place]
        work[MATCHED, place] = waiting[at, STATE + memory + place]
    depth = match[DEPTH]
    for before in range(depth):
        work[CANDIDATES, before] = NOTHING
    step = rules.plans[match[PLAN], PLAN_STEP] + depth
    probe(forest, rules, step, depth, work)
