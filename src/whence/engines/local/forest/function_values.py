"""Matches that wait for the value of a function, which is computed outside of the kernels.

A match is written down as far as it has come, so that it can go on from there: its plan, depth and trigger, then the
registers, then the matched nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from whence.engines.local.forest import layout
from whence.engines.local.forest.flat_rules import ComputedTerm
from whence.engines.local.forest.layout import Array, RuleTables
from whence.engines.local.forest.values import Interner, ValueColumn

# How many matches wait for values before a walk stops for them.
AT_ONCE = 1 << 14


class _Question(NamedTuple):
    """What a match asks where it misses a value: of which function, and where its arguments stand in the match."""

    relation: int
    function: ComputedTerm
    names: tuple[str, ...]
    places: tuple[int, ...]


class Computer:
    """The functions of a component, by the number of their relation, and the matches that wait for their values."""

    def __init__(
        self,
        functions: Mapping[int, ComputedTerm],
        values: Mapping[str, ValueColumn],
        rules: RuleTables,
        memory: int,
        interner: Interner,
    ) -> None:
        self._interner = interner
        # The functions whose values are costs.
        self._costs = values
        self._first_steps = rules.plans[:, layout.PLAN_STEP].tolist()
        self._columns = int(rules.shape[layout.WIDEST])
        keys = layout.STEP_TERMS + 2 * self._columns + 1
        self._questions: dict[int, _Question] = {}
        for step, relation in enumerate(rules.steps[:, layout.STEP_FUNCTION].tolist()):
            if relation != layout.NOTHING:
                names = functions[relation].relation.column_names[:-1]
                registers = layout.MATCH_REGISTERS + rules.steps[step, keys : keys + 2 * len(names) : 2]
                self._questions[step] = _Question(relation, functions[relation], names, tuple(registers.tolist()))
        # Matches that miss a value; matches whose values are there; and those values, as rows of their functions.
        self.missing: Array = np.empty((AT_ONCE if functions else 0, layout.MATCH_REGISTERS + 2 * memory), np.int32)
        self.answered: Array = self.missing[:0]
        self.learned: Array = np.empty((0, layout.ENTERING + self._columns), np.int32)
        # The costs that they are, where there are costs.
        self.learned_costs: Array = np.empty(0, rules.constants.dtype)
        # How many values it has computed.
        self.count = 0

    def answer(self, walk: Array) -> None:
        """Compute what the walk has missed, so that it can go on. Raises EvaluationError."""
        waiting = self.missing[: walk[layout.MISSED]]
        self.answered = np.concatenate([self.answered[walk[layout.RESUMED] : walk[layout.ANSWERED]], waiting])
        asked: dict[int, dict[tuple[int, ...], None]] = {}
        for match in waiting.tolist():
            step = self._first_steps[match[layout.PLAN]] + match[layout.DEPTH]
            arguments = tuple([match[place] for place in self._questions[step].places])
            asked.setdefault(step, {})[arguments] = None
        rows: list[tuple[int, ...]] = []
        costs: list[Array] = []
        for step, given in asked.items():
            found, of_found = self._computed(self._questions[step], list(given))
            rows += found
            costs.append(of_found)
        self.learned = np.array(rows, np.int32)
        self.learned_costs = np.concatenate(costs)
        self.count += len(rows)
        walk[layout.MISSED], walk[layout.COMPUTED], walk[layout.LEARNED] = 0, len(rows), 0
        walk[layout.ANSWERED], walk[layout.RESUMED] = len(self.answered), 0

    def _computed(self, question: _Question, given: Sequence[tuple[int, ...]]) -> tuple[list[tuple[int, ...]], Array]:
        """The rows of a function for these arguments, as they enter, and the costs that its values are, or zeros."""
        relation, function, names, _ = question
        known, compute = self._interner.values, function.compute
        values = [compute({name: known[id_] for name, id_ in zip(names, ids, strict=True)}) for ids in given]
        rest = (0,) * (self._columns - len(names) - 1)
        found = self._interner.ids(values, function.relation.columns[-1].type)
        cost, dtype = self._costs.get(function.relation.name), self.learned_costs.dtype
        costs = np.zeros(len(values), dtype) if cost is None else cost.encode(values, dtype)
        return [(relation, 1, *ids, value, *rest) for ids, value in zip(given, found, strict=True)], costs
