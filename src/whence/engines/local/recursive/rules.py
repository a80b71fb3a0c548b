"""A component's rules, by what they derive and by what they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.recursive.bests import Bests
from whence.engines.local.recursive.matching import Matcher
from whence.engines.local.store import Store
from whence.engines.reference.groups import Fold
from whence.engines.reference.terms import Scope
from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.model.terms import Aggregate

# Where a relation stands in a body: the rule, and which of its positive, or of its negated, atoms it is.
Place: TypeAlias = tuple[Matcher, int]

# Nobody knows how large a relation of the component will be, but it tends to be larger than what it is made from.
GROWTH = 10


class Rules:
    """`readers` and `absences` list the places of a relation among positive and among negated atoms."""

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        stores: Mapping[str, Store],
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
            folds = _folds(rules, relations, functions)
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

    def _add(self, matcher: Matcher) -> None:
        self.all.append(matcher)
        self.deriving[matcher.relation].append(matcher)
        for position, relation in enumerate(matcher.positive):
            self.readers[relation].append((matcher, position))
        for position, relation in enumerate(matcher.negative):
            self.absences[relation].append((matcher, position))


def _folds(rules: Sequence[Rule], relations: Mapping[str, Relation], functions: Functions) -> list[Fold]:
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
