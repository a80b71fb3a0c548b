"""A row for each element of an array: every change of a row is one of its elements' rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from whence.algebra.deltas import add_to
from whence.analysis.components import Component
from whence.analysis.limits import RecursionLimits
from whence.incremental.store import ProbedRelation
from whence.model.program import Functions
from whence.model.rules import Atom, Rule
from whence.model.schema import Relation
from whence.model.terms import Unnest
from whence.model.types import Row
from whence.model.updates import Delta


def unnested_rows(rule: Rule) -> Callable[[Row], Iterator[Row]]:
    """What makes of a row of a rule's atom those of its head."""
    (atom,) = rule.body
    assert isinstance(atom, Atom)
    parts = [term for term in rule.head.terms if isinstance(term, Unnest)]
    place, outer = atom.terms.index(parts[0].argument), parts[0].outer
    positions = [part.part == "position" for part in parts]

    def made(row: Row) -> Iterator[Row]:
        array: Any = row[place]
        if not array:
            if outer:
                yield (*row, *[None] * len(parts))
            return
        for number, element in enumerate(array):
            yield (*row, *[number if is_position else element for is_position in positions])

    return made


class Unnesting:
    """Keeps a component of one rule with elements of an array."""

    has_recomputed = False

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],  # noqa: ARG002 - all maintainers are made alike
        functions: Functions,  # noqa: ARG002 - nothing is computed here
        stores: Mapping[str, ProbedRelation],
        limits: RecursionLimits,  # noqa: ARG002 - without recursion there is nothing to limit
    ) -> None:
        (self._name,) = component.relations
        (self._below,) = component.reads
        self._stores = stores
        self._made = unnested_rows(component.rules[0])
        self._rows: dict[Row, int] = {}
        self._delta: dict[Row, int] = {}

    def build(self) -> Mapping[str, Delta]:
        return {self._name: self._follow(self._stores[self._below].counts)}

    def apply(self, deltas: Mapping[str, Delta]) -> Mapping[str, Delta]:
        delta = self._follow(deltas[self._below])
        return {self._name: delta} if delta else {}

    def settle(self) -> None:
        add_to(self._rows, self._delta.items())
        self._delta = {}

    def undo(self) -> None:
        self._delta = {}

    def counts(self, relation: str) -> Mapping[Row, int]:
        if relation != self._name:
            raise KeyError(relation)
        return MappingProxyType(self._rows)

    def _follow(self, delta: Delta) -> dict[Row, int]:
        self._delta = unnested_delta(self._made, delta)
        return self._delta


def unnested_delta(made: Callable[[Row], Iterator[Row]], delta: Delta) -> dict[Row, int]:
    found: dict[Row, int] = {}
    add_to(found, ((new, count) for row, count in delta.items() for new in made(row)))
    return found
