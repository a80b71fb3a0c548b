"""What all forests have in common: rows in, room, packing, and reading. How they change is left to two kinds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import partial

import numpy as np

from whence.analysis.components import Component
from whence.engines.evidence import Dependents, Rows
from whence.engines.local.forest.compiling import Compiled
from whence.engines.local.forest.computing import Computer
from whence.engines.local.forest.counts import ForestCounts
from whence.engines.local.forest.entering import Entrance
from whence.engines.local.forest.interning import Interner
from whence.engines.local.forest.layout import (
    ALIVE,
    COLUMNS,
    DERIVATIONS,
    ENTERING,
    LOST,
    NODES,
    NOTHING,
    OVERFLOWN,
    PLAN_RULE,
    RELATION,
    STATUS,
    WIDEST,
    Array,
    Forest,
    Rules,
)
from whence.engines.local.forest.packing import pack
from whence.engines.local.forest.reaching import reached
from whence.engines.local.forest.reading import Reader
from whence.engines.local.forest.room import longer, more_room, new_forest
from whence.engines.local.forest.rows import Change, Decoder, ForestDelta, ForestRows
from whence.engines.local.forest.tuples import find_one
from whence.engines.local.forest.walking import MISSED, NEEDS_ROOM, OVERFLOWS, PLAN, WAITS
from whence.engines.local.maintainer import Maintainer
from whence.engines.local.proving import ProofForest
from whence.engines.local.recursive.endless import Brake
from whence.engines.local.store import Store
from whence.engines.reference.fixpoint import Limits
from whence.errors import ConvergenceError, EvaluationError
from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta
from whence.patience import check

# A forest is packed when most of its derivations are lost, but not for a few.
_WORTH_PACKING = 1 << 16
# Where so many rows enter at once and are only joined, those that are looked at together should lie together.
_WORTH_SORTING = 1 << 12
# Computed values that nobody needs are forgotten when they are most of all, but not for a few.
_WORTH_FORGETTING = 1 << 18

NO_NODES = np.empty(0, np.int32)


class ForestMaintainer(ProofForest):
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
        self._width = ENTERING + int(compiled.rules.shape[WIDEST])
        self._work = np.zeros((OVERFLOWN + 1, compiled.memory), np.int32)
        self._functions = {self._ids[function.relation.name]: function for function in compiled.functions}
        # How many values were computed when the forest was last grown from nothing.
        self._needed = 0
        # How many tuples were dead for a moment in the last change.
        self.last_dead = 0
        self._start()

    def _decoder(self, name: str) -> Decoder:
        types = [column.type for column in self._relations[name].columns]
        return Decoder(self._interner, types, self._compiled.positions[name], self._compiled.values.get(name))

    def _start(self) -> None:
        self._interner = deepcopy(self._constants)
        self._decoders = {name: self._decoder(name) for name in self._own}
        self._computer = Computer(self._functions, self._rules, self._compiled.memory, self._interner)
        self._forest: Forest = new_forest(self._rules, self._compiled.links, costs=bool(self._compiled.values))
        self._queue = np.empty(len(self._forest.nodes), np.int32)
        self._dead = np.empty_like(self._queue)
        positions, values = self._compiled.positions, self._compiled.values
        self._entrances = {
            name: Entrance(self._ids[name], self._interner, self._relations[name], positions[name], values.get(name))
            for name in self._compiled.inputs
        }

    @abstractmethod
    def _change(self, rows: Array, costs: Array) -> Mapping[str, Delta]:
        """Let rows enter that are read from below, those that go and those that come, and say what follows."""

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

    def retrace(self, deltas: Mapping[str, Delta]) -> None:
        if self._successor is None:
            try:
                self._entered(deltas, is_back=True)
            except (EvaluationError, ConvergenceError):
                self.undo()
            else:
                (self.undo if self._is_overtaxed else self.settle)()
        else:
            self.undo()

    def counts(self, relation: str) -> Mapping[Row, int]:
        return ForestCounts(self, relation) if self._successor is None else self._successor.counts(relation)

    def everything(self, relation: str) -> Delta:
        if self._successor is not None:
            return self._successor.counts(relation)
        return ForestDelta(self._decoders[relation], self._present(relation, self.alive(relation)))

    @property
    def _is_overtaxed(self) -> bool:
        """Whether the walks may have gone wrong, so that what they found does not count."""
        return False

    def _succeed(self) -> Maintainer:
        self._successor, self._succeeded = self._general(), True
        return self._successor

    def _grown(self) -> Mapping[str, Delta]:
        found = {name: [r for r, n in self._stores[name].contents().items() if n > 0] for name in self._entrances}
        rows, costs = self._room_to_enter(sum(map(len, found.values())))
        done = 0
        for name, of_name in found.items():
            done = self._entrances[name].enter_all(of_name, rows, costs, done)
        changes = self._enter(rows, costs)
        self._needed = self._computer.count
        return changes

    def _follow(self, deltas: Mapping[str, Delta]) -> Mapping[str, Delta]:
        if self._computer.count > 2 * self._needed + _WORTH_FORGETTING:
            # Values stay where they are when nobody needs them any more, until there are as many as those in use.
            self._start()
            self._grown()
        return self._entered(deltas)

    def _entered(self, deltas: Mapping[str, Delta], *, is_back: bool = False) -> Mapping[str, Delta]:
        """What follows from changes of what the stores hold; or from taking them back, after they came in."""
        rows, costs = self._room_to_enter(sum(map(len, deltas.values())))
        done = 0
        for name, delta in deltas.items():
            done = self._entrances[name].enter(delta, self._stores[name], rows, costs, done, is_back=is_back)
        if done < len(rows):
            rows, costs = rows[:done], costs[:done]
        return self._enter(rows, costs)

    def _room_to_enter(self, count: int) -> tuple[Array, Array]:
        """For so many rows, and their costs where there are costs."""
        best = self._forest.best
        return np.empty((count, self._width), np.int32), np.empty(count, best.dtype) if len(best) else best

    def _enter(self, rows: Array, costs: Array) -> Mapping[str, Delta]:
        self.last_dead = self._waves = 0
        self._follow_numbers()
        if len(rows) >= _WORTH_SORTING and not self._component.recursive:
            first, second = rows[:, ENTERING].astype(np.int64), rows[:, min(ENTERING + 1, rows.shape[1] - 1)]
            order = np.argsort(first << 32 | second)
            rows, costs = rows[order], costs[order] if len(costs) else costs
        return self._change(rows, costs)

    # For the kinds of forests

    def _go_on(self, end: int, walk: Array) -> None:
        """Give a walk what it stopped for, so that it can go on. Raises where there is no going on."""
        check()
        if end == NEEDS_ROOM:
            self._more_room()
        elif end == OVERFLOWS:
            raise EvaluationError("a sum does not fit INT any more")
        else:
            self._provide(walk, is_done=end == WAITS)

    def _provide(self, walk: Array, *, is_done: bool) -> None:
        """Compute what a walk missed; `is_done` if there was nothing else to do."""
        last = int(self._computer.missing[walk[MISSED] - 1, PLAN])
        if is_done:
            # Whatever follows from the values so far is there: one round more, for those who count rounds.
            self._waves += 1
            if self._waves > self._brake.depth:
                rule = self._rule(last)
                raise self._brake.too_deep(self._newest(rule.head.relation), rule)
        self._computer.answer(walk)
        self._follow_numbers()
        if self._forest.counters[NODES] > self._limits.rows:
            rule = self._rule(last)
            self._brake.check_size(len(self.alive(rule.head.relation)), rule)

    def _rule(self, plan: int) -> Rule:
        return self._component.rules[int(self._rules.plans[plan, PLAN_RULE])]

    def _follow_numbers(self) -> None:
        """New values may have come with a new array."""
        if self._rules.numbers is not self._interner.numbers:
            self._rules = self._rules._replace(numbers=self._interner.numbers)

    def _newest(self, relation: str) -> Row:
        return self._decoders[relation].rows(self._present(relation, self.alive(relation)[-1:]))[0]

    def _more_room(self) -> None:
        self._forest = more_room(self._forest, self._rules, self._work)
        while len(self._queue) < len(self._forest.nodes):
            self._queue, self._dead = longer(self._queue), longer(self._dead)

    # Reading

    def node(self, relation: str, row: Row) -> int | None:
        types = [column.type for column in self._relations[relation].columns]
        if len(row) != len(types):
            return None
        ids = [self._interner.known(row[p], types[p]) for p in self._compiled.positions[relation]]
        if None in ids:
            return None
        node = find_one(self._forest.nodes, self._forest.slots, self._ids[relation], np.array([ids], np.int32))
        if node == NOTHING or not self._forest.nodes[node, STATUS] & ALIVE:
            return None
        value = self._compiled.values.get(relation)
        same = value is None or value.decode(self._forest.best[node : node + 1]) == [row[value.position]]
        return node if same else None

    def alive(self, relation: str) -> Array:
        """The nodes of all rows of a relation."""
        nodes = self._forest.nodes[: self._forest.counters[NODES]]
        return np.flatnonzero((nodes[:, RELATION] == self._ids[relation]) & (nodes[:, STATUS] & ALIVE != 0))

    def reader(self) -> Reader:
        return Reader(self._forest, self._rules, self._compiled, self._interner, self._relations)

    def dependents(self, below: Mapping[str, Rows]) -> Dependents:
        rows, costs = self._room_to_enter(sum(map(len, below.values())))
        done = 0
        for name, found in below.items():
            done = self._entrances[name].enter_found(found, rows, costs, done)
        nodes, is_complete = reached(self._forest, self._rules, rows, self._compiled.memory)
        by_name = {self._own[0]: nodes}
        if len(self._own) > 1:
            relations = self._forest.nodes[nodes, RELATION]
            by_name = {name: nodes[relations == self._ids[name]] for name in self._own}
        return Dependents(
            {
                name: ForestRows(self._decoders[name], of_name, partial(self._present, name))
                for name, of_name in by_name.items()
            },
            is_complete,
        )

    @property
    def successor(self) -> Maintainer | None:
        return self._successor

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self._component.rules

    def rows(self, relation: str) -> list[Row]:
        return self._decoders[relation].rows(self._present(relation, self.alive(relation)))

    def _present(self, relation: str, found: Array) -> Change:
        """The rows of nodes, as if they came now."""
        ids, costs = self._room_for(relation, len(found))
        for column in range(ids.shape[1]):
            # One after the other: numpy takes far longer for several at once.
            ids[:, column] = self._forest.nodes[found, COLUMNS + column]
        costs[:] = self._forest.best[found[: len(costs)]]
        return Change(ids, costs, len(found))

    def _room_for(self, relation: str, count: int) -> tuple[Array, Array]:
        """For so many rows of one of the component's relations, and their costs where it has costs."""
        columns = len(self._compiled.positions[relation])
        costs = np.empty(count if relation in self._compiled.values else 0, self._forest.best.dtype)
        return np.empty((count, columns), np.int32), costs

    def _delta(self, relation: str, ids: Array, costs: Array, come: int, gone: int) -> Delta:
        """The first rows, and no room beyond them, which would be kept as long as the change is."""
        if come + gone < len(ids):
            ids, costs = ids[: come + gone].copy(), costs[: come + gone].copy()
        return ForestDelta(self._decoders[relation], Change(ids, costs, come))

    @property
    def state_bytes(self) -> int:
        """What the forest takes up, without room that is not used yet."""
        forest = self._forest
        nodes, derivations, *_ = forest.counters.tolist()
        per_node = forest.nodes.strides[0] + (forest.best.itemsize if len(forest.best) else 0)
        used: int = nodes * per_node + derivations * forest.derivations.strides[0]
        return used + forest.slots.nbytes + forest.index_slots.nbytes
