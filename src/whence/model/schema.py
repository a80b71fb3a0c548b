"""What a relation looks like: columns, key, and which of its rows live how long."""

from __future__ import annotations

from dataclasses import dataclass, field

from whence.model.span import Span
from whence.model.types import Type


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: Type
    nullable: bool = True
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class TimeToLive:
    """Rows leave `microseconds` after the time in `column`, or after they were inserted without one."""

    microseconds: int
    column: str | None = None


@dataclass(frozen=True, slots=True)
class RowWindow:
    """Of the rows that agree in the `partition` columns, only the newest `rows` live, copies counted.

    The newest are those that came last, or those with the latest time where the time to live counts from a column.
    """

    rows: int
    partition: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Relation:
    """The schema of a base table or a view.

    `distinct` tells a set from a bag: a key makes a table a set, DISTINCT or UNION a view, and Datalog relations
    are sets. `properties` are table properties that whence passes on to a source.
    """

    name: str
    columns: tuple[Column, ...]
    distinct: bool = False
    key: tuple[str, ...] = ()
    partition: str | None = None
    ttl: TimeToLive | None = None
    window: RowWindow | None = None
    properties: tuple[tuple[str, str], ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __hash__(self) -> int:
        # What is worked out for a relation is remembered by it, and hashing all its columns would cost as much.
        return hash(self.name)

    @property
    def arity(self) -> int:
        return len(self.columns)

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


# Front ends lower subqueries and body aggregates to relations of their own, named after the view they serve.
AUXILIARY_MARK = "$"


def owner(relation: str) -> str:
    """The view that an auxiliary relation serves: `cut_off$matched` serves `cut_off`."""
    return relation.partition(AUXILIARY_MARK)[0]


def is_auxiliary(relation: str) -> bool:
    return AUXILIARY_MARK in relation
