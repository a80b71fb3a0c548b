"""A forest without costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from whence.engines.local.forest import growing, pruning
from whence.engines.local.forest.layout import ALIVE, NODES, NOTHING, RELATION, STATUS, Array
from whence.engines.local.forest.maintainer import ForestMaintainer
from whence.engines.local.forest.over_deleting import over_delete
from whence.engines.local.forest.rows import ForestDelta
from whence.model.types import Row
from whence.model.updates import Delta


class PlainForest(ForestMaintainer):
    """Tuples are there or not."""

    def _change(self, gone: Mapping[str, Sequence[Row]], come: Mapping[str, Sequence[Row]]) -> Mapping[str, Delta]:
        removed = self._delete(gone)
        return self._deltas(removed, self._insert(come))

    def _insert(self, rows: Mapping[str, Sequence[Row]]) -> Array:
        """The nodes of the component's own relations that come alive."""
        walk = np.zeros(growing.RESUMED + 1, np.int64)
        walk[growing.NEXT_PLAN] = NOTHING
        for name, of_relation in rows.items():
            self._put(name, of_relation, walk)
        self._waves = 0
        while True:
            waiting = self._computer.missing, self._computer.answered
            end = growing.grow(self._forest, self._rules, self._queue, walk, self._work, *waiting)
            if end == growing.NEEDS_ROOM:
                self._more_room()
            elif not self._provide(walk, finished=end == growing.FINISHED):
                break
        queued = self._queue[: walk[growing.QUEUED]]
        own: Array = queued[self._forest.nodes[queued, RELATION] < len(self._own)]
        return own

    def _delete(self, rows: Mapping[str, Sequence[Row]]) -> Array:
        """The nodes of the component's own relations that are gone."""
        self.last_dead = 0
        roots = self._roots(rows)
        if not len(roots):
            return roots
        walk = np.zeros(7, np.int64)
        count = int(self._forest.counters[NODES])
        dead, back = np.empty(count, np.int32), np.empty(count, np.int32)
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
        if len(removed) and len(added):
            # A tuple that went and came again in one commit has not changed; it has kept its node.
            again = np.intersect1d(removed, added, assume_unique=True)
            removed, added = np.setdiff1d(removed, again), np.setdiff1d(added, again)
        found: dict[str, Delta] = {}
        nodes = self._forest.nodes
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
