"""A component's rules, by what they derive and by what they read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.recursive.bests import Bests
from whence.engines.local.recursive.inputs import Change
from whence.engines.local.recursive.matching import Found, Matcher
from whence.engines.local.recursive.steps import Sources
from whence.engines.local.store import Readable
from whence.engines.reference.groups import Fold
from whence.engines.reference.terms import Scope
from whence.incremental.plan import Pattern
from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.model.terms import Aggregate
from whence.model.types import Row

# Where a relation stands in a body: the rule, and which of its positive, or of its negated, atoms it is.
Place: TypeAlias = tuple[Matcher, int]
# A way to satisfy the body of a rule.
Way: TypeAlias = tuple[Matcher, Found]

# Nobody knows how large a relation of the component will be, but it tends to be larger than what it is made from.
GROWTH = 10


class Rules:
    """`readers` and `absences` list the places of a relation among positive and among negated atoms."""

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        stores: Mapping[str, Readable],
    ) -> None:
        self.bests: dict[str, Bests] = {}
        self.deriving: dict[str, list[Matcher]] = {name: [] for name in component.relations}
        self.readers: dict[str, list[Place]] = {name: [] for name in (*component.relations, *stores)}
        self.absences: dict[str, list[Place]] = {name: [] for name in stores}
        self.all: list[Matcher] = []

        def size(name: str) -> int:
            if name in stores:
                return len(stores[name].counts)
            return GROWTH * sum(len(store.counts) for store in stores.values())

        for name in component.relations:
            rules = [rule for rule in component.rules if rule.head.relation == name]
            folds = folds_of(rules, relations, functions)
            if folds:
                self.bests[name] = Bests(relations[name], rules[0].aggregates, folds)
            for rule in rules:
                self._add(
                    Matcher(
                        len(self.all),
                        rule,
                        relations,
                        functions,
                        component.relations,
                        [fold.input for fold in folds],
                        size,
                    )
                )

    def gained(self, change: Change, sources: Sources) -> Iterator[Way]:
        """The ways to satisfy a body that a change brings, over relations as they are after it."""
        yield from self._through(change.appeared, sources)
        yield from self._through_absence(change.vanished, sources)

    def lost(self, change: Change, sources: Sources) -> Iterator[Way]:
        """The ways to satisfy a body that a change takes away, over relations as they were before it."""
        yield from self._through(change.vanished, sources)
        yield from self._through_absence(change.appeared, sources)

    def refuted(self, change: Change) -> Iterator[tuple[Pattern, Row]]:
        """The keys that no row had before the change, as far as negated atoms ask for them, and one has now."""
        for name, rows in change.appeared.items():
            for matcher, position in self.absences[name]:
                for row in rows:
                    yield matcher.absences[position], matcher.absence_key(position, row)

    def _through(self, changed: Mapping[str, Sequence[Row]], sources: Sources) -> Iterator[Way]:
        for name, rows in changed.items():
            for matcher, position in self.readers[name]:
                for row in rows:
                    yield from ((matcher, found) for found in matcher.through(position, row, sources))

    def _through_absence(self, changed: Mapping[str, Sequence[Row]], sources: Sources) -> Iterator[Way]:
        for name, rows in changed.items():
            for matcher, position in self.absences[name]:
                for row in rows:
                    yield from ((matcher, found) for found in matcher.through_absence(position, row, sources))

    def _add(self, matcher: Matcher) -> None:
        self.all.append(matcher)
        self.deriving[matcher.relation].append(matcher)
        for position, relation in enumerate(matcher.positive):
            self.readers[relation].append((matcher, position))
        for position, pattern in enumerate(matcher.absences):
            self.absences[pattern.relation].append((matcher, position))


def folds_of(rules: Sequence[Rule], relations: Mapping[str, Relation], functions: Functions) -> list[Fold]:
    """How the aggregates of a relation's rules are computed, one for each."""
    scopes = [Scope(rule, relations, functions) for rule in rules]
    columns = relations[rules[0].head.relation].columns
    return [
        Fold(
            [
                (term, scope)
                for rule, scope in zip(rules, scopes, strict=True)
                if isinstance(term := rule.head.terms[position], Aggregate)
            ],
            columns[position].type,
        )
        for position in rules[0].aggregates
    ]
