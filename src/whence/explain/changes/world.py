"""The rows that are there, and others that are assumed to be, for the time of one question."""

from __future__ import annotations

import time
from collections.abc import Iterator

from whence.analysis.analyze import Analysis
from whence.engines.engine import Functions
from whence.engines.reference.tables import Table
from whence.explain.changes.contents import Contents, LimitReachedError
from whence.explain.changes.known import Home, KnownValues
from whence.explain.proofs.reasons import Fact
from whence.explain.proofs.words import Pattern
from whence.incremental.keyed import key_positions
from whence.model.rules import Rule
from whence.model.types import Row, Value
from whence.patience import end_of_search


class World:
    """What rules can be tried on. Every look at it is a step; there may be a limit to their number and their time."""

    def __init__(
        self,
        contents: Contents,
        analysis: Analysis,
        functions: Functions,
        steps: int | None = None,
        seconds: float = 0.0,
    ) -> None:
        """Without a number of steps, there is no limit."""
        self.contents = contents
        self.relations = analysis.relations
        self.functions = functions
        self.rules: dict[str, list[Rule]] = {}
        for rule in analysis.program.rules:
            self.rules.setdefault(rule.head.relation, []).append(rule)
        # Those of which a row follows from rows by a few uses of rules, and not by any number of them.
        self.plain = {
            name
            for component in analysis.components
            for name in component.relations
            if component.rules and not component.recursive and name not in component.aggregated
        }
        tables = (relation for name, relation in analysis.relations.items() if name not in self.rules)
        self.known = KnownValues(contents, tables, (rule for found in self.rules.values() for rule in found))
        self._steps = steps
        self._end = end_of_search(seconds)
        self._assumed: dict[str, list[Row]] = {}
        self.assumed: frozenset[Fact] = frozenset()
        self._free: dict[Fact, frozenset[int]] = {}

    def assume(self, facts: frozenset[Fact]) -> None:
        """These rows are there as well, and no others."""
        if facts != self.assumed:
            self.assumed, self._assumed = facts, {}
            for relation, row in facts:
                self._assumed.setdefault(relation, []).append(row)

    def note_free(self, fact: Fact, positions: frozenset[int]) -> None:
        """In these columns, any other value would have done as well."""
        self._free[fact] = positions & self._free.get(fact, positions)

    def shape(self, facts: frozenset[Fact]) -> frozenset[tuple[str, Pattern]]:
        """What matters about rows."""
        return frozenset((fact[0], self.pattern(fact)) for fact in facts)

    def pattern(self, fact: Fact) -> Pattern:
        free = self._free.get(fact, ())
        return tuple(... if at in free else value for at, value in enumerate(fact[1]))

    def varied(self, fact: Fact) -> Fact:
        """The row with other values where they do not matter."""
        name, row = fact
        others = {at: self.known.new(Home(name, at)) for at in self._free.get(fact, ())}
        return name, tuple(value if others.get(at) is None else others[at] for at, value in enumerate(row))

    def hurry(self, steps: int) -> None:
        """From now on there are no more than so many steps."""
        self._steps = steps if self._steps is None else min(self._steps, steps)

    def step(self) -> None:
        if self._steps is None:
            return
        self._steps -= 1
        if self._steps < 0 or (self._steps % 64 == 0 and time.monotonic() > self._end):
            raise LimitReachedError

    def is_table(self, relation: str) -> bool:
        return relation not in self.rules

    def is_key(self, table: str, position: int) -> bool:
        """Whether a column belongs to the key of a table."""
        return position in key_positions(self.relations[table])

    def has(self, relation: str, row: Row) -> bool:
        self.step()
        return (relation, row) in self.assumed or self.contents.count(relation, row) > 0

    def table(self, relation: str) -> Rows:
        return Rows(self, relation)

    def matching(self, relation: str, positions: tuple[int, ...], key: tuple[Value, ...]) -> Iterator[tuple[Row, int]]:
        for row in self._assumed.get(relation, ()):
            if all(row[position] == value for position, value in zip(positions, key, strict=True)):
                yield row, 1
        self.step()
        for row in self.contents.matching(relation, positions, key):
            self.step()
            yield row, 1


class Rows(Table):
    """One relation, as the steps of a body look it up."""

    def __init__(self, world: World, relation: str) -> None:
        super().__init__({})
        self._world = world
        self._relation = relation

    # Row by row, since the world may end the search at any of them.
    def matching(  # type: ignore[override]
        self, positions: tuple[int, ...], values: tuple[Value, ...]
    ) -> Iterator[tuple[Row, int]]:
        return self._world.matching(self._relation, positions, values)
