"""What all forests have in common: rows in, room, packing, and reading. How they change is left to two kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, ItemsView, Iterator, Mapping
from copy import deepcopy

import numpy as np

from whence.analysis.components import Component
from whence.engines.local.forest import growing
from whence.engines.local.forest.compiling import Compiled
from whence.engines.local.forest.computing import Computer, put_values
from whence.engines.local.forest.entering import Cells, Entrance
from whence.engines.local.forest.interning import Interner
from whence.engines.local.forest.layout import (
    ALIVE,
    COLUMNS,
    DERIVATIONS,
    LOST,
    NODES,
    NOTHING,
    OVERFLOWN,
    PLAN_RULE,
    RELATION,
    STATUS,
    Array,
    Forest,
    Rules,
)
from whence.engines.local.forest.matching import PLAN
from whence.engines.local.forest.packing import pack
from whence.engines.local.forest.room import longer, more_room, new_forest
from whence.engines.local.forest.rows import Decoder
from whence.engines.local.forest.tuples import find_all
from whence.engines.local.maintainer import Maintainer
from whence.engines.local.recursive.endless import Brake
from whence.engines.local.store import Store
from whence.engines.reference.fixpoint import Limits
from whence.errors import EvaluationError
from whence.model.schema import Relation
from whence.model.types import Row, Value
from whence.model.updates import Delta

# A forest is packed when most of its derivations are lost, but not for a few.
_WORTH_PACKING = 1 << 16
# Computed values that nobody needs are forgotten when they are most of all, but not for a few.
_WORTH_FORGETTING = 1 << 18

NO_NODES = np.empty(0, np.int32)


class ForestMaintainer(ABC):
    """A component whose rules the kernels know."""

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
        """`general` makes the maintainer that takes over where the kernels cannot go on."""
        self._component = component
        self._general = general
        self._successor: Maintainer | None = None
        # Whether it is the commit under way in which it took over.
        self._succeeded = False
        self._limits = limits
        self._brake = Brake(component, limits)
        self._waves = 0
        # With what the rules themselves hold, and nothing else.
        self._constants = interner
        self._compiled = compiled
        self._rules: Rules = compiled.rules
        self._relations = relations
        self._own = tuple(component.relations)
        self._stores = stores
        self._ids = {name: number for number, name in enumerate(compiled.names)}
        self._work = np.zeros((OVERFLOWN + 1, compiled.memory), np.int32)
        self._functions = {self._ids[function.relation.name]: function for function in compiled.functions}
        # How many values were computed when the forest was last grown from nothing.
        self._needed = 0
        # How many tuples were dead for a moment in the last change.
        self.last_dead = 0
        self._start()

    def _decoder(self, name: str) -> Decoder:
        types = [column.type for column in self._relations[name].columns]
        value = self._compiled.values.get(name)
        return Decoder(self._interner, types, self._compiled.positions[name], None if value is None else value.position)

    def _start(self) -> None:
        self._interner = deepcopy(self._constants)
        self._decoders = {name: self._decoder(name) for name in self._own}
        self._computer = Computer(self._functions, self._rules, self._compiled.memory, self._interner)
        self._forest: Forest = new_forest(self._rules, self._compiled.links, costs=bool(self._compiled.values))
        self._queue = np.empty(len(self._forest.nodes), np.int32)
        self._dead = np.empty_like(self._queue)
        values, best = self._compiled.values, self._forest.best
        self._entrances = {
            name: Entrance(self._interner, self._relations[name], values.get(name), best[:1])
            for name in self._compiled.inputs
        }

    @abstractmethod
    def _change(self, gone: Mapping[str, Cells], come: Mapping[str, Cells]) -> Mapping[str, Delta]:
        """Take rows out that are read from below, put others in, and say what follows."""

    # The maintainer's part

    def build(self) -> Mapping[str, Delta]:
        try:
            return self._grown()
        except EvaluationError:
            return self._succeed().build()

    def apply(self, deltas: Mapping[str, Delta]) -> Mapping[str, Delta]:
        if self._successor is None:
            try:
                found = self._follow(deltas)
            except EvaluationError:
                # Walks may compute what is of no use in the end; the general strategy knows what is an error.
                found = None
            if found is not None and not self._is_overtaxed:
                return found
            successor = self._succeed()
            successor.build()
            successor.settle()
            return successor.apply(deltas)
        return self._successor.apply(deltas)

    def settle(self) -> None:
        if self._succeeded:
            self._succeeded = False
            self._start()
        if self._successor is not None:
            self._successor.settle()
            return
        counters = self._forest.counters
        if counters[LOST] > _WORTH_PACKING and 2 * counters[LOST] > counters[DERIVATIONS]:
            self._forest = pack(self._forest, self._rules, self._work)

    def undo(self) -> None:
        if self._succeeded:
            self._succeeded, self._successor = False, None
        if self._successor is not None:
            self._successor.undo()
            return
        # Rare, and the stores still hold what was there before: growing it anew is the surest way back.
        self._start()
        self._grown()

    def counts(self, relation: str) -> Mapping[Row, int]:
        return _Counts(self, relation) if self._successor is None else self._successor.counts(relation)

    @property
    def _is_overtaxed(self) -> bool:
        """Whether the walks may have gone wrong, so that what they found does not count."""
        return False

    def _succeed(self) -> Maintainer:
        self._successor, self._succeeded = self._general(), True
        return self._successor

    def _grown(self) -> Mapping[str, Delta]:
        rows = {name: [r for r, n in self._stores[name].counts.items() if n > 0] for name in self._compiled.inputs}
        found = self._change({}, {name: self._entrances[name].cells(of_name) for name, of_name in rows.items()})
        self._needed = self._computer.count
        return found

    def _follow(self, deltas: Mapping[str, Delta]) -> Mapping[str, Delta]:
        if self._computer.count > 2 * self._needed + _WORTH_FORGETTING:
            # Values stay where they are when nobody needs them any more, until there are as many as those in use.
            self._start()
            self._grown()
        come: dict[str, Cells] = {}
        gone: dict[str, Cells] = {}
        for name in self._compiled.inputs:
            if name in deltas:
                come[name], gone[name] = self._entrances[name].changed(deltas[name], self._stores[name].counts)
        return self._change(gone, come)

    # For the kinds of forests

    def _put(self, cells: Mapping[str, Cells], walk: Array) -> None:
        """Rows of inputs come alive, and wait in the queue."""
        self._rules = self._rules._replace(numbers=self._interner.numbers())
        for name, (ids, costs) in cells.items():
            relation, done = self._ids[name], 0
            while done < len(ids):
                done = growing.put(self._forest, self._rules, relation, ids, costs, done, self._queue, walk)
                if done < len(ids):
                    self._more_room()

    def _provide(self, walk: Array, *, finished: bool) -> bool:
        """After a walk: compute what it missed, and tell whether that gives it more to do."""
        if self._work[OVERFLOWN, 0]:
            self._work[OVERFLOWN, 0] = 0
            raise EvaluationError("a sum does not fit INT any more")
        count = int(walk[growing.MISSED])
        if not count:
            return False
        last = self._component.rules[self._rules.plans[self._computer.missing[count - 1, PLAN], PLAN_RULE]]
        if finished:
            # Whatever follows from the values so far is there: one round more, for those who count rounds.
            self._waves += 1
            if self._waves > self._brake.depth:
                raise self._brake.too_deep(self._newest(last.head.relation), last)
        for relation, rows in self._computer.answer(walk):
            done = 0
            while done < len(rows):
                done = put_values(self._forest, self._rules, relation, rows, done, self._work)
                if done < len(rows):
                    self._more_room()
        self._rules = self._rules._replace(numbers=self._interner.numbers())
        if self._forest.counters[NODES] > self._limits.rows:
            self._brake.check_size(len(self.alive(last.head.relation)), last)
        return True

    def _newest(self, relation: str) -> Row:
        return self._decoders[relation].rows(*self._cells(relation, self.alive(relation)[-1:]))[0]

    def _roots(self, rows: Mapping[str, Cells]) -> Array:
        """The nodes of rows that are there."""
        found = (self._nodes(name, cells.ids) for name, cells in rows.items())
        return np.concatenate([NO_NODES, *found])

    def _nodes(self, relation: str, interned: Array) -> Array:
        """The node of each row, NOTHING where there is none."""
        found = np.empty(len(interned), np.int32)
        find_all(self._forest.nodes, self._forest.slots, self._ids[relation], interned, found)
        return found

    def _more_room(self) -> None:
        self._forest = more_room(self._forest, self._rules, self._work)
        while len(self._queue) < len(self._forest.nodes):
            self._queue, self._dead = longer(self._queue), longer(self._dead)

    # Reading

    def node(self, relation: str, row: Row) -> int | None:
        """The node of a row that is there."""
        types = [column.type for column in self._relations[relation].columns]
        if len(row) != len(types):
            return None
        ids = [self._interner.known(row[p], types[p]) for p in self._compiled.positions[relation]]
        if None in ids:
            return None
        node = self._nodes(relation, np.array([ids], np.int32))[0]
        if node == NOTHING or not self._forest.nodes[node, STATUS] & ALIVE:
            return None
        value = self._compiled.values.get(relation)
        same = value is None or value.decode(self._forest.best[node : node + 1]) == [row[value.position]]
        return int(node) if same else None

    def alive(self, relation: str) -> Array:
        """The nodes of all rows of a relation."""
        nodes = self._forest.nodes[: self._forest.counters[NODES]]
        return np.flatnonzero((nodes[:, RELATION] == self._ids[relation]) & (nodes[:, STATUS] & ALIVE != 0))

    def rows(self, relation: str) -> list[Row]:
        return self._decoders[relation].rows(*self._cells(relation, self.alive(relation)))

    def _cells(self, relation: str, found: Array) -> tuple[Array, list[Value]]:
        """The interned columns of nodes, and their costs decoded."""
        value = self._compiled.values.get(relation)
        costs = [] if value is None else value.decode(self._forest.best[found])
        columns = np.empty((len(found), len(self._compiled.positions[relation])), np.int32)
        for column in range(columns.shape[1]):
            # One after the other: numpy takes far longer for several at once.
            columns[:, column] = self._forest.nodes[found, COLUMNS + column]
        return columns, costs

    @property
    def state_bytes(self) -> int:
        """What the forest takes up, without room that is not used yet."""
        forest = self._forest
        per_node = forest.nodes.itemsize * forest.nodes.shape[1] + (forest.best.itemsize if len(forest.best) else 0)
        per_derivation = forest.derivations.itemsize * forest.derivations.shape[1]
        used = int(forest.counters[NODES]) * per_node + int(forest.counters[DERIVATIONS]) * per_derivation
        return int(used + forest.slots.nbytes + forest.index_slots.nbytes)


class _Counts(Mapping[Row, int]):
    """A relation of the forest, read in place."""

    def __init__(self, forest: ForestMaintainer, relation: str) -> None:
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

    def items(self) -> ItemsView[Row, int]:
        # All at once: looking up each row that was just read would take far longer.
        return dict.fromkeys(self._forest.rows(self._relation), 1).items()
