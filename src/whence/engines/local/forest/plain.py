"""A forest without costs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from whence.engines.local.forest import growing, pruning
from whence.engines.local.forest.entering import Cells
from whence.engines.local.forest.layout import ALIVE, COLUMNS, NOTED, NOTHING, PASSED_ON, RELATION, STATUS, Array
from whence.engines.local.forest.maintainer import NO_NODES, ForestMaintainer
from whence.engines.local.forest.over_deleting import over_delete
from whence.engines.local.forest.rows import ForestDelta
from whence.model.updates import Delta


class PlainForest(ForestMaintainer):
    """Tuples are there or not."""

    def _change(self, gone: Mapping[str, Cells], come: Mapping[str, Cells]) -> Mapping[str, Delta]:
        removed = self._delete(gone)
        return self._deltas(removed, self._insert(come))

    def _insert(self, cells: Mapping[str, Cells]) -> Array:
        """The nodes of the component's own relations that come alive."""
        walk = np.zeros(growing.CALLED + 1, np.int64)
        walk[growing.NEXT_PLAN] = NOTHING
        self._put(cells, walk)
        self._waves = 0
        inputs = int(walk[growing.QUEUED])
        self._grow(walk, inputs, NO_NODES)
        waiting, column = NO_NODES, self._rules.shape[PASSED_ON]
        if column != NOTHING:
            # What follows from the inputs alone leaves the queue, and comes back group by group.
            first = self._queue[inputs : walk[growing.QUEUED]]
            waiting = first[np.argsort(self._forest.nodes[first, COLUMNS + column], kind="stable")]
            walk[growing.QUEUED] = inputs
        self._grow(walk, np.iinfo(np.int64).max, waiting)
        return self._queue[inputs : walk[growing.QUEUED]]

    def _grow(self, walk: Array, stop: int, waiting: Array) -> None:
        """Join what is queued, up to `stop` nodes, and what waits in groups."""
        walk[growing.STOP] = stop
        while True:
            values = self._computer.missing, self._computer.answered
            end = growing.grow(self._forest, self._rules, self._queue, waiting, walk, self._work, *values)
            if end == growing.NEEDS_ROOM:
                self._more_room()
            elif not self._provide(walk, finished=end == growing.FINISHED):
                return

    def _delete(self, cells: Mapping[str, Cells]) -> Array:
        """The nodes of the component's own relations that are gone."""
        self.last_dead = 0
        roots = self._roots(cells)
        if not len(roots):
            return roots
        walk = np.zeros(7, np.int64)
        # Nothing is queued while rows go.
        dead, back = self._dead, self._queue
        self._mark(roots, dead, walk)
        while pruning.prune(self._forest, self._rules, roots, dead, back, walk, self._work) == growing.NEEDS_ROOM:
            self._more_room()
        self.last_dead = int(walk[pruning.DEAD_COUNT])
        touched = dead[: self.last_dead]
        gone: Array = touched[self._forest.nodes[touched, STATUS] & ALIVE == 0]
        return gone

    def _mark(self, roots: Array, dead: Array, walk: Array) -> None:
        """Before the walks: provenance tells what is dead, so there is nothing to mark."""

    def _deltas(self, removed: Array, added: Array) -> Mapping[str, Delta]:
        nodes = self._forest.nodes
        if len(removed) and len(added):
            # A tuple that went and came again in one commit has not changed; it has kept its node.
            nodes[removed, STATUS] |= NOTED
            added = added[nodes[added, STATUS] & NOTED == 0]
            nodes[removed, STATUS] &= ~NOTED
            removed = removed[nodes[removed, STATUS] & ALIVE == 0]
        found: dict[str, Delta] = {}
        for number, name in enumerate(self._own):
            come = added[nodes[added, RELATION] == number]
            gone = removed[nodes[removed, RELATION] == number]
            if len(come) or len(gone):
                found[name] = ForestDelta(self._decoders[name], self._cells(name, come), self._cells(name, gone))
        return found


class OverDeletingForest(PlainForest):
    """Delete and re-derive: the same forest, whose live derivations are not asked."""

    def _mark(self, roots: Array, dead: Array, walk: Array) -> None:
        over_delete(self._forest, self._rules, roots, dead, walk, self._work)
