"""A program whose rules are local: all atoms of a body are held by one node, whatever rows they match.

A relation is at home at one of its columns, and copied to where rules join it by another one. A copy has a name of its
own, such as `link$at2` for the rows of `link` held where their second column leads, or `link$gathered` for all of them
on the one node that NULL leads to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TypeAlias

from whence.model.rules import Atom, Rule
from whence.model.schema import Relation
from whence.model.types import Row, Value
from whence.network.plan.selections import Selection

# A column, or None for the node where everything comes together.
Column: TypeAlias = int | None


class Way(Enum):
    """How a stage is computed."""

    COUNTED = "counted"
    """Every node counts what it finds, and the counts are added up where the rows are at home."""
    RECURSIVE = "recursive"
    """Nodes send each other derivations until there is nothing new."""
    GATHERED = "gathered"
    """One node computes it from copies of all it reads."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Relations that are computed together, from relations of the stages before."""

    way: Way
    relations: tuple[str, ...]
    rules: tuple[Rule, ...]
    reads: tuple[str, ...]
    """The placed relations of other stages in the bodies."""
    selections: tuple[Selection, ...] = ()


@dataclass(slots=True)
class Placements:
    """Where relations are: `homes` has the home column of each, `copies` the placed names besides, `relations` all
    schemas, those of copies too.
    """

    relations: dict[str, Relation]
    homes: dict[str, Column]
    copies: dict[str, dict[str, Column]] = field(default_factory=dict)

    def column(self, name: str) -> Column:
        """Where a relation, or a copy, is held."""
        if name in self.homes:
            return self.homes[name]
        return next(copies[name] for copies in self.copies.values() if name in copies)

    def at(self, relation: str, column: Column) -> str:
        """The name of a relation where it is held by this column, from now on."""
        if column == self.homes[relation]:
            return relation
        name = f"{relation}$gathered" if column is None else f"{relation}$at{column + 1}"
        self.copies.setdefault(relation, {})[name] = column
        schema = self.relations[relation]
        self.relations[name] = Relation(name, schema.columns, distinct=schema.distinct, key=schema.key)
        return name


def value_at(row: Row, column: Column) -> Value:
    return None if column is None else row[column]


@dataclass(frozen=True)
class LocalProgram:
    placements: Placements
    stages: tuple[Stage, ...]
    base: tuple[str, ...]
    leaves: frozenset[str]
    """What recursive stages read, by the name at home: the variables of their provenance."""

    @cached_property
    def gathers(self) -> bool:
        """Whether anything is held or computed on one node only."""
        columns = [column for copies in self.placements.copies.values() for column in copies.values()]
        return None in (*columns, *self.placements.homes.values()) or any(
            is_alone(rule) for stage in self.stages for rule in stage.rules
        )

    @property
    def relations(self) -> Mapping[str, Relation]:
        return self.placements.relations


def is_alone(rule: Rule) -> bool:
    """Whether a rule has something to say where no row leads it: then only the gathering node may run it.

    That is so without atoms, and for an aggregate without groups, which has a row even over nothing.
    """
    return len(rule.aggregates) == len(rule.head.terms) or not any(isinstance(each, Atom) for each in rule.body)
