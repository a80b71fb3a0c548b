"""A program whose rules are local: all atoms of a body are held by one node, whatever rows they match.

A relation is at home at one of its columns, and copied to where rules join it by another one. A copy has a name of its
own, such as `link$at2` for the rows of `link` held where their second column leads, or `link$gathered` for all of them
on the one node that NULL leads to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TypeAlias

from whence.analysis.components import Component
from whence.errors import UnknownNameError
from whence.incremental.aggregates import TypedAggregate, best_first
from whence.incremental.recursive.bests import NO_VALUE, Rank, moving_columns
from whence.model.rules import Atom, Rule
from whence.model.schema import Relation
from whence.model.terms import Aggregate
from whence.model.types import Row, Type

# A column, or None for the node where everything comes together.
Column: TypeAlias = int | None


class StageKind(Enum):
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

    kind: StageKind
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


@dataclass(frozen=True, slots=True)
class Best:
    """Of the rows that agree in the columns `group`, those with the least value in one of `min`, or the greatest in
    one of `max`.
    """

    group: tuple[str, ...]
    min: tuple[str, ...] = ()
    max: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """The same by the positions of columns."""

    relation: str
    group: tuple[int, ...]
    best: tuple[tuple[int, Type, bool], ...]
    """Columns, their types, and whether the greatest value is best in them."""

    def group_of(self, row: Row) -> Row:
        return tuple([row[at] for at in self.group])

    def chosen(self, rows: Iterable[Row]) -> set[Row]:
        """The rows of a group that are best by at least one of the aggregates, all of them where several are equal."""
        chosen: set[Row] = set()
        rows = list(rows)
        for at, kind, greatest in self.best:
            key = best_first("max" if greatest else "min", kind)
            ranks: dict[Row, Rank] = {row: NO_VALUE if row[at] is None else (0, key(row[at])) for row in rows}
            least = min(ranks.values(), default=NO_VALUE)
            chosen.update(row for row, rank in ranks.items() if not least < rank)
        return chosen


def selection(relation: Relation, best: Best) -> Selection:
    """What a user asked for."""

    def position(name: str) -> int:
        if name not in relation.column_names:
            raise UnknownNameError(f"{relation.name!r} has no column {name!r} to select by")
        return relation.column_names.index(name)

    columns = [
        (position(name), greatest) for names, greatest in ((best.min, False), (best.max, True)) for name in names
    ]
    by = tuple((at, relation.columns[at].type, greatest) for at, greatest in columns)
    return Selection(relation.name, tuple(position(name) for name in best.group), by)


def aggregated_selections(
    component: Component, relations: Mapping[str, Relation], folds: Mapping[str, Sequence[TypedAggregate]]
) -> list[Selection] | None:
    """The selections that stand for the min and max in the heads of a recursion, or None if none would do.

    A row must be all that there is to say of a group: its terms and one aggregate. Its value must not be passed on into
    rows of other relations, which would stay when a better one comes.
    """
    moving = moving_columns(component)
    if any(columns for name, columns in moving.items() if name not in component.aggregated):
        return None
    selections: list[Selection] = []
    for name in sorted(component.aggregated):
        relation = relations[name]
        at = next(rule.aggregates[0] for rule in component.rules if rule.head.relation == name)
        kind = relation.columns[at].type
        fold = folds[name][0]
        if len(folds[name]) > 1 or relation.arity == 1 or (fold.input, fold.output) != (kind, kind):
            return None
        group = tuple(each for each in range(relation.arity) if each != at)
        selections.append(Selection(name, group, ((at, kind, fold.function == "max"),)))
    return selections


def without_aggregates(rule: Rule) -> Rule:
    """The rule that finds what an aggregate is over, row by row."""
    terms = tuple(
        term.argument if isinstance(term, Aggregate) and term.argument is not None else term for term in rule.head.terms
    )
    return Rule(Atom(rule.head.relation, terms, span=rule.head.span), rule.body, rule.sign, span=rule.span)
