"""A forest in which tuples have costs, of which the least or the greatest counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from whence.analysis.components import Component
from whence.engines.local.forest.changes import take_differing
from whence.engines.local.forest.compiling import Compiled
from whence.engines.local.forest.following import follow_costs
from whence.engines.local.forest.interning import Interner
from whence.engines.local.forest.layout import CHEAPENED, LIVE, RELATION, RULE, Array
from whence.engines.local.forest.maintainer import ForestMaintainer
from whence.engines.local.forest.room import longer
from whence.engines.local.forest.walking import (
    CURRENT,
    DEAD_COUNT,
    DIFFERING,
    ENDLESS,
    FINISHED,
    HEAP,
    NEEDS_ROOM,
    NOTES,
    OUT_OF_BOUNDS,
    ROUNDS,
    new_walk,
)
from whence.engines.local.maintainer import Maintainer
from whence.engines.local.store import Store
from whence.engines.reference.fixpoint import Limits
from whence.errors import EvaluationError
from whence.model.schema import Relation
from whence.model.updates import Delta


class CostForest(ForestMaintainer):
    """Groups with the best cost that any derivation gives them."""

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        stores: Mapping[str, Store],
        compiled: Compiled,
        interner: Interner,
        general: Callable[[], Maintainer],
        limits: Limits,
    ) -> None:
        self._stack = np.zeros(compiled.rules.costs.shape[1] + 1, compiled.rules.constants.dtype)
        super().__init__(component, relations, stores, compiled, interner, general, limits)

    @property
    def _is_overtaxed(self) -> bool:
        """A derivation that is cheaper than what it rests on breaks the order that deletions go by.

        The general strategy looks out for that.
        """
        return bool(self._forest.counters[CHEAPENED])

    def _start(self) -> None:
        super()._start()
        size = len(self._forest.nodes)
        self._heap_keys = np.empty(size, self._forest.best.dtype)
        self._heap_nodes = np.empty(size, np.int32)
        # What nodes were before the change under way: node, whether it was alive, and its cost.
        self._noted = np.empty((size, 2), np.int32)
        self._before = np.empty(size, self._forest.best.dtype)

    def _change(self, rows: Array, costs: Array) -> Mapping[str, Delta]:
        walk = new_walk()
        walk[ROUNDS] = self._limits.rounds
        self._walk(rows, costs, walk)
        self.last_dead = int(walk[DEAD_COUNT])
        noted = (self._noted, self._before, int(walk[NOTES]))
        found: dict[str, Delta] = {}
        for number, name in enumerate(self._own):
            ids, new_costs = self._room_for(name, int(walk[DIFFERING]))
            came, went = take_differing(self._forest.nodes, self._forest.best, *noted, number, ids, new_costs)
            if came or went:
                found[name] = self._delta(name, ids, new_costs, came, went)
        return found

    def _walk(self, rows: Array, costs: Array, walk: Array) -> None:
        computer = self._computer
        while True:
            end = follow_costs(
                *self._forest,
                *self._rules,
                rows,
                costs,
                self._queue,
                self._dead,
                self._heap_keys,
                self._heap_nodes,
                self._noted,
                self._before,
                walk,
                self._work,
                self._stack,
                computer.missing,
                computer.answered,
                computer.learned,
            )
            if end == FINISHED:
                return
            if end == ENDLESS:
                raise self._endless(int(walk[CURRENT]))
            if end == OUT_OF_BOUNDS:
                raise self._out_of_bounds()
            if end == NEEDS_ROOM and walk[HEAP] >= len(self._heap_keys):
                self._heap_keys, self._heap_nodes = longer(self._heap_keys), longer(self._heap_nodes)
            self._go_on(end, walk)

    def _more_room(self) -> None:
        super()._more_room()
        while len(self._noted) < len(self._forest.nodes):
            self._noted, self._before = longer(self._noted), longer(self._before)
        while len(self._heap_keys) < len(self._forest.nodes):
            self._heap_keys, self._heap_nodes = longer(self._heap_keys), longer(self._heap_nodes)

    def _out_of_bounds(self) -> EvaluationError:
        return EvaluationError(
            "a cost does not fit the type of its column any more",
            span=self._component.rules[0].span,
            hint="declare the column as BIGINT",
        )

    def _endless(self, node: int) -> Exception:
        name = self._own[self._forest.nodes[node, RELATION]]
        row = self._decoders[name].rows(self._present(name, np.array([node])))[0]
        rule = self._component.rules[self._forest.derivations[self._forest.nodes[node, LIVE], RULE]]
        return self._brake.too_deep(row, rule)
