"""A component's rules, by what they derive and by what they read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from whence.analysis.components import Component
from whence.incremental.aggregates import typed_aggregates
from whence.incremental.plan import Pattern
from whence.incremental.recursive.bests import Bests
from whence.incremental.recursive.convergence import ConvergenceLimit
from whence.incremental.recursive.matcher import BodyMatch, Matcher
from whence.incremental.recursive.steps import InputChange, Sources
from whence.incremental.store import ProbedRelation, StoreStatistics
from whence.model.program import Functions
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta
from whence.planning.statistics import RecursionStatistics, is_outdated

# Where a relation stands in a body: the rule, and which of its positive, or of its negated, atoms it is.
Place: TypeAlias = tuple[Matcher, int]
# Rows by relation.
ChangedRows: TypeAlias = Mapping[str, Sequence[Row]]
# A rule, and matches of it.
RuleMatches: TypeAlias = tuple[Matcher, list[BodyMatch]]


class Rules:
    """`readers` and `absences` list the places of a relation among positive and among negated atoms."""

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        stores: Mapping[str, ProbedRelation],
        own: Mapping[str, Callable[[], int]],
    ) -> None:
        """`own` tells how many rows each relation of the component has."""
        self.bests: dict[str, Bests] = {}
        self.deriving: dict[str, list[Matcher]] = {name: [] for name in component.relations}
        self.readers: dict[str, list[Place]] = {name: [] for name in (*component.relations, *stores)}
        self.absences: dict[str, list[Place]] = {name: [] for name in stores}
        self.all: list[Matcher] = []
        self._names = (*component.relations, *stores)
        self._below = StoreStatistics(stores)
        self._statistics = RecursionStatistics(component.typed, self._below, own)
        self._planned = self._sizes()
        for name in component.relations:
            rules = [typed for typed in component.typed if typed.rule.head.relation == name]
            folds = typed_aggregates(rules, relations)
            if folds:
                self.bests[name] = Bests(relations[name], rules[0].rule.aggregates, folds)
            inputs = [fold.input for fold in folds]
            for rule in rules:
                self._add(Matcher(len(self.all), rule, functions, component.relations, inputs, self._statistics))

    def replan(self, deltas: Mapping[str, Delta]) -> None:
        """Before these come in: forget the plans if relations have grown or shrunk a lot since they were made."""
        self._below.coming = deltas
        sizes = self._sizes()
        if is_outdated(self._planned, sizes):
            self._planned = sizes
            for matcher in self.all:
                matcher.replan()

    def _sizes(self) -> dict[str, int]:
        return {name: self._statistics.rows(name) for name in self._names}

    def count_matches(self, limit: ConvergenceLimit) -> None:
        """Let the limit count the matches of all rules."""
        for matcher in self.all:
            matcher.counter = limit.counter(matcher.rule)

    def gained(self, change: InputChange, sources: Sources) -> Iterator[RuleMatches]:
        """The matches that a change brings, over relations as they are after it."""
        return self._through(change.appeared, change.vanished, sources)

    def lost(self, change: InputChange, sources: Sources) -> Iterator[RuleMatches]:
        """The matches that a change takes away, over relations as they were before it."""
        return self._through(change.vanished, change.appeared, sources)

    def refuted(self, change: InputChange) -> Iterator[tuple[Pattern, Row]]:
        """The keys that no row had before the change, as far as negated atoms ask for them, and one has now."""
        for name, rows in change.appeared.items():
            for matcher, position in self.absences[name]:
                for row in rows:
                    yield matcher.absences[position], matcher.absence_key(position, row)

    def _through(self, present: ChangedRows, absent: ChangedRows, sources: Sources) -> Iterator[RuleMatches]:
        """The matches that use some of these rows, and those that need some of the others to be absent."""
        for name, rows in present.items():
            for matcher, position in self.readers[name]:
                for matches in matcher.through_all(position, rows, sources):
                    yield matcher, matches
        for name, rows in absent.items():
            for matcher, position in self.absences[name]:
                for matches in matcher.through_absences(position, rows, sources):
                    yield matcher, matches

    def _add(self, matcher: Matcher) -> None:
        self.all.append(matcher)
        self.deriving[matcher.relation].append(matcher)
        for position, relation in enumerate(matcher.positive):
            self.readers[relation].append((matcher, position))
        for position, pattern in enumerate(matcher.absences):
            self.absences[pattern.relation].append((matcher, position))
