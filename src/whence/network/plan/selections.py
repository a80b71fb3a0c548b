"""Aggregate selection: of the rows of a recursive view, only the best of each group matter.

A row that is not best by any of the aggregates is kept, and nothing is derived from it until better ones are gone. What
was derived from a row before a better one came stays: it is derived from rows that are there, and it is no better than
what the better one leads to. That is also what makes paths around cycles come to an end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whence.analysis.components import Component
from whence.engines.local.recursive.bests import NO_VALUE, Downwards, Rank
from whence.engines.local.recursive.moving import moving_columns
from whence.engines.reference.groups import Fold
from whence.errors import UnknownNameError
from whence.functions.order import sort_key
from whence.model.rules import Atom, Rule
from whence.model.schema import Relation
from whence.model.terms import Aggregate
from whence.model.types import Row, Type


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
            ranks = {row: _rank(row[at], kind, greatest) for row in rows}
            least = min(ranks.values(), default=NO_VALUE)
            chosen.update(row for row, rank in ranks.items() if not least < rank)
        return chosen


def _rank(value: Any, kind: Type, greatest: bool) -> Rank:
    if value is None:
        return NO_VALUE
    convert = sort_key(kind)
    key = value if convert is None else convert(value)
    return (0, Downwards(key) if greatest else key)


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
    component: Component, relations: Mapping[str, Relation], folds: Mapping[str, Sequence[Fold]]
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
