"""The aggregates of a view's head, each over the arguments that all its rules give it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from whence.engines.local.counting.extremes import Extreme
from whence.engines.local.counting.folds import ByValue, Fold, Linear
from whence.functions.aggregates import aggregate_type
from whence.functions.cast import converter, unchanged
from whence.functions.typing import common_type
from whence.incremental.body import Body
from whence.model.rules import Rule
from whence.model.terms import Aggregate
from whence.model.types import Type, Value

# What an aggregate makes of a change.
Result: TypeAlias = Callable[[Any], Value]


class HeadAggregate:
    """One aggregate: what it folds, the type its arguments meet in, and how the result gets into the column.

    Without a `fold` it is count<*>, which is known from the group itself.
    """

    def __init__(self, position: int, bodies: Sequence[Body], column: Type, signed: bool) -> None:
        self.position = position
        terms = [_aggregate(body.rule, position) for body in bodies]
        first = terms[0]
        given = [
            body.type_of(term.argument) for body, term in zip(bodies, terms, strict=True) if term.argument is not None
        ]
        self.arguments = [term.argument for term in terms]
        self.input = common_type(given) if given else None
        result = aggregate_type(first.function, self.input, first.span)
        self.fold: Fold | None = None
        if self.input is not None:
            self.fold = _fold(first, self.input, result, signed)
            self.result = _converted(self.fold.result, converter(result, column))


def _converted(result: Result, convert: Callable[[Any], Any]) -> Result:
    """What a change gives, as the column holds it."""
    if convert is unchanged:
        return result
    return lambda change: None if (value := result(change)) is None else convert(value)


def _aggregate(rule: Rule, position: int) -> Aggregate:
    term = rule.head.terms[position]
    assert isinstance(term, Aggregate), "analysis lets all rules of a view have the same aggregates"
    return term


def _fold(aggregate: Aggregate, argument: Type, result: Type, signed: bool) -> Fold:
    if aggregate.function in ("min", "max"):
        return Extreme(aggregate.function, result)
    if aggregate.distinct or (signed and aggregate.function != "count"):
        return ByValue(aggregate.function, aggregate.distinct, argument, result)
    return Linear(aggregate.function, argument, result)
