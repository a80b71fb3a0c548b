"""A forest in which tuples have costs, of which the least or the greatest counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from whence.analysis.components import Component
from whence.engines.local.forest import growing, improving
from whence.engines.local.forest.compiling import Compiled
from whence.engines.local.forest.entering import Cells
from whence.engines.local.forest.interning import Interner
from whence.engines.local.forest.layout import (
    ALIVE,
    BODY,
    CHEAPENED,
    COLUMNS,
    DERIVATIONS,
    LIVE,
    NODES,
    NOTED,
    NOTHING,
    RELATION,
    RULE,
    STATUS,
    Array,
)
from whence.engines.local.forest.maintainer import ForestMaintainer
from whence.engines.local.forest.room import longer
from whence.engines.local.forest.rows import ForestDelta
from whence.engines.local.forest.worsening import worsen
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

    def _change(self, gone: Mapping[str, Cells], come: Mapping[str, Cells]) -> Mapping[str, Delta]:
        walk = np.zeros(improving.TAKEN + 1, np.int64)
        walk[growing.NEXT_PLAN] = walk[improving.USE] = NOTHING
        self._delete(gone, walk)
        self._insert(come, walk)
        return self._deltas(int(walk[improving.NOTES]))

    def _delete(self, cells: Mapping[str, Cells], walk: Array) -> None:
        self.last_dead = 0
        roots = self._roots(cells)
        if not len(roots):
            return
        uses = int(self._forest.counters[DERIVATIONS]) * (self._forest.derivations.shape[1] - BODY)
        while len(self._heap_keys) < uses:
            self._heap_keys, self._heap_nodes = longer(self._heap_keys), longer(self._heap_nodes)
        dead = worsen(
            self._forest,
            self._rules,
            roots,
            self._dead,
            self._heap_keys,
            self._heap_nodes,
            self._noted,
            self._before,
            walk,
            self._stack,
        )
        if dead == NOTHING:
            raise self._out_of_bounds()
        self.last_dead = dead

    def _insert(self, cells: Mapping[str, Cells], walk: Array) -> None:
        self._put(cells, walk)
        self._waves = 0
        while True:
            most = self._limits.rounds * (int(self._forest.counters[NODES]) + 1)
            end = improving.improve(
                self._forest,
                self._rules,
                self._queue,
                self._heap_keys,
                self._heap_nodes,
                self._noted,
                self._before,
                walk,
                self._work,
                self._stack,
                self._computer.missing,
                self._computer.answered,
                most,
            )
            if end in (growing.FINISHED, growing.NEEDS_VALUES):
                if self._provide(walk, finished=end == growing.FINISHED):
                    continue
                return
            if end == improving.ENDLESS:
                raise self._endless(int(walk[improving.CURRENT]))
            if end == improving.OUT_OF_BOUNDS:
                raise self._out_of_bounds()
            if walk[improving.HEAP] >= len(self._heap_keys):
                self._heap_keys, self._heap_nodes = longer(self._heap_keys), longer(self._heap_nodes)
            self._more_room()

    def _more_room(self) -> None:
        super()._more_room()
        while len(self._noted) < len(self._forest.nodes):
            self._noted, self._before = longer(self._noted), longer(self._before)

    def _out_of_bounds(self) -> EvaluationError:
        return EvaluationError(
            "a cost does not fit the type of its column any more",
            span=self._component.rules[0].span,
            hint="declare the column as BIGINT",
        )

    def _endless(self, node: int) -> Exception:
        name = self._own[self._forest.nodes[node, RELATION]]
        row = self._decoders[name].rows(*self._cells(name, np.array([node])))[0]
        rule = self._component.rules[self._forest.derivations[self._forest.nodes[node, LIVE], RULE]]
        return self._brake.too_deep(row, rule)

    def _deltas(self, count: int) -> Mapping[str, Delta]:
        nodes, best = self._forest.nodes, self._forest.best
        touched = self._noted[:count, 0]
        nodes[touched, STATUS] &= ~NOTED
        was, then = self._noted[:count, 1] != 0, self._before[:count]
        is_, now = nodes[touched, STATUS] & ALIVE != 0, best[touched]
        differs = (was != is_) | (was & is_ & (then != now))
        found: dict[str, Delta] = {}
        for number, name in enumerate(self._own):
            here = differs & (nodes[touched, RELATION] == number)
            if not here.any():
                continue
            columns = slice(COLUMNS, COLUMNS + len(self._compiled.positions[name]))
            come, gone = here & is_, here & was
            value = self._compiled.values.get(name)
            old = [] if value is None else value.decode(then[gone])
            found[name] = ForestDelta(
                self._decoders[name], self._cells(name, touched[come]), (nodes[touched[gone], columns], old)
            )
        return found
