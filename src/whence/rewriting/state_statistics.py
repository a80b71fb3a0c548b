"""Statistics of states of relations: what an engine knows of those that are there, and estimates of what will be."""

from __future__ import annotations

from math import prod

from whence.model.terms import Constant, Term, Variable
from whence.planning.statistics import Statistics
from whence.rewriting import states
from whence.rewriting.conjunction import Conjunction
from whence.rewriting.signed_union import SignedUnion


class StateStatistics:
    """How many rows a state has is set in `rows` where it is not what the engine has now."""

    def __init__(self, known: Statistics) -> None:
        self._known = known
        self.rows: dict[str, float] = {}
        # For a state that is made by a plan, how many values each of its columns has.
        self._values: dict[str, list[int | None]] = {}
        self._cache: dict[tuple[str, tuple[int, ...]], int | None] = {}

    def size(self, relation: str) -> int:
        rows = self.rows.get(relation)
        return self._known.size(states.relation_of(relation)) if rows is None else round(rows)

    def distinct(self, relation: str, columns: tuple[int, ...]) -> int | None:
        asked = (relation, columns)
        if asked not in self._cache:
            self._cache[asked] = self._distinct(relation, columns)
        return self._cache[asked]

    def _distinct(self, relation: str, columns: tuple[int, ...]) -> int | None:
        values = self._values.get(relation)
        if values is not None:
            chosen = [values[at] for at in columns]
            known = [each for each in chosen if each is not None]
            return max(1, min(self.size(relation), prod(known))) if len(known) == len(chosen) else None
        if states.is_change(relation):
            # Rows that change are mostly different ones.
            return max(1, self.size(relation))
        return self._known.distinct(states.relation_of(relation), columns)

    def learn_values(self, state: str, plan: SignedUnion) -> None:
        """The values of a state's columns come from those that the plan for it reads."""
        parts = [each for each, times in plan if times > 0]
        if parts:
            self._values[state] = [self._total(parts, at) for at in range(len(parts[0].head))]

    def begin(self, state: str, columns: int) -> None:
        """Nothing is known of the values of what was not there before, nor with such columns."""
        self._values[state] = [None] * columns

    def _total(self, parts: list[Conjunction], at: int) -> int | None:
        counts = [self._of_term(part, part.head[at]) for part in parts]
        known = [each for each in counts if each is not None]
        return max(known) if len(known) == len(counts) else None

    def _of_term(self, part: Conjunction, term: Term) -> int | None:
        if isinstance(term, Constant):
            return 1
        found = [
            self.distinct(atom.relation, (at,))
            for atom in part.atoms
            for at, each in enumerate(atom.terms)
            if isinstance(term, Variable) and each == term
        ]
        return min((each for each in found if each is not None), default=None)
