"""A change goes through the views that it concerns, in order; what that cost each component is kept."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heapify, heappop, heappush
from typing import NamedTuple, TypeAlias

from whence.deadline import check
from whence.engines.local.evidence import ProofForest
from whence.incremental.maintainer import KeepsStore, Maintainer
from whence.incremental.store import LazyStore, Store
from whence.interrupts import stops_at_checks
from whence.model.updates import Delta, Update, totals


class ComponentWork(NamedTuple):
    """What a component was given and what it made of it, and the seconds that it took."""

    inputs: Mapping[str, Delta]
    outputs: Mapping[str, Delta]
    elapsed: float
    # How many rows it was given and made beside these.
    more_in: int = 0
    more_out: int = 0
    # Whether it was computed again, because that took less than following the change.
    is_recomputed: bool = False

    @property
    def rows_in(self) -> int:
        return self.more_in + sum(sum(totals(delta)) for delta in self.inputs.values())

    @property
    def rows_out(self) -> int:
        return self.more_out + sum(sum(totals(delta)) for delta in self.outputs.values())

    def without_rows(self) -> ComponentWork:
        """The same to whoever asks how many there were. Rows that nobody else keeps can then go."""
        return self._replace(inputs={}, outputs={}, more_in=self.rows_in, more_out=self.rows_out)


# By the relations of a component.
Works: TypeAlias = dict[tuple[str, ...], ComponentWork]


def dead_tuples(works: Works, forests: Mapping[tuple[str, ...], ProofForest]) -> int:
    """How many tuples of compiled forests were dead for a moment; to be asked before anything else is tried."""
    return sum([forests[component].last_dead for component in works if component in forests])


# A maintainer that a change has reached, and what it was told.
Touched: TypeAlias = tuple[Maintainer, Mapping[str, Delta]]


class MaintainedView(NamedTuple):
    """A component with rules, what it reads from below, and who keeps it."""

    relations: tuple[str, ...]
    reads: tuple[str, ...]
    maintainer: Maintainer


@dataclass(frozen=True, slots=True)
class Propagation:
    """Views in the order of their dependencies, found by what they read: a change visits no others."""

    views: tuple[MaintainedView, ...] = ()
    # The positions of the views that read a relation, and of the view of a component.
    readers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    positions: Mapping[tuple[str, ...], int] = field(default_factory=dict)

    def extended(self, views: Iterable[MaintainedView]) -> Propagation:
        """With more views, which those that are there do not read."""
        every, readers, positions = list(self.views), dict(self.readers), dict(self.positions)
        for view in views:
            positions[view.relations] = len(every)
            for name in view.reads:
                readers[name] = (*readers.get(name, ()), len(every))
            every.append(view)
        return Propagation(tuple(every), readers, positions)

    def without(self, gone: frozenset[str]) -> Propagation:
        """Without the views of these relations."""
        return Propagation().extended(view for view in self.views if gone.isdisjoint(view.relations))

    def run(
        self, update: Update, also: Iterable[tuple[str, ...]] = ()
    ) -> tuple[dict[str, Delta], Works, list[Touched]]:
        """What follows from an update, the work it was, and the maintainers that have to settle or take it back.

        Some views have `also` something to do when nothing changes that they read.
        """
        deltas: dict[str, Delta] = {name: delta for name, delta in update.deltas.items() if delta}
        todo = [position for name in deltas for position in self.readers.get(name, ())]
        todo += (self.positions[relations] for relations in also)
        heapify(todo)
        touched: list[Touched] = []
        works: Works = {}
        last = -1
        try:
            with stops_at_checks():
                while todo:
                    position = heappop(todo)
                    if position == last:
                        continue
                    last, view = position, self.views[position]
                    check()
                    inputs = {name: deltas[name] for name in view.reads if name in deltas}
                    started = time.perf_counter()
                    touched.append((view.maintainer, inputs))
                    outputs = view.maintainer.apply(inputs)
                    elapsed = time.perf_counter() - started
                    again = view.maintainer.has_recomputed
                    works[view.relations] = ComponentWork(inputs, outputs, elapsed, is_recomputed=again)
                    deltas.update(outputs)
                    for name in outputs:
                        for reader in self.readers.get(name, ()):
                            heappush(todo, reader)
        except BaseException:
            undo(touched)
            raise
        return deltas, works, touched


def built(view: MaintainedView, every: Sequence[Mapping[str, Store]]) -> tuple[ComponentWork, Mapping[str, Delta]]:
    """A component that has never been built, from what the stores hold, and its rows in stores for those above it."""
    check()
    started = time.perf_counter()
    stored = sum(every[0][name].size for name in view.reads)
    with stops_at_checks():
        outputs = view.maintainer.build()
    apply_to(every, outputs)
    rows = sum(sum(totals(delta)) for delta in outputs.values())
    return ComponentWork({}, {}, time.perf_counter() - started, stored, rows), outputs


def store_of_view(name: str, maintainer: Maintainer, *, is_kept: bool) -> Store:
    """A store for a view that had none before, because it is new or no view read it."""
    if isinstance(maintainer, KeepsStore):
        return maintainer.own_store()
    if not isinstance(maintainer, ProofForest):
        return Store(maintainer.counts(name) if is_kept else {})
    everything = partial(maintainer.everything, name)
    store = LazyStore(everything)
    if is_kept:
        store.apply(everything())
    return store


def apply_to(every: Sequence[Mapping[str, Store]], deltas: Mapping[str, Delta]) -> None:
    for stores in every:
        for name, delta in deltas.items():
            if name in stores:
                stores[name].apply(delta)


def settle(touched: Iterable[Touched]) -> None:
    for maintainer, _ in touched:
        maintainer.settle()


def undo(touched: Iterable[Touched]) -> None:
    for maintainer, _ in touched:
        maintainer.undo()


def take_back(touched: list[Touched]) -> None:
    """Undo in no more time than it took. If that is interrupted, undo in the time that it takes."""
    try:
        while touched:
            maintainer, inputs = touched[-1]
            if isinstance(maintainer, ProofForest):
                maintainer.retrace(inputs)
            else:
                maintainer.undo()
            touched.pop()
    except BaseException:
        undo(touched)
        raise
