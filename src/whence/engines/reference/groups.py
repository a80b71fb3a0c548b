"""Aggregates in a head: over all ways to satisfy the bodies of all rules, per value of the head's other terms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whence.engines.reference.terms import Binding, Computed, Scope, conversion
from whence.functions.aggregates import aggregate_type, count_rows, fold
from whence.functions.typing import common_type
from whence.model.terms import Aggregate
from whence.model.types import Row, Type, Value


class Fold:
    """One aggregate of a view, whose argument every rule writes in its own terms."""

    def __init__(self, arguments: Sequence[tuple[Aggregate, Scope]], column: Type) -> None:
        first = arguments[0][0]
        self.function, self.distinct = first.function, first.distinct
        given = [scope.type_of(term.argument) for term, scope in arguments if term.argument is not None]
        # The rules' arguments meet in one type before they are compared or added up.
        self.input = common_type(given) if given else None
        self.output = aggregate_type(self.function, self.input, first.span)
        self.arguments: list[Computed | None] = [
            None if term.argument is None else scope.compute(term.argument, self.input) for term, scope in arguments
        ]
        self.convert = conversion(self.output, column)

    def result(self, values: Sequence[tuple[Value, int]]) -> Value:
        if self.input is None:
            return count_rows(count for _, count in values)
        folded = fold(self.function, self.distinct, values, self.output)
        return folded if self.convert is None else self.convert(folded)


class Groups:
    """Bindings by group: per fold, the argument's value and how often it counts."""

    def __init__(self, folds: Sequence[Fold], positions: Sequence[int], arity: int) -> None:
        self.folds = folds
        self.positions = positions
        self.values: dict[Row, list[list[tuple[Value, int]]]] = {}
        self.totals: dict[Row, int] = {}
        if arity == len(folds):
            # Without group terms there is one group, even of nothing.
            self._open(())

    def add(self, group: Row, rule: int, binding: Binding) -> None:
        """A binding of the rule of that number."""
        environment, count = binding
        if group not in self.values:
            self._open(group)
        self.totals[group] += count
        for each, values in zip(self.folds, self.values[group], strict=True):
            argument = each.arguments[rule]
            values.append((None if argument is None else argument(environment), count))

    def rows(self) -> Iterator[Row]:
        """The group terms and the aggregates, each in its place of the head."""
        for group, lists in self.values.items():
            if self.totals[group] > 0 or not group:
                yield self._row(group, lists)

    def _open(self, group: Row) -> None:
        self.values[group] = [[] for _ in self.folds]
        self.totals[group] = 0

    def _row(self, group: Row, lists: Sequence[Sequence[tuple[Value, int]]]) -> Row:
        row = list(group)
        for position, each, values in zip(self.positions, self.folds, lists, strict=True):
            row.insert(position, each.result(values))
        return tuple(row)
