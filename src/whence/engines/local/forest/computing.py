"""Values of functions, computed in Python when a walk has missed them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from whence.engines.local.forest.flattening import Function
from whence.engines.local.forest.interning import Interner
from whence.engines.local.forest.layout import (
    ENTERING,
    NOTHING,
    PLAN_STEP,
    STEP_FUNCTION,
    STEP_TERMS,
    WIDEST,
    Array,
    Rules,
)
from whence.engines.local.forest.missing import STATE
from whence.engines.local.forest.walking import ANSWERED, COMPUTED, DEPTH, LEARNED, MISSED, PLAN, RESUMED

# How many matches wait for values before a walk stops for them.
AT_ONCE = 1 << 14


class _Question(NamedTuple):
    """What a match asks where it misses a value: of which function, and where its arguments stand in the match."""

    relation: int
    function: Function
    names: tuple[str, ...]
    places: tuple[int, ...]


class Computer:
    """The functions of a component, by the number of their relation, and the matches that wait for their values."""

    def __init__(self, functions: Mapping[int, Function], rules: Rules, memory: int, interner: Interner) -> None:
        self._interner = interner
        self._first_steps = rules.plans[:, PLAN_STEP].tolist()
        self._columns = int(rules.shape[WIDEST])
        keys = STEP_TERMS + 2 * self._columns + 1
        self._questions: dict[int, _Question] = {}
        for step, relation in enumerate(rules.steps[:, STEP_FUNCTION].tolist()):
            if relation != NOTHING:
                names = functions[relation].relation.column_names[:-1]
                registers = STATE + rules.steps[step, keys : keys + 2 * len(names) : 2]
                self._questions[step] = _Question(relation, functions[relation], names, tuple(registers.tolist()))
        # Matches that miss a value; matches whose values are there; and those values, as rows of their functions.
        self.missing: Array = np.empty((AT_ONCE if functions else 0, STATE + 2 * memory), np.int32)
        self.answered: Array = self.missing[:0]
        self.learned: Array = np.empty((0, ENTERING + self._columns), np.int32)
        # How many values it has computed.
        self.count = 0

    def answer(self, walk: Array) -> None:
        """Compute what the walk has missed, so that it can go on. Raises EvaluationError."""
        waiting = self.missing[: walk[MISSED]]
        self.answered = np.concatenate([self.answered[walk[RESUMED] : walk[ANSWERED]], waiting])
        asked: dict[int, dict[tuple[int, ...], None]] = {}
        for match in waiting.tolist():
            step = self._first_steps[match[PLAN]] + match[DEPTH]
            arguments = tuple([match[place] for place in self._questions[step].places])
            asked.setdefault(step, {})[arguments] = None
        rows = [row for step, given in asked.items() for row in self._computed(self._questions[step], list(given))]
        self.learned = np.array(rows, np.int32)
        self.count += len(rows)
        walk[MISSED], walk[COMPUTED], walk[LEARNED] = 0, len(rows), 0
        walk[ANSWERED], walk[RESUMED] = len(self.answered), 0

    def _computed(self, question: _Question, given: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
        """The rows of a function for these arguments, as they enter."""
        relation, function, names, _ = question
        known, compute = self._interner.values, function.compute
        values = [compute({name: known[id_] for name, id_ in zip(names, ids, strict=True)}) for ids in given]
        rest = (0,) * (self._columns - len(names) - 1)
        for ids, value in zip(given, self._interner.ids(values, function.relation.columns[-1].type), strict=True):
            yield relation, 1, *ids, value, *rest
