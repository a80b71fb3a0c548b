"""A forest without costs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from whence.engines.local.forest.changes import take_moved
from whence.engines.local.forest.following import follow
from whence.engines.local.forest.layout import COLUMNS, PASSED_ON, Array
from whence.engines.local.forest.maintainer import NO_NODES, ForestMaintainer
from whence.engines.local.forest.over_deleting import over_delete
from whence.engines.local.forest.walking import (
    DEAD_COUNT,
    FINISHED,
    GONE_COUNT,
    INPUTS,
    QUEUED,
    TO_BE_DIVIDED,
    new_walk,
)
from whence.model.updates import Delta


class PlainForest(ForestMaintainer):
    """Tuples are there or not."""

    def _change(self, rows: Array, costs: Array) -> Mapping[str, Delta]:
        walk = new_walk()
        self._mark(rows, walk)
        self._walk(rows, walk)
        self.last_dead = int(walk[DEAD_COUNT])
        removed, added = self._dead[: walk[GONE_COUNT]], self._queue[walk[INPUTS] : walk[QUEUED]]
        found: dict[str, Delta] = {}
        for number, name in enumerate(self._own):
            ids, costs = self._room_for(name, len(removed) + len(added))
            came, went = take_moved(self._forest.nodes, number, removed, added, ids)
            if came or went:
                found[name] = self._delta(name, ids, costs, came, went)
        return found

    def _mark(self, rows: Array, walk: Array) -> None:
        """Before the walk: provenance tells what is dead, so there is nothing to mark."""

    def _walk(self, rows: Array, walk: Array) -> None:
        waiting, computer = NO_NODES, self._computer
        while True:
            values = (computer.missing, computer.answered, computer.learned)
            scratch = (self._queue, self._dead, waiting, walk, self._work)
            end = follow(*self._forest, *self._rules, rows, *scratch, *values)
            if end == FINISHED:
                return
            if end == TO_BE_DIVIDED:
                waiting = self._divided(walk)
            else:
                self._go_on(end, walk)

    def _divided(self, walk: Array) -> Array:
        """What follows from the inputs alone leaves the queue, and comes back group by group."""
        first = self._queue[walk[INPUTS] : walk[QUEUED]]
        walk[QUEUED] = walk[INPUTS]
        groups = self._forest.nodes[first, COLUMNS + self._rules.shape[PASSED_ON]]
        waiting: Array = first[np.argsort(groups, kind="stable")]
        return waiting


class OverDeletingForest(PlainForest):
    """Delete and re-derive: the same forest, whose live derivations are not asked."""

    keeps_proofs = False

    def _mark(self, rows: Array, walk: Array) -> None:
        over_delete(self._forest, self._rules, rows, self._queue, self._dead, walk, self._work)
