"""The aggregates of a relation's head, each over the arguments that all its rules give it: types, and what is best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from operator import neg
from typing import Any

from whence.analysis.typed_rules import TypedRule, conversion
from whence.functions.aggregates import aggregate_type
from whence.functions.types import common_type
from whence.functions.widening import is_number
from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.model.terms import Aggregate
from whence.model.types import DecimalType, Type


class TypedAggregate:
    """One aggregate: the type its arguments meet in, that of its result, and what converts that to the column's.

    `arguments` has one for each rule. Without an `input` it is count<*>.
    """

    def __init__(self, position: int, rules: Sequence[TypedRule], column: Type) -> None:
        self.position = position
        terms = [_aggregate(typed.rule, position) for typed in rules]
        first = terms[0]
        self.function, self.distinct = first.function, first.distinct
        self.arguments = [term.argument for term in terms]
        given = [
            typed.type_of(argument)
            for typed, argument in zip(rules, self.arguments, strict=True)
            if argument is not None
        ]
        self.input = common_type(given) if given else None
        self.output = aggregate_type(self.function, self.input, first.span)
        self.convert = conversion(self.output, column)


def typed_aggregates(rules: Sequence[TypedRule], relations: Mapping[str, Relation]) -> list[TypedAggregate]:
    """Those of a relation with these rules, from left to right."""
    first = rules[0].rule
    columns = relations[first.head.relation].columns
    return [TypedAggregate(position, rules, columns[position].type) for position in first.aggregates]


def _aggregate(rule: Rule, position: int) -> Aggregate:
    term = rule.head.terms[position]
    assert isinstance(term, Aggregate), "analysis lets all rules of a view have the same aggregates"
    return term


class Descending:
    """A value that comes before smaller ones, where there is no minus sign for it."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: Descending) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Descending) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(self.value)


def best_first(function: str, kind: Type) -> Callable[[Any], Any]:
    """What min or max orders values of a type by: the key of the best one is the least."""
    ascending = kind.sort_key or (lambda value: value)
    if function == "min":
        return ascending
    if isinstance(kind, DecimalType):
        # A minus sign would round to the digits of Python's default context.
        return Decimal.copy_negate
    return neg if is_number(kind) else lambda value: Descending(ascending(value))
