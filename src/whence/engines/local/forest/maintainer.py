"""Lazy absorption, compiled: the maintainer that drives the kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.forest import growing, pruning
from whence.engines.local.forest.compiling import compile_component
from whence.engines.local.forest.interning import Interner
from whence.engines.local.forest.layout import (
    ALIVE,
    ARITY,
    COLUMNS,
    DERIVATIONS,
    LONGEST,
    LOST,
    NODES,
    NOTHING,
    RELATION,
    STATUS,
    WIDEST,
    Array,
    Rules,
)
from whence.engines.local.forest.packing import pack
from whence.engines.local.forest.room import longer, more_room, new_forest
from whence.engines.local.forest.rows import Decoder, ForestDelta
from whence.engines.local.forest.tuples import find
from whence.engines.local.forest.values import NotCompiledError
from whence.engines.local.store import Store
from whence.engines.reference.fixpoint import Limits
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta

# A forest is packed when most of its derivations are lost, but not for a few.
_WORTH_PACKING = 1 << 16


class ForestAbsorption:
    """A component whose rules the kernels know. Raises NotCompiledError for any other."""

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        _functions: Functions,
        stores: Mapping[str, Store],
        _limits: Limits,
    ) -> None:
        self._interner = Interner()
        self._compiled = compile_component(component, relations, self._interner)
        if self._compiled.values:
            raise NotCompiledError("min or max")
        self._rules: Rules = self._compiled.rules
        self._relations = relations
        self._own = tuple(component.relations)
        self._stores = stores
        self._ids = {name: number for number, name in enumerate(self._compiled.names)}
        self._decoders = {name: self._decoder(name) for name in self._compiled.names}
        memory = max(self._compiled.registers, self._rules.shape[WIDEST], self._rules.shape[LONGEST])
        self._work = np.zeros((5, int(memory)), np.int32)
        self._start()

    def _decoder(self, name: str) -> Decoder:
        types = [column.type for column in self._relations[name].columns]
        return Decoder(self._interner, types, self._compiled.positions[name], None)

    def _start(self) -> None:
        self._forest = new_forest(self._rules, self._compiled.links, costs=False)
        self._queue = np.empty(len(self._forest.nodes), np.int32)

    # The maintainer's part

    def build(self) -> Mapping[str, Delta]:
        rows = {name: [r for r, n in self._stores[name].counts.items() if n > 0] for name in self._compiled.inputs}
        return self._deltas(np.empty(0, np.int32), self._insert(rows))

    def apply(self, deltas: Mapping[str, Delta]) -> Mapping[str, Delta]:
        come: dict[str, list[Row]] = {}
        gone: dict[str, list[Row]] = {}
        for name in self._compiled.inputs:
            counts = self._stores[name].counts
            for row, change in deltas.get(name, {}).items():
                before = counts.get(row, 0)
                if before <= 0 < before + change:
                    come.setdefault(name, []).append(row)
                elif before + change <= 0 < before:
                    gone.setdefault(name, []).append(row)
        removed = self._delete(gone) if gone else np.empty(0, np.int32)
        added = self._insert(come) if come else np.empty(0, np.int32)
        return self._deltas(removed, added)

    def settle(self) -> None:
        counters = self._forest.counters
        if counters[LOST] > _WORTH_PACKING and 2 * counters[LOST] > counters[DERIVATIONS]:
            self._forest = pack(self._forest, self._rules, self._work)

    def undo(self) -> None:
        # Rare, and the stores still hold what was there before: growing it anew is the surest way back.
        self._start()
        self.build()

    def counts(self, relation: str) -> Mapping[Row, int]:
        return _Counts(self, relation)

    # Changes

    def _insert(self, rows: Mapping[str, Sequence[Row]]) -> Array:
        """Put rows in, and return the nodes of the component's own relations that come alive by that."""
        walk = np.zeros(8, np.int64)
        walk[growing.NEXT_PLAN] = NOTHING
        for name, of_relation in rows.items():
            self._put(name, of_relation, walk)
        while growing.grow(self._forest, self._rules, self._queue, walk, self._work) == growing.NEEDS_ROOM:
            self._more_room()
        queued = self._queue[: walk[growing.QUEUED]]
        own: Array = queued[self._forest.nodes[queued, RELATION] < len(self._own)]
        return own

    def _put(self, name: str, rows: Sequence[Row], walk: Array) -> None:
        interned = self._intern(name, rows)
        done = 0
        while True:
            done = growing.put(
                self._forest, self._rules, self._ids[name], interned, self._forest.best, done, self._queue, walk
            )
            if done == len(interned):
                return
            self._more_room()

    def _delete(self, rows: Mapping[str, Sequence[Row]]) -> Array:
        """Take rows out, and return the nodes of the component's own relations that are gone by that."""
        roots: list[int] = []
        for name, of_relation in rows.items():
            interned = self._intern(name, of_relation)
            relation = self._ids[name]
            arity = self._rules.relations[relation, ARITY]
            nodes, slots = self._forest.nodes, self._forest.slots
            roots.extend(find(nodes, slots, relation, interned, at, arity)[0] for at in range(len(interned)))
        walk = np.zeros(7, np.int64)
        count = int(self._forest.counters[NODES])
        dead, back = np.empty(count, np.int32), np.empty(count, np.int32)
        the_roots = np.array(roots, np.int32)
        while pruning.prune(self._forest, self._rules, the_roots, dead, back, walk, self._work) == growing.NEEDS_ROOM:
            self._more_room()
        touched = dead[: walk[pruning.DEAD_COUNT]]
        gone: Array = touched[self._forest.nodes[touched, STATUS] & ALIVE == 0]
        return gone

    def _intern(self, name: str, rows: Sequence[Row]) -> Array:
        types = [column.type for column in self._relations[name].columns]
        interned = self._interner.rows(rows, types, self._compiled.positions[name])
        self._rules = self._rules._replace(numbers=self._interner.numbers())
        return interned

    def _more_room(self) -> None:
        self._forest = more_room(self._forest, self._rules, self._work)
        while len(self._queue) < len(self._forest.nodes):
            self._queue = longer(self._queue)

    def _deltas(self, removed: Array, added: Array) -> Mapping[str, Delta]:
        # A tuple that went and came again in one commit has not changed; it has kept its node.
        again = np.intersect1d(removed, added, assume_unique=True) if len(removed) and len(added) else removed[:0]
        if len(again):
            removed, added = np.setdiff1d(removed, again), np.setdiff1d(added, again)
        found: dict[str, Delta] = {}
        nodes = self._forest.nodes
        for number, name in enumerate(self._own):
            come = added[nodes[added, RELATION] == number]
            gone = removed[nodes[removed, RELATION] == number]
            if len(come) or len(gone):
                columns = slice(COLUMNS, COLUMNS + len(self._compiled.positions[name]))
                found[name] = ForestDelta(self._decoders[name], (nodes[come, columns], ()), (nodes[gone, columns], ()))
        return found

    # Reading

    def node(self, relation: str, row: Row) -> int | None:
        """The node of a row that is there."""
        types = [column.type for column in self._relations[relation].columns]
        ids = [self._interner.known(row[p], types[p]) for p in self._compiled.positions[relation]]
        if None in ids or len(row) != len(types):
            return None
        number = self._ids[relation]
        node, _ = find(self._forest.nodes, self._forest.slots, number, np.array([ids], np.int32), 0, len(ids))
        return int(node) if node != NOTHING and self._forest.nodes[node, STATUS] & ALIVE else None

    def alive(self, relation: str) -> Array:
        """The nodes of all rows of a relation."""
        nodes = self._forest.nodes[: self._forest.counters[NODES]]
        here = (nodes[:, RELATION] == self._ids[relation]) & (nodes[:, STATUS] & ALIVE != 0)
        return np.flatnonzero(here)

    def rows(self, relation: str) -> list[Row]:
        columns = slice(COLUMNS, COLUMNS + len(self._compiled.positions[relation]))
        return self._decoders[relation].rows(self._forest.nodes[self.alive(relation), columns], ())

    @property
    def state_bytes(self) -> int:
        """What the forest takes up, without room that is not used yet."""
        counters = self._forest.counters
        used = (
            counters[NODES] * self._forest.nodes[0].nbytes + counters[DERIVATIONS] * self._forest.derivations[0].nbytes
        )
        return int(used) + self._forest.slots.nbytes + self._forest.index_slots.nbytes


class _Counts(Mapping[Row, int]):
    """A relation of the forest, read in place."""

    def __init__(self, forest: ForestAbsorption, relation: str) -> None:
        self._forest = forest
        self._relation = relation

    def __getitem__(self, row: Row) -> int:
        if self._forest.node(self._relation, row) is None:
            raise KeyError(row)
        return 1

    def __iter__(self) -> Iterator[Row]:
        return iter(self._forest.rows(self._relation))

    def __len__(self) -> int:
        return len(self._forest.alive(self._relation))
