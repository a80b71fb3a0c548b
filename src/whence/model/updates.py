"""Changes: what is put in, and what comes out in consequence."""

from __future__ import annotations

import datetime
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NewType, TypeAlias

from whence.model.types import Row, Value

# Which commit: a number that grows by one with each, 0 before the first.
Version = NewType("Version", int)

# How often each row comes (positive) or goes (negative): a Z-relation.
Delta: TypeAlias = Mapping[Row, int]


class CountedDelta(Mapping[Row, int]):
    """A delta that knows how many rows come and go without being read row by row."""

    @property
    @abstractmethod
    def totals(self) -> tuple[int, int]:
        """How many come, and how many go."""

    @abstractmethod
    def columns(self) -> tuple[Sequence[Sequence[Value]], Sequence[int]]:
        """The rows column by column, and the count of each."""


def totals(delta: Delta) -> tuple[int, int]:
    """How many rows come with a change, and how many go, copies counted."""
    if not isinstance(delta, dict) and isinstance(delta, CountedDelta):
        return delta.totals
    counts = delta.values()
    coming = sum([n for n in counts if n > 0])
    return coming, coming - sum(counts)


@dataclass(frozen=True, slots=True)
class Update:
    """Changes to base tables that belong together: all of it happens, or none."""

    deltas: Mapping[str, Delta] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Commit:
    """One atomic change and what it did. `inserted` and `deleted` count rows per relation, views included."""

    version: Version
    timestamp: datetime.datetime
    inserted: Mapping[str, int]
    deleted: Mapping[str, int]
    elapsed: float
    metrics: Mapping[str, int | float] = field(default_factory=dict)
