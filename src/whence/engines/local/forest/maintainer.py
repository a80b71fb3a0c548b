"""What all forests have in common: rows in, room, packing, and reading. How they change is left to two kinds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sized
from copy import deepcopy
from functools import partial
from hashlib import sha256
from typing import Any, TypeAlias

import numpy as np

from whence.analysis.components import Component
from whence.analysis.limits import RecursionLimits
from whence.deadline import check
from whence.engines.engine import Dependents, Rows
from whence.engines.local.evidence import ProofForest
from whence.engines.local.forest import layout
from whence.engines.local.forest.absences import turn_absences
from whence.engines.local.forest.flat_rules import ALWAYS
from whence.engines.local.forest.function_values import Computer
from whence.engines.local.forest.inputs import Entrance, Vocabulary
from whence.engines.local.forest.layout import Array, ForestArrays, RuleTables
from whence.engines.local.forest.program import Compiled
from whence.engines.local.forest.reach import reached
from whence.engines.local.forest.read import ForestReader
from whence.engines.local.forest.rebuild import MostIsDeadError, difference, strike
from whence.engines.local.forest.room import (
    loaded,
    longer,
    more_room,
    new_forest,
    pack,
    restore_live,
    room_for_derivations,
)
from whence.engines.local.forest.rows import Decoder, ForestChange, ForestCounts, ForestDelta, ForestRows
from whence.engines.local.forest.tuples import find_one
from whence.engines.local.forest.values import Interner
from whence.errors import ConvergenceError, EvaluationError
from whence.incremental.maintainer import Maintainer
from whence.incremental.recursive.convergence import ConvergenceLimit
from whence.incremental.store import Store, StoreStatistics
from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.model.types import Row, Type
from whence.model.updates import Delta
from whence.planning.statistics import UNCOUNTED, RecursionStatistics, Statistics, changes_left, is_outdated

# The rules for relations of certain sizes, and what they hold themselves. Only the order of joins depends on sizes.
Compiler: TypeAlias = "Callable[[Statistics], tuple[Compiled, Interner]]"

# A forest is packed when most of its derivations are lost or most of its nodes gone, but not for a few: that takes as
# long as losing so many.
_WORTH_PACKING = 1 << 12
# Where so many rows enter at once and are only joined, those that are looked at together should lie together.
_WORTH_SORTING = 1 << 12
# Where so many rows go, it may be better to grow the forest again: if as large a part of all that are read goes as the
# first, and a larger part of the tuples loses its live derivation by that than the second.
_WORTH_REBUILDING = 1 << 6
_PARTS_THAT_GO = ((0.4, 0.1), (0.2, 0.5))
_MOST = 2**62
# Computed values that are no longer needed are forgotten when they are most of all, but not for a few.
_WORTH_FORGETTING = 1 << 18

NO_NODES = np.empty(0, np.int32)


class ForestMaintainer(ProofForest):
    """A component whose rules the kernels know."""

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        stores: Mapping[str, Store],
        compiler: Compiler,
        general: Callable[[], Maintainer],
        limits: RecursionLimits,
    ) -> None:
        """`general` makes the maintainer that takes over where the kernels cannot go on."""
        self._component = component
        self._general = general
        self.successor: Maintainer | None = None
        self.rules = component.rules
        # Whether it is the commit under way in which it took over.
        self._succeeded = False
        self._limits = limits
        self._limit = ConvergenceLimit(component, limits)
        self._waves = 0
        self._relations = relations
        self._own = tuple(component.relations)
        self._stores = stores
        self._compiler = compiler
        # The sizes of what it reads, as joins are ordered for them; not before it is built.
        self._planned: dict[str, int] | None = None
        # How many rows can change until sizes have to be looked at again.
        self._changes_left = -1
        self._take(*compiler(UNCOUNTED))
        # How many values were computed when the forest was last grown from scratch.
        self._needed = 0
        # And how many when the change under way began.
        self._computed = 0
        # How many tuples were dead for a moment in the last change.
        self.last_dead = 0
        # How many nodes are new for keys that rules negate and rows have, in the change under way.
        self._held = 0
        self._most_dead = _MOST
        self._start()

    def _take(self, compiled: Compiled, constants: Interner) -> None:
        """`constants` has what the rules themselves hold, and nothing else."""
        self._constants = constants
        self._compiled = compiled
        self._has_choice = compiled.has_choice
        self._rules: RuleTables = compiled.rules
        self._ids = {name: number for number, name in enumerate(compiled.names)}
        self._width = layout.ENTERING + int(compiled.rules.shape[layout.WIDEST])
        self._work = np.zeros((layout.OVERFLOWN + 1, compiled.memory), np.int32)
        self._functions = {self._ids[function.relation.name]: function for function in compiled.functions}

    def _decoder(self, name: str) -> Decoder:
        types = [column.type for column in self._relations[name].columns]
        return Decoder(self._interner, types, self._compiled.positions[name], self._compiled.values.get(name))

    def _start(self) -> None:
        self._interner = deepcopy(self._constants)
        self._decoders = {name: self._decoder(name) for name in self._own}
        self._computer = self._new_computer()
        self._forest = self._new_forest()
        self._queue = np.empty(len(self._forest.nodes), np.int32)
        self._dead = np.empty((len(self._queue), layout.GONE_NODE + 1), np.int32)
        # Keys that were there and are absent again, since the forest was packed: most have nodes that nothing rests on.
        self._came_back = 0
        # How many nodes there were before the last change, and how many of such keys changes have left that were taken
        # back.
        self._nodes_before = self._left_behind = 0
        # Nodes whose live derivation may have changed with the last change, and what that was before it.
        self._lived_by: Array = self._dead[:0, : layout.LIVE_BEFORE + 1]
        positions, values = self._compiled.positions, self._compiled.values
        vocabularies: dict[Type, Vocabulary] = {}
        self._entrances = {
            name: Entrance(
                self._ids[name], self._interner, vocabularies, self._relations[name], positions[name], values.get(name)
            )
            for name in self._compiled.inputs
        }
        # All ways in for a relation below: its rows may be read, and negated by some of their columns.
        self._ways_in = {
            name: [self._entrances[name]] if name in self._entrances else [] for name in self._compiled.reads
        }
        for absence in self._compiled.absences:
            number, relation = self._ids[absence.relation.name], self._relations[absence.negated]
            way_in = Entrance(number, self._interner, vocabularies, relation, absence.positions, None)
            self._ways_in[absence.negated].append(way_in)

    def _new_computer(self) -> Computer:
        return Computer(self._functions, self._compiled.values, self._rules, self._compiled.memory, self._interner)

    def _new_forest(self) -> ForestArrays:
        return new_forest(self._rules, self._compiled.links, costs=bool(self._compiled.values))

    @abstractmethod
    def _change(self, rows: Array, costs: Array) -> Mapping[str, Delta]:
        """Let rows enter that are read from below, those that go and those that come, and say what follows."""

    # The maintainer's part

    def build(self) -> Mapping[str, Delta]:
        try:
            self._replan({})
            return self._grown()
        except EvaluationError:
            return self._succeed().build()

    def apply(self, deltas: Mapping[str, Delta]) -> Mapping[str, Delta]:
        if self.successor is None:
            self._nodes_before = self._nodes
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
        return self.successor.apply(deltas)

    def settle(self) -> None:
        if self._succeeded:
            self._succeeded = False
            self._start()
        if self.successor is not None:
            self.successor.settle()
            return
        counters = self._forest.counters
        is_lost = _are_most(counters[layout.LOST], counters[layout.DERIVATIONS])
        if is_lost or _are_most(counters[layout.GONE] + self._came_back, counters[layout.NODES]):
            self._forest = pack(self._forest, self._rules, self._work)
            self._came_back = self._left_behind = 0

    def undo(self) -> None:
        if self._succeeded:
            self._succeeded, self.successor = False, None
        if self.successor is not None:
            self.successor.undo()
            return
        # Rare, and the stores still hold what was there before: growing it again is the surest way back.
        self._start()
        self._grown()

    def retrace(self, deltas: Mapping[str, Delta]) -> None:
        if self.has_recomputed:
            self.undo()
        elif self.successor is None:
            try:
                before = self._lived_by.copy()
                self._entered(deltas, is_back=True)
                self._live_again(before)
            except (EvaluationError, ConvergenceError):
                self.undo()
            else:
                self._left_behind += self._nodes - self._nodes_before
                (self.undo if self._is_overtaxed else self.settle)()
        else:
            self.undo()

    @property
    def _nodes(self) -> int:
        """How many are not gone."""
        return int(self._forest.counters[layout.NODES] - self._forest.counters[layout.GONE])

    def _live_again(self, before: Array) -> None:
        """Let tuples live by the derivations that they had before a change that was taken back."""
        if self.keeps_proofs:
            self._forest = room_for_derivations(self._forest, len(before))
            restore_live(self._forest, self._rules.heads, int(self._rules.shape[layout.LONGEST]), before, self._work)

    def saved(self) -> Mapping[str, Any] | None:
        if self.successor is not None:
            return None
        forest, counters = self._forest, self._forest.counters
        nodes, derivations = int(counters[layout.NODES]), int(counters[layout.DERIVATIONS])
        arrays = forest._replace(
            nodes=forest.nodes[:nodes], best=forest.best[:nodes], derivations=forest.derivations[:derivations]
        )
        computed = [self._computer.count, self._needed]
        return {"rules": self._digest(), "forest": arrays, "computed": computed, "values": self._interner.saved()}

    def restore(self, saved: Mapping[str, Any]) -> bool:
        # Joins are ordered as for building, and only a forest with the same indexes can be followed by them.
        self._replan({})
        if saved["rules"] != self._digest():
            return False
        self._interner.restore(saved["values"])
        self._forest = loaded(self._forest, saved["forest"])
        self._computer.count, self._needed = saved["computed"]
        self._room_beside()
        self._follow_numbers()
        return True

    def _digest(self) -> str:
        """Of the rules as kernels have them."""
        digest = sha256()
        for table in self._rules._replace(numbers=NO_NODES):
            digest.update(f"{table.shape} {table.dtype}".encode() + table.tobytes())
        return digest.hexdigest()

    def counts(self, relation: str) -> Mapping[Row, int]:
        return ForestCounts(self, relation) if self.successor is None else self.successor.counts(relation)

    def everything(self, relation: str) -> Delta:
        if self.successor is not None:
            return self.successor.counts(relation)
        return ForestDelta(self._decoders[relation], self._present(relation, self.alive(relation)))

    @property
    def _is_overtaxed(self) -> bool:
        """Whether the walks may have gone wrong, so that what they found does not count."""
        return False

    def _succeed(self) -> Maintainer:
        self.successor, self._succeeded = self._general(), True
        return self.successor

    def _grown(self) -> Mapping[str, Delta]:
        sizes = {name: self._stores[name].size for name in self._ways_in}
        rows, costs = self._room_to_enter(sizes, also=ALWAYS.name in self._ids)
        done = self._enter_stored(rows, costs)
        changes = self._enter(rows[:done], costs[:done])
        self._needed = self._computer.count
        return changes

    def _enter_stored(self, rows: Array, costs: Array) -> int:
        """Write down all that is stored below, as if it came; returns the row after."""
        done = 0
        if ALWAYS.name in self._ids:
            rows[0, layout.ENTERING_RELATION], rows[0, layout.COMES] = self._ids[ALWAYS.name], 1
            costs[:1], done = 0, 1
        for name, ways_in in self._ways_in.items():
            for way_in in ways_in:
                done = way_in.enter_stored(self._stores[name], rows, costs, done)
        return done

    def _follow(self, deltas: Mapping[str, Delta]) -> Mapping[str, Delta]:
        # Values that are no longer needed stay where they are, until there are as many as those in use.
        if self._replan(deltas) or self._computer.count > 2 * self._needed + _WORTH_FORGETTING:
            self._start()
            self._grown()
        self.has_recomputed = False
        try:
            return self._entered(deltas, may_stop=True)
        except MostIsDeadError:
            return self._rebuilt(deltas)

    def _rebuilt(self, deltas: Mapping[str, Delta]) -> Mapping[str, Delta]:
        """What follows from changes, after the forest was grown again over what is there with them."""
        self.has_recomputed = True
        former, self._forest = self._forest, self._new_forest()
        self._computer = self._new_computer()
        sizes = {name: self._stores[name].size + len(deltas.get(name, ())) for name in self._ways_in}
        rows, costs = self._room_to_enter(sizes, also=ALWAYS.name in self._ids)
        stored = self._enter_stored(rows, costs)
        done = self._enter_changes(deltas, rows, costs, stored, is_back=False)
        self._more_room(done)
        forest = self._forest
        parts = (forest.nodes, forest.slots, forest.counters, self._rules.relations)
        done = strike(*parts, rows[:done], costs[:done], stored)
        self._enter(rows[:done], costs[:done], held=int(forest.counters[layout.NODES]))
        self._needed = self._computer.count
        # Derivations of the former forest are nowhere any more.
        self._lived_by = self._lived_by[:0]
        found: dict[str, Delta] = {}
        for number, name in enumerate(self._own):
            before, after = (self._present(name, self._alive(each, name), each) for each in (former, self._forest))
            change = difference(before, former, after, self._forest, number)
            if len(change.ids):
                found[name] = ForestDelta(self._decoders[name], change)
        return found

    def _replan(self, deltas: Mapping[str, Delta]) -> bool:
        """Order joins again if what it reads has become far larger or smaller, or does with these changes.

        Other joins use other indexes, so that the forest has to be grown again: True if so. It has grown to a multiple
        since that was last done, so that all of that takes no longer than a fraction of the rest.
        """
        if not self._has_choice:
            return False
        self._changes_left -= sum(map(len, deltas.values()))
        if self._changes_left >= 0:
            return False
        below = StoreStatistics(self._stores, deltas)
        sizes = {name: below.size(name) for name in self._compiled.reads}
        if self._planned is not None and not is_outdated(self._planned, sizes):
            self._changes_left = changes_left(self._planned, sizes)
            return False
        self._planned, self._changes_left = sizes, changes_left(sizes, sizes)
        rows = {name: partial(self._count, name) for name in self._own}
        compiled, constants = self._compiler(RecursionStatistics(self._component.typed, below, rows))
        if compiled.joins_like(self._compiled):
            return False
        self._take(compiled, constants)
        self._start()
        return True

    def _count(self, relation: str) -> int:
        return len(self.alive(relation))

    def _entered(
        self, deltas: Mapping[str, Delta], *, is_back: bool = False, may_stop: bool = False
    ) -> Mapping[str, Delta]:
        """What follows from changes of what the stores hold; or from taking them back, after they came in.

        Where it may stop, it does if most of the forest is dead: then MostIsDeadError is raised.
        """
        rows, costs = self._room_to_enter(_lengths(deltas))
        done = self._enter_changes(deltas, rows, costs, 0, is_back=is_back)
        if done < len(rows):
            rows, costs = rows[:done], costs[:done]
        return self._enter(rows, costs, most_dead=self._most_that_may_die(rows) if may_stop else _MOST)

    def _enter_changes(
        self, deltas: Mapping[str, Delta], rows: Array, costs: Array, done: int, *, is_back: bool
    ) -> int:
        for name, delta in deltas.items():
            for way_in in self._ways_in[name]:
                done = way_in.enter(delta, self._stores[name], rows, costs, done, is_back=is_back)
        return done

    def _most_that_may_die(self, rows: Array) -> int:
        if len(rows) < _WORTH_REBUILDING:
            return _MOST
        gone = len(rows) - int(rows[:, layout.COMES].sum())
        read = sum(self._stores[name].size for name in self._ways_in)
        return next((int(part * self._nodes) for goes, part in _PARTS_THAT_GO if gone >= goes * read), _MOST)

    def _room_to_enter(self, below: Mapping[str, int], *, also: int = 0) -> tuple[Array, Array]:
        """For so many rows, wherever they come in, and so many others, and their costs where there are costs."""
        count = also + sum(number * len(self._ways_in[name]) for name, number in below.items())
        best = self._forest.best
        return np.empty((count, self._width), np.int32), np.empty(count, best.dtype) if len(best) else best

    def _enter(self, rows: Array, costs: Array, *, held: int = 0, most_dead: int = _MOST) -> Mapping[str, Delta]:
        """Let rows in. So many nodes are there that stand for nothing, and so many may be dead for a moment."""
        self._most_dead = most_dead
        self.last_dead = self._waves = 0
        self._computed = self._computer.count
        self._follow_numbers()
        self._held = held
        if self._compiled.absences:
            self._more_room(len(rows))
            forest = self._forest
            parts = (forest.nodes, forest.slots, forest.counters, self._rules.relations)
            count, new = turn_absences(*parts, rows, costs)
            self._held += new
            rows, costs = rows[:count], costs[:count]
            is_negated = self._rules.relations[rows[:, layout.ENTERING_RELATION], layout.NEGATED] != 0
            self._came_back += int(np.count_nonzero(is_negated & (rows[:, layout.COMES] != 0)))
        if len(rows) >= _WORTH_SORTING:
            self._more_room(int(rows[:, layout.COMES].sum()))
        if len(rows) >= _WORTH_SORTING and not self._component.recursive:
            first = rows[:, layout.ENTERING].astype(np.int64)
            second = rows[:, min(layout.ENTERING + 1, rows.shape[1] - 1)]
            order = np.argsort(first << 32 | second)
            rows, costs = rows[order], costs[order] if len(costs) else costs
        return self._change(rows, costs)

    # For the kinds of forests

    def _go_on(self, end: int, walk: Array) -> None:
        """Give a walk what it stopped for, so that it can go on. Raises where there is no going on."""
        check()
        if end == layout.NEEDS_ROOM:
            self._more_room()
        elif end == layout.MOST_IS_DEAD:
            raise MostIsDeadError
        elif end == layout.OVERFLOWS:
            raise EvaluationError("a sum does not fit INT any more")
        else:
            self._provide(walk, is_done=end == layout.WAITS)

    def _provide(self, walk: Array, *, is_done: bool) -> None:
        """Compute what a walk missed; `is_done` if there was nothing else to do."""
        last = int(self._computer.missing[walk[layout.MISSED] - 1, layout.PLAN])
        if is_done:
            # Whatever follows from the values so far is there: one round more, for those who count rounds.
            self._waves += 1
            if self._waves > self._limit.depth:
                rule = self._rule(last)
                raise self._limit.too_deep(self._newest(rule.head.relation), rule)
        self._computer.answer(walk)
        self._follow_numbers()
        # Each value that is computed is a match that was tried; it is a node as well, but no row.
        rows = max(0, int(self._forest.counters[layout.NODES]) - self._computer.count)
        self._limit.check_matches(self._computer.count - self._computed, rows, self._rule(last))
        if self._forest.counters[layout.NODES] > self._limits.rows:
            rule = self._rule(last)
            self._limit.check_size(len(self.alive(rule.head.relation)), rule)

    def _rule(self, plan: int) -> Rule:
        return self._component.rules[int(self._rules.plans[plan, layout.PLAN_RULE])]

    def _follow_numbers(self) -> None:
        """New values may have come with a new array."""
        if self._rules.numbers is not self._interner.numbers:
            self._rules = self._rules._replace(numbers=self._interner.numbers)

    def _newest(self, relation: str) -> Row:
        return self._decoders[relation].rows(self._present(relation, self.alive(relation)[-1:]))[0]

    def _more_room(self, rows: int = 0) -> None:
        """Wherever there is too little, and for so many more rows."""
        self._forest = more_room(self._forest, self._rules, rows)
        self._room_beside()

    def _room_beside(self) -> None:
        """For as many nodes as the forest has room for."""
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
        if node == layout.NOTHING or not self._forest.nodes[node, layout.STATUS] & layout.ALIVE:
            return None
        value = self._compiled.values.get(relation)
        same = value is None or value.decode(self._forest.best[node : node + 1]) == [row[value.position]]
        return node if same else None

    def alive(self, relation: str) -> Array:
        """The nodes of all rows of a relation."""
        return self._alive(self._forest, relation)

    def _alive(self, forest: ForestArrays, relation: str) -> Array:
        nodes = forest.nodes[: forest.counters[layout.NODES]]
        is_alive = nodes[:, layout.STATUS] & layout.ALIVE != 0
        return np.flatnonzero((nodes[:, layout.RELATION] == self._ids[relation]) & is_alive)

    def reader(self) -> ForestReader:
        return ForestReader(self._forest, self._rules, self._compiled, self._interner, self._relations)

    def dependents(self, below: Mapping[str, Rows]) -> Dependents | None:
        if self._rules.shape[layout.REQUIRES]:
            # Some derivations do not count now.
            return None
        # Rows that are negated take no part in a derivation.
        below = {name: found for name, found in below.items() if name in self._entrances}
        rows, costs = self._room_to_enter(_lengths(below))
        done = 0
        for name, found in below.items():
            done = self._entrances[name].enter_found(found, rows, costs, done)
        nodes, is_complete = reached(self._forest, self._rules, rows[:done], self._compiled.memory)
        by_name = {self._own[0]: nodes}
        if len(self._own) > 1:
            relations = self._forest.nodes[nodes, layout.RELATION]
            by_name = {name: nodes[relations == self._ids[name]] for name in self._own}
        return Dependents(
            {
                name: ForestRows(self._decoders[name], of_name, partial(self._present, name))
                for name, of_name in by_name.items()
            },
            is_complete,
        )

    def rows(self, relation: str) -> list[Row]:
        return self._decoders[relation].rows(self._present(relation, self.alive(relation)))

    def _present(self, relation: str, found: Array, forest: ForestArrays | None = None) -> ForestChange:
        """The rows of nodes, as if they came now."""
        forest = self._forest if forest is None else forest
        ids, costs = self._room_for(relation, len(found))
        for column in range(ids.shape[1]):
            # One after the other: numpy takes far longer for several at once.
            ids[:, column] = forest.nodes[found, layout.COLUMNS + column]
        costs[:] = forest.best[found[: len(costs)]]
        return ForestChange(ids, costs, len(found))

    def _room_for(self, relation: str, count: int) -> tuple[Array, Array]:
        """For so many rows of one of the component's relations, and their costs where it has costs."""
        columns = len(self._compiled.positions[relation])
        costs = np.empty(count if relation in self._compiled.values else 0, self._forest.best.dtype)
        return np.empty((count, columns), np.int32), costs

    def _delta(self, relation: str, ids: Array, costs: Array, come: int, gone: int) -> Delta:
        """The first rows, and no room beyond them, which would be kept as long as the change is."""
        if come + gone < len(ids):
            ids, costs = ids[: come + gone].copy(), costs[: come + gone].copy()
        return ForestDelta(self._decoders[relation], ForestChange(ids, costs, come))

    @property
    def state_bytes(self) -> int:
        """What the forest takes up, without room that is not used yet, or no longer."""
        forest = self._forest
        nodes = self._nodes - self._left_behind
        derivations = int(forest.counters[layout.DERIVATIONS] - forest.counters[layout.LOST])
        per_node = forest.nodes.strides[0] + (forest.best.itemsize if len(forest.best) else 0)
        used: int = nodes * per_node + derivations * forest.derivations.strides[0]
        return used + forest.slots.nbytes + forest.index_slots.nbytes


def _lengths(below: Mapping[str, Sized]) -> dict[str, int]:
    return {name: len(rows) for name, rows in below.items()}


def _are_most(some: int, of_all: int) -> bool:
    return some > _WORTH_PACKING and 2 * some > of_all
