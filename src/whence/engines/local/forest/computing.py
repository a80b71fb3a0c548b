"""Values of functions, computed in Python when a walk has missed them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from whence.engines.local.forest.flattening import Function
from whence.engines.local.forest.growing import ANSWERED, MISSED, RESUMED, has_room_in_indexes
from whence.engines.local.forest.interning import Interner
from whence.engines.local.forest.kernels import kernel
from whence.engines.local.forest.layout import (
    ALIVE,
    ARITY,
    NODES,
    PLAN_STEP,
    STATUS,
    STEP_FUNCTION,
    STEP_TERMS,
    WIDEST,
    Array,
    Forest,
    Rules,
)
from whence.engines.local.forest.matching import DEPTH, PLAN
from whence.engines.local.forest.missing import STATE
from whence.engines.local.forest.tuples import find_or_add, let_find

# How many matches wait for values before a walk stops for them.
AT_ONCE = 1 << 14


class Computer:
    """The functions of a component, by the number of their relation, and the matches that wait for their values."""

    def __init__(self, functions: Mapping[int, Function], rules: Rules, memory: int, interner: Interner) -> None:
        self._functions = functions
        self._steps, self._plans, self._columns = rules.steps, rules.plans, int(rules.shape[WIDEST])
        self._interner = interner
        self.missing: Array = np.empty((AT_ONCE if functions else 0, STATE + 2 * memory), np.int32)
        self.answered: Array = self.missing[:0]
        # How many values it has computed.
        self.count = 0

    def answer(self, walk: Array) -> Iterator[tuple[int, Array]]:
        """The rows of functions, interned, that the walk has missed; it can go on then. Raises EvaluationError."""
        waiting = self.missing[: walk[MISSED]]
        self.answered = np.concatenate([self.answered[walk[RESUMED] : walk[ANSWERED]], waiting])
        walk[MISSED], walk[ANSWERED], walk[RESUMED] = 0, len(self.answered), 0
        steps = self._plans[waiting[:, PLAN], PLAN_STEP] + waiting[:, DEPTH]
        for step in dict.fromkeys(steps.tolist()):
            relation = int(self._steps[step, STEP_FUNCTION])
            function = self._functions[relation]
            keys = STEP_TERMS + 2 * self._columns + 1
            registers = STATE + self._steps[step, keys : keys + 2 * (function.relation.arity - 1) : 2]
            arguments = waiting[steps == step][:, registers].tolist()
            yield relation, self._computed(function, [*dict.fromkeys(map(tuple, arguments))])

    def _computed(self, function: Function, arguments: Sequence[tuple[int, ...]]) -> Array:
        columns = function.relation.columns
        names = [column.name for column in columns[:-1]]
        self.count += len(arguments)
        ids = np.array(arguments, np.int32)
        given = zip(*(self._interner.decode(ids[:, at]) for at in range(len(names))), strict=True)
        values = [(function.compute(dict(zip(names, each, strict=True))),) for each in given]
        return np.hstack([ids, self._interner.rows(values, [columns[-1].type], [0])])


@kernel
def put_values(forest: Forest, rules: Rules, relation: int, rows: Array, start: int, work: Array) -> int:
    """Let joins find rows of a function, from row `start` on; returns how many rows are done.

    Fewer than all means that room is needed first.
    """
    nodes, slots, counters = forest.nodes, forest.slots, forest.counters
    arity = rules.relations[relation, ARITY]
    for at in range(start, len(rows)):
        count = counters[NODES]
        if count == len(nodes) or 2 * count >= len(slots) or not has_room_in_indexes(forest.index_state):
            return at
        node = find_or_add(nodes, slots, counters, relation, rows, at, arity)
        if not nodes[node, STATUS] & ALIVE:
            nodes[node, STATUS] |= ALIVE
            let_find(nodes, forest.index_slots, forest.index_state, rules.relations, rules.indexes, node, work)
    return len(rows)
