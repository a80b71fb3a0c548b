"""Parts of a relation: some of its rows, and how many there are, without bringing all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Protocol, runtime_checkable

from whence.model.schema import Relation
from whence.model.types import Row, Value


@runtime_checkable
class Paged(Protocol):
    """Contents that find some of their rows quicker than by going through all of them."""

    def page(self, bound: Mapping[int, Value], offset: int, limit: int) -> Sequence[tuple[Row, int]]:
        """Rows that have these values at these positions, and how often they are there."""


@runtime_checkable
class Columnar(Protocol):
    """A set whose columns are at hand sooner than its rows."""

    def columns(self) -> Sequence[Sequence[Value]]: ...


@runtime_checkable
class Estimated(Protocol):
    """Contents whose number of rows is known about right, and exactly only by bringing them."""

    @property
    def about(self) -> int: ...


def page(counts: Mapping[Row, int], bound: Mapping[int, Value], offset: int, limit: int) -> Sequence[tuple[Row, int]]:
    """Some rows, and how often they are there, in an order that stays the same until the next commit."""
    if isinstance(counts, Paged):
        return counts.page(bound, offset, limit)
    fits = _fits(bound)
    return list(islice(((row, n) for row, n in counts.items() if n > 0 and fits(row)), offset, offset + limit))


def size(relation: Relation, counts: Mapping[Row, int]) -> tuple[int, bool]:
    """How many rows there are, copies included, and whether that is exact."""
    if isinstance(counts, Estimated):
        return counts.about, False
    if relation.distinct:
        return len(counts), True
    return sum([n for n in counts.values() if n > 0]), True


def _fits(bound: Mapping[int, Value]) -> Callable[[Row], bool]:
    if not bound:
        return lambda _: True
    wanted = list(bound.items())
    return lambda row: all(row[position] == value for position, value in wanted)
