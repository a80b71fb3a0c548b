"""Where a change stands that a kernel follows.

A kernel cannot make room, nor compute values. It stops for that, and goes on where it was when it is called again.
"""

from __future__ import annotations

import numpy as np

from whence.engines.local.forest.layout import NOTHING, Array

# A match: its plan, how many steps have a candidate, the trigger's node.
PLAN, DEPTH, TRIGGER = range(3)
# What is being done; how many nodes are or were dead, how many of them came back, the position in the list of the
# phase, and how many are gone in the end.
PHASE, DEAD_COUNT, BACK_COUNT, POSITION, GONE_COUNT = range(3, 8)
# How many rows have entered; how many nodes are queued, how many of those are joined, the next plan of the one being
# joined (NOTHING: it has not begun), and whether a plan is being matched.
ENTERED, QUEUED, DONE, NEXT_PLAN, MATCHING = range(8, 13)
# How many matches miss a value; how many values were computed, and how many of those joins find; how many matches can
# go on with theirs, and how many of those have.
MISSED, COMPUTED, LEARNED, ANSWERED, RESUMED = range(13, 18)
# Without costs: how many nodes entered, whether it is decided if what follows from them is to be divided, and how many
# of the waiting are queued.
INPUTS, DECIDED, CALLED = range(18, 21)
# With costs: whether a match waits to be recorded, the node being joined, the next of its uses, the heap's size, how
# many nodes are noted with what they were before, and how often a node was taken from the heap; ROUNDS bounds that, for
# each node that there is. In the end, how many rows come and go.
FOUND, CURRENT, USE, HEAP, NOTES, TAKEN, ROUNDS, DIFFERING = range(21, 29)
# How many nodes are joined when a kernel next comes up for air, although it has all it needs: only then can other
# threads go on, and what nobody waits for be given up.
BREATH = 29

# Phases: rows go, the dead are proved again and spread, and what comes grows.
MARKING, PROVING, SPREADING, GROWING = range(4)

# Why a kernel returns. It WAITS when all is done but for values that it misses, and NEEDS_VALUES when those are many.
FINISHED, NEEDS_ROOM, NEEDS_VALUES, WAITS, TO_BE_DIVIDED, OUT_OF_BOUNDS, ENDLESS, OVERFLOWS = range(8)

NODES_PER_BREATH = 1 << 13

_BEGINNING = np.zeros(BREATH + 1, np.int64)
_BEGINNING[[NEXT_PLAN, USE]] = NOTHING
_BEGINNING[BREATH] = NODES_PER_BREATH


def new_walk() -> Array:
    return _BEGINNING.copy()
