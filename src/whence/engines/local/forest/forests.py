"""The kinds of forest, and which of them a component gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from whence.analysis.components import Component
from whence.analysis.limits import RecursionLimits
from whence.columns.compiled import inlined, kernel
from whence.engines.local.forest import layout
from whence.engines.local.forest.grow import grow
from whence.engines.local.forest.improve import improve
from whence.engines.local.forest.layout import Array, new_walk, opened
from whence.engines.local.forest.maintainer import NO_NODES, Compiler, ForestMaintainer
from whence.engines.local.forest.program import Compiled, compile_component
from whence.engines.local.forest.prune import prune
from whence.engines.local.forest.reach import over_delete
from whence.engines.local.forest.room import longer
from whence.engines.local.forest.rows import count_differing, take_differing, take_moved
from whence.engines.local.forest.values import Interner, NotCompiledError
from whence.engines.local.forest.worsen import worsen
from whence.errors import EvaluationError
from whence.incremental.maintainer import Maintainer
from whence.incremental.store import Store
from whence.model.program import Functions
from whence.model.schema import Relation
from whence.model.updates import Delta
from whence.planning.statistics import UNCOUNTED, Statistics

_WALK = layout.OTHERS + 8


@inlined
def _ending(end: int, walk: Array, work: Array) -> int:
    if work[layout.OVERFLOWN, 0]:
        work[layout.OVERFLOWN, 0] = 0
        return layout.OVERFLOWS
    return layout.WAITS if end == layout.FINISHED and walk[layout.MISSED] > 0 else end


@kernel
def follow(*arrays: Array) -> int:
    """In a forest without costs: first rows go, then others come. Returns why it stops."""
    forest, rules = opened(arrays)
    rows, queue, dead, waiting, walk, work, missing, answered, learned = arrays[layout.OTHERS :]
    if walk[layout.PHASE] != layout.GROWING and not prune(forest, rules, rows, dead, queue, walk, work):
        return layout.MOST_IS_DEAD if walk[layout.DEAD_COUNT] > walk[layout.MOST_DEAD] else layout.NEEDS_ROOM
    return _ending(grow(forest, rules, rows, queue, waiting, walk, work, missing, answered, learned), walk, work)


@kernel
def follow_costs(*arrays: Array) -> int:
    """The same in a forest with costs."""
    forest, rules = opened(arrays)
    rows, costs, queue, dead, heap_keys, heap_nodes, noted, before = arrays[layout.OTHERS : _WALK]
    walk, work, stack, missing, answered, learned, learned_costs = arrays[_WALK:]
    if walk[layout.PHASE] != layout.GROWING:
        # Nothing is queued while rows go.
        end = worsen(forest, rules, rows, costs, queue, dead, heap_keys, heap_nodes, noted, before, walk, work, stack)
        if end != layout.FINISHED:
            return end
    scratch = (heap_keys, heap_nodes, noted, before)
    values = (missing, answered, learned, learned_costs)
    end = improve(forest, rules, rows, costs, queue, *scratch, walk, work, stack, *values)
    end = _ending(end, walk, work)
    if end == layout.FINISHED:
        walk[layout.DIFFERING] = count_differing(forest.nodes, forest.best, noted, before, walk[layout.NOTES])
    return end


class PlainForest(ForestMaintainer):
    """Tuples are there or not."""

    def _change(self, rows: Array, costs: Array) -> Mapping[str, Delta]:
        walk = new_walk()
        walk[layout.HELD], walk[layout.MOST_DEAD] = self._held, self._most_dead
        self._mark(rows, walk)
        self._walk(rows, walk)
        self.last_dead = int(walk[layout.DEAD_COUNT])
        self._lived_by = self._dead[: walk[layout.DEAD_COUNT], : layout.LIVE_BEFORE + 1]
        removed = self._dead[: walk[layout.GONE_COUNT], layout.GONE_NODE]
        added = self._queue[walk[layout.INPUTS] : walk[layout.QUEUED]]
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
            if end == layout.FINISHED:
                return
            if end == layout.TO_BE_DIVIDED:
                waiting = self._divided(walk)
            else:
                self._go_on(end, walk)

    def _divided(self, walk: Array) -> Array:
        """What follows from the inputs alone leaves the queue, and comes back group by group."""
        first = self._queue[walk[layout.INPUTS] : walk[layout.QUEUED]]
        walk[layout.QUEUED] = walk[layout.INPUTS]
        groups = self._forest.nodes[first, layout.COLUMNS + self._rules.shape[layout.PASSED_ON]]
        waiting: Array = first[np.argsort(groups, kind="stable")]
        return waiting


class OverDeletingForest(PlainForest):
    """Delete and re-derive: the same forest, whose live derivations are not asked."""

    keeps_proofs = False

    def _mark(self, rows: Array, walk: Array) -> None:
        over_delete(self._forest, self._rules, rows, self._queue, self._dead, walk, self._work)


class CostForest(ForestMaintainer):
    """Groups with the best cost that any derivation gives them."""

    @property
    def _is_overtaxed(self) -> bool:
        """A derivation that is cheaper than what it rests on breaks the order that deletions go by.

        The general strategy looks out for that.
        """
        return bool(self._forest.counters[layout.CHEAPENED])

    def _start(self) -> None:
        super()._start()
        self._stack = np.zeros(self._rules.costs.shape[1] + 1, self._rules.constants.dtype)
        size = len(self._forest.nodes)
        self._heap_keys = np.empty(size, self._forest.best.dtype)
        self._heap_nodes = np.empty(size, np.int32)
        # What nodes were before the change under way: node, whether it was alive, its live derivation, and its cost.
        self._noted = np.empty((size, 3), np.int32)
        self._before = np.empty(size, self._forest.best.dtype)

    def _change(self, rows: Array, costs: Array) -> Mapping[str, Delta]:
        walk = new_walk()
        walk[layout.ROUNDS], walk[layout.MOST_DEAD] = self._limits.rounds, self._most_dead
        self._walk(rows, costs, walk)
        self.last_dead = int(walk[layout.DEAD_COUNT])
        self._lived_by = self._noted[: walk[layout.NOTES], ::2]
        noted = (self._noted, self._before, int(walk[layout.NOTES]))
        found: dict[str, Delta] = {}
        for number, name in enumerate(self._own):
            ids, new_costs = self._room_for(name, int(walk[layout.DIFFERING]))
            came, went = take_differing(self._forest.nodes, self._forest.best, *noted, number, ids, new_costs)
            if came or went:
                found[name] = self._delta(name, ids, new_costs, came, went)
        return found

    def _walk(self, rows: Array, costs: Array, walk: Array) -> None:
        computer = self._computer
        while True:
            marks = (self._heap_keys, self._heap_nodes, self._noted, self._before)
            scratch = (self._queue, self._dead, *marks, walk, self._work, self._stack)
            values = (computer.missing, computer.answered, computer.learned, computer.learned_costs)
            end = follow_costs(*self._forest, *self._rules, rows, costs, *scratch, *values)
            if end == layout.FINISHED:
                return
            if end == layout.ENDLESS:
                raise self._endless(int(walk[layout.CURRENT]))
            if end == layout.OUT_OF_BOUNDS:
                raise self._out_of_bounds()
            if end == layout.NEEDS_ROOM and walk[layout.HEAP] >= len(self._heap_keys):
                self._heap_keys, self._heap_nodes = longer(self._heap_keys), longer(self._heap_nodes)
            self._go_on(end, walk)

    def _room_beside(self) -> None:
        super()._room_beside()
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
        name = self._own[self._forest.nodes[node, layout.RELATION]]
        row = self._decoders[name].rows(self._present(name, np.array([node])))[0]
        rule = self._component.rules[self._forest.derivations[self._forest.nodes[node, layout.LIVE], layout.RULE]]
        return self._limit.too_deep(row, rule)


def _compiler(
    component: Component, relations: Mapping[str, Relation], functions: Functions, *, keep_spares: bool
) -> Compiler:
    def compiled_for(statistics: Statistics) -> tuple[Compiled, Interner]:
        interner = Interner()
        parts = (component, relations, functions, interner, statistics)
        return compile_component(*parts, keep_spares=keep_spares), interner

    return compiled_for


def forest_for(
    component: Component,
    relations: Mapping[str, Relation],
    functions: Functions,
    stores: Mapping[str, Store],
    limits: RecursionLimits,
    general: Callable[..., Maintainer],
) -> ForestMaintainer:
    """Raises NotCompiledError, with the reason, where the kernels do not know the rules.

    `general` makes a maintainer from the other parts that takes over where the kernels cannot go on.
    """
    compiler = _compiler(component, relations, functions, keep_spares=True)
    values = compiler(UNCOUNTED)[0].values
    if values and any(name not in values for name in component.relations):
        # A cost that rests on a row without one could come to rest on itself: costs no longer say what came first.
        raise NotCompiledError("rows with a min or max and rows without one follow from each other")
    kind = CostForest if values else PlainForest
    successor = partial(general, component, relations, functions, stores, limits)
    return kind(component, relations, stores, compiler, successor, limits)


def over_deleting_forest_for(
    component: Component,
    relations: Mapping[str, Relation],
    functions: Functions,
    stores: Mapping[str, Store],
    limits: RecursionLimits,
    general: Callable[..., Maintainer],
) -> ForestMaintainer:
    """The same for delete and re-derive, which keeps no provenance to speak of, and knows no costs here."""
    compiler = _compiler(component, relations, functions, keep_spares=False)
    if compiler(UNCOUNTED)[0].values:
        raise NotCompiledError("min or max")
    successor = partial(general, component, relations, functions, stores, limits)
    return OverDeletingForest(component, relations, stores, compiler, successor, limits)
