"""Recursion with several min and max in a head: a compiled forest for each of them, and rows put together again.

Each aggregate is the best of its own values, whichever derivations the others have theirs from. So where none is
computed from another, the rules with all others left out have the same groups, and for each the same best value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from whence.analysis.components import Component
from whence.analysis.limits import RecursionLimits
from whence.analysis.typed_rules import typed_rule
from whence.engines.local.forest.forests import forest_for
from whence.engines.local.forest.maintainer import ForestMaintainer
from whence.engines.local.forest.values import NotCompiledError
from whence.incremental.maintainer import Maintainer
from whence.incremental.store import Store
from whence.model.program import Functions, Signature
from whence.model.rules import Atom, Literal, Rule, rule_terms
from whence.model.schema import Relation
from whence.model.terms import Variable, Wildcard, variables
from whence.model.types import Row, Value
from whence.model.updates import Delta

# The groups of a relation, and the best value of each aggregate.
Groups: TypeAlias = "dict[Row, tuple[Value, ...]]"


def split_forest_for(
    component: Component,
    relations: Mapping[str, Relation],
    functions: Functions,
    stores: Mapping[str, Store],
    limits: RecursionLimits,
    general: Callable[..., Maintainer],
) -> SplitForest:
    """Raises NotCompiledError, with the reason, where there are no such parts, or the kernels do not know one."""
    places = _places(component)
    forests = []
    for number in range(len(next(iter(places.values())))):
        dropped = {name: {*found} - {found[number]} for name, found in places.items()}
        part, reduced = _part(component, relations, dropped)
        forests.append(forest_for(part, reduced, functions, stores, limits, general))
    return SplitForest(forests, places)


class SplitForest(Maintainer):
    """`places` are the positions of the aggregates, per relation; each has a forest, in the same order."""

    def __init__(self, forests: Sequence[ForestMaintainer], places: Mapping[str, tuple[int, ...]]) -> None:
        self._forests = forests
        self._places = places
        self._groups: dict[str, Groups] = {name: {} for name in places}
        # What groups had before the change under way, if anything.
        self._before: list[tuple[str, Row, tuple[Value, ...] | None]] = []

    def build(self) -> Mapping[str, Delta]:
        return self._together([forest.build() for forest in self._forests])

    def apply(self, deltas: Mapping[str, Delta]) -> Mapping[str, Delta]:
        return self._together([forest.apply(deltas) for forest in self._forests])

    def settle(self) -> None:
        self._before = []
        for forest in self._forests:
            forest.settle()

    def undo(self) -> None:
        for name, group, values in reversed(self._before):
            if values is None:
                del self._groups[name][group]
            else:
                self._groups[name][group] = values
        self._before = []
        for forest in self._forests:
            forest.undo()

    def counts(self, relation: str) -> Mapping[Row, int]:
        return _GroupedRows(self._groups[relation], self._places[relation])

    def _together(self, changes: Sequence[Mapping[str, Delta]]) -> Mapping[str, Delta]:
        found = {}
        for name, places in self._places.items():
            delta = self._change(name, places, [each.get(name, {}) for each in changes])
            if delta:
                found[name] = delta
        return found

    def _change(self, name: str, places: tuple[int, ...], changes: Sequence[Delta]) -> Delta:
        groups, delta = self._groups[name], dict[Row, int]()
        come: dict[Row, dict[int, Value]] = {}
        for number, change in enumerate(changes):
            # The column of its value, in the rows of a forest that has none of the others.
            column = places[number] - number
            for row, count in change.items():
                of_group = come.setdefault((*row[:column], *row[column + 1 :]), {})
                if count > 0:
                    of_group[number] = row[column]
        for group, values in come.items():
            before = groups.get(group)
            self._before.append((name, group, before))
            if before is not None:
                delta[_row(group, before, places)] = -1
            if not values:
                # A group that goes does so everywhere.
                del groups[group]
                continue
            after = tuple([values[at] if at in values else (before or ())[at] for at in range(len(places))])
            groups[group] = after
            delta[_row(group, after, places)] = 1
        return delta


class _GroupedRows(Mapping[Row, int]):
    def __init__(self, groups: Groups, places: Sequence[int]) -> None:
        self._groups = groups
        self._places = places

    def __getitem__(self, row: Row) -> int:
        group = tuple([value for at, value in enumerate(row) if at not in self._places])
        if self._groups.get(group) != tuple([row[place] for place in self._places if place < len(row)]):
            raise KeyError(row)
        return 1

    def __iter__(self) -> Iterator[Row]:
        places = self._places
        return iter([_row(group, values, places) for group, values in self._groups.items()])

    def __len__(self) -> int:
        return len(self._groups)


def _row(group: Row, values: Sequence[Value], places: Sequence[int]) -> Row:
    row = list(group)
    for place, value in zip(places, values, strict=True):
        row.insert(place, value)
    return tuple(row)


def _places(component: Component) -> dict[str, tuple[int, ...]]:
    places = {rule.head.relation: rule.aggregates for rule in component.rules}
    if len({len(found) for found in places.values()}) > 1:
        raise NotCompiledError("heads have different numbers of aggregates")
    return places


def _part(
    component: Component, relations: Mapping[str, Relation], dropped: Mapping[str, set[int]]
) -> tuple[Component, Mapping[str, Relation]]:
    """The component without some columns of its relations."""
    reduced = dict(relations)
    for name, places in dropped.items():
        columns = [column for at, column in enumerate(relations[name].columns) if at not in places]
        reduced[name] = replace(relations[name], columns=tuple(columns), key=())
    rules = tuple(_reduced(rule, dropped) for rule in component.rules)
    signatures: Mapping[str, Signature] = component.typed[0].signatures
    typed = tuple(typed_rule(rule, reduced, signatures) for rule in rules)
    return replace(component, rules=rules, typed=typed), reduced


def _reduced(rule: Rule, dropped: Mapping[str, set[int]]) -> Rule:
    body = tuple(_without(literal, dropped) for literal in rule.body)
    head = _without(rule.head, dropped)
    assert isinstance(head, Atom)
    reduced = replace(rule, head=head, body=body)
    left = {variable.name for term in rule_terms(reduced) for variable in variables(term)}
    for literal in rule.body:
        if isinstance(literal, Atom):
            for place in dropped.get(literal.relation, ()):
                term = literal.terms[place]
                if not isinstance(term, Wildcard) and not (isinstance(term, Variable) and term.name not in left):
                    raise NotCompiledError("one aggregate of a head depends on another")
    return reduced


def _without(literal: Literal, dropped: Mapping[str, set[int]]) -> Literal:
    if not isinstance(literal, Atom) or literal.relation not in dropped:
        return literal
    kept = [term for at, term in enumerate(literal.terms) if at not in dropped[literal.relation]]
    return replace(literal, terms=tuple(kept))
