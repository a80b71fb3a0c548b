"""The min and max of a relation's head: which value of a group is best, and the row that the best ones make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from whence.engines.reference.groups import Fold
from whence.functions.order import sort_key
from whence.functions.widening import is_number
from whence.model.schema import Relation
from whence.model.types import Row, Type, Value

# Ranks compare with `<`, the better first: (0, key of a value), or (1,) for NULL.
Rank: TypeAlias = tuple[Any, ...]
NO_VALUE: Rank = (1,)


class Downwards:
    """A value that compares the other way round, where there is no minus sign for it."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: Downwards) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Downwards) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(self.value)


class Bests:
    """The aggregates of one relation."""

    def __init__(self, relation: Relation, positions: Sequence[int], folds: Sequence[Fold]) -> None:
        self.positions = tuple(positions)
        self._folds = tuple(folds)
        self._keys = [_key(fold.function, fold.output) for fold in folds]
        # A relation of aggregates only has one row, even over nothing.
        self.always = relation.arity == len(folds)
        # What can share a priority queue: values that compare with each other.
        self.kind = (folds[0].function, "number" if is_number(folds[0].output) else str(folds[0].output))

    def ranks(self, values: Row) -> tuple[Rank, ...]:
        return tuple(
            [NO_VALUE if value is None else (0, key(value)) for key, value in zip(self._keys, values, strict=True)]
        )

    def row(self, group: Row, values: Sequence[Value]) -> Row:
        """The group terms and the best values, each in its place of the head."""
        row = list(group)
        for position, fold, value in zip(self.positions, self._folds, values, strict=True):
            row.insert(position, value if fold.convert is None else fold.convert(value))
        return tuple(row)

    def group(self, row: Row) -> Row:
        """The group terms of a row."""
        return tuple([value for position, value in enumerate(row) if position not in self.positions])


def _key(function: str, kind: Type) -> Callable[[Any], Any]:
    ascending = sort_key(kind) or _same
    if function == "min":
        return ascending
    if is_number(kind):
        return _negative
    return lambda value: Downwards(ascending(value))


def _same(value: Any) -> Any:
    return value


def _negative(value: Any) -> Any:
    return -value
