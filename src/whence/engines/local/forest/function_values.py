"""Matches that wait for the value of a function, which is computed outside of the kernels.

A match is written down as far as it has come, so that it can go on from there: its plan, depth and trigger, then the
registers, then the matched nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    places: list[int]


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
        self._first_steps = rules.plans[:, layout.PLAN_STEP]
        self._columns = int(rules.shape[layout.WIDEST])
        keys = layout.STEP_TERMS + 2 * self._columns + 1
        self._questions: dict[int, _Question] = {}
        for step, relation in enumerate(rules.steps[:, layout.STEP_FUNCTION].tolist()):
            if relation != layout.NOTHING:
                arguments = functions[relation].relation.arity - 1
                registers = layout.MATCH_REGISTERS + rules.steps[step, keys : keys + 2 * arguments : 2]
                self._questions[step] = _Question(relation, functions[relation], registers.tolist())
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
        steps = self._first_steps[waiting[:, layout.PLAN]] + waiting[:, layout.DEPTH]
        rows: list[Array] = []
        costs: list[Array] = []
        for step in set(steps.tolist()):
            question = self._questions[step]
            found, of_found = self._computed(question, _different(waiting[steps == step][:, question.places]))
            rows.append(found)
            costs.append(of_found)
        self.learned, self.learned_costs = np.concatenate(rows), np.concatenate(costs)
        self.count += len(self.learned)
        walk[layout.MISSED], walk[layout.COMPUTED], walk[layout.LEARNED] = 0, len(self.learned), 0
        walk[layout.ANSWERED], walk[layout.RESUMED] = len(self.answered), 0

    def _computed(self, question: _Question, given: Array) -> tuple[Array, Array]:
        """The rows of a function for these arguments, as they enter, and the costs that its values are, or zeros."""
        arguments = zip(*[self._interner.decode(column) for column in given.T], strict=True)
        values = list(map(question.function.compute, arguments))
        value = question.function.relation.columns[-1]
        rows = np.zeros((len(values), layout.ENTERING + self._columns), np.int32)
        rows[:, layout.ENTERING_RELATION], rows[:, layout.COMES] = question.relation, 1
        rows[:, layout.ENTERING : layout.ENTERING + given.shape[1]] = given
        rows[:, layout.ENTERING + given.shape[1]] = self._interner.ids(values, value.type)
        cost, dtype = self._costs.get(question.function.relation.name), self.learned_costs.dtype
        return rows, np.zeros(len(values), dtype) if cost is None else cost.encode(values, dtype)


def _different(rows: Array) -> Array:
    """Each row once."""
    combined = rows[:, 0].astype(np.int64)
    # Two integers at a time, as one: numpy takes far longer to compare rows.
    for column in rows.T[1:-1]:
        combined = np.unique(combined << 32 | column, return_inverse=True)[1]
    if rows.shape[1] > 1:
        combined = combined << 32 | rows[:, -1]
    return rows[np.unique(combined, return_index=True)[1]]
