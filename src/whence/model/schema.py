"""What a relation looks like: columns and their values, key, which of its rows live how long, defaults and comments."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whence.errors import DataError, shown
from whence.model.span import Located
from whence.model.types import MisfitError, Type, Value

_DEFAULT = "default."
_COMMENT = "comment."
COMMENT = "comment"


@dataclass(frozen=True, slots=True)
class Column(Located):
    name: str
    type: Type
    nullable: bool = True


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
class Relation(Located):
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

    def __hash__(self) -> int:
        # What is worked out for a relation is remembered by it, and hashing all its columns would cost as much.
        return hash(self.name)

    @property
    def arity(self) -> int:
        return len(self.columns)

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


def has_same_values(old: Relation, new: Relation) -> bool:
    """Whether rows of the one can be rows of the other: the columns have the same names and types."""
    return [(column.name, column.type) for column in old.columns] == [
        (column.name, column.type) for column in new.columns
    ]


# Front ends lower subqueries and body aggregates to relations of their own, named after the view they serve.
AUXILIARY_MARK = "$"


def owner(relation: str) -> str:
    """The view that an auxiliary relation serves: `cut_off$matched` serves `cut_off`."""
    return relation.partition(AUXILIARY_MARK)[0]


def is_auxiliary(relation: str) -> bool:
    return AUXILIARY_MARK in relation


def relation_named(relation: str) -> str:
    """A relation in a message."""
    return f"a subquery of {owner(relation)!r}" if is_auxiliary(relation) else repr(relation)


# In microseconds, largest first, as durations are written. No months: they have no fixed length.
DURATION_UNITS = {
    "week": 7 * 24 * 3600 * 10**6,
    "day": 24 * 3600 * 10**6,
    "hour": 3600 * 10**6,
    "minute": 60 * 10**6,
    "second": 10**6,
    "millisecond": 10**3,
    "microsecond": 1,
}
_DURATION = re.compile(r"\s*(?:\d{1,15}\s*[a-zA-Z]+\s*)+")
_PART = re.compile(r"(\d+)\s*([a-zA-Z]+)")


def duration(text: str) -> int | None:
    """The microseconds of `10 minutes`, `1 hour 30 seconds`; None where the text is no duration."""
    parts = [(int(number), unit.lower().removesuffix("s")) for number, unit in _PART.findall(text)]
    if not _DURATION.fullmatch(text) or any(unit not in DURATION_UNITS for _, unit in parts):
        return None
    return sum(number * DURATION_UNITS[unit] for number, unit in parts)


def duration_text(microseconds: int) -> str:
    """The duration in the largest unit that divides it."""
    unit, size = next(found for found in DURATION_UNITS.items() if microseconds % found[1] == 0)
    count = microseconds // size
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


# Most values are already as their column holds them, and that is quick to see.


def reader(column: Column) -> Callable[[object], Value]:
    """What `check_value` does for this column, quicker for values that need no change."""
    is_plain = column.type.is_plain

    def read(value: object) -> Value:
        return value if is_plain(value) else check_value(value, column)  # type: ignore[return-value]

    return read


def column_reader(column: Column) -> Callable[[Sequence[object]], Sequence[Value]]:
    """What `check_value` does, for many values at once. Values of which none needs a change come back as they are."""
    read = reader(column)
    plain, are_plain = column.type.python, column.type.are_plain
    with_null = {plain, type(None)}

    def read_all(values: Sequence[Any]) -> Sequence[Value]:
        classes = set(map(type, values))
        some = values
        if column.nullable and classes == with_null:
            some = [value for value in values if value is not None]
            classes = {plain}
        if classes == {plain} and are_plain(some):
            return values
        return [read(value) for value in values]

    return read_all


def check_value(value: object, column: Column) -> Value:
    """The value as the column holds it; raises DataError where it does not fit."""
    if value is None:
        if column.nullable:
            return None
        raise DataError(f"column {column.name!r} is NOT NULL, and the value is NULL")
    try:
        return column.type.accept(value)
    except MisfitError as misfit:
        raise DataError(
            f"column {column.name!r} is {column.type}, and {shown(value)} does not fit: {misfit.reason}",
            hint=misfit.hint,
        ) from None


def default_property(column: Column, value: Value) -> tuple[str, str]:
    return f"{_DEFAULT}{column.name}", json.dumps(None if value is None else column.type.to_json(value))


def comment_property(column: Column, text: str) -> tuple[str, str]:
    return f"{_COMMENT}{column.name}", text


def defaults(relation: Relation) -> Mapping[str, Value]:
    """The values of columns that are left out, by name; columns without one are not there."""
    types = {column.name: column.type for column in relation.columns}
    found: dict[str, Value] = {}
    for key, text in relation.properties:
        name = key.removeprefix(_DEFAULT)
        if key.startswith(_DEFAULT) and name in types:
            value = json.loads(text)
            found[name] = None if value is None else types[name].from_json(value)
    return found


def comments(relation: Relation) -> Mapping[str, str]:
    """What was said of columns, by name."""
    return {key.removeprefix(_COMMENT): text for key, text in relation.properties if key.startswith(_COMMENT)}


def comment(relation: Relation) -> str:
    """What was said of the table."""
    return dict(relation.properties).get(COMMENT, "")


def is_said_of_columns(key: str) -> bool:
    """Whether a property is a default or a comment, and none that a user gives as a property."""
    return key == COMMENT or key.startswith((_DEFAULT, _COMMENT))


def renamed_properties(relation: Relation, renamed: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The properties of a table whose columns have other names, by the old ones; what is not there is gone."""
    found: list[tuple[str, str]] = []
    for key, text in relation.properties:
        prefix = next((each for each in (_DEFAULT, _COMMENT) if key.startswith(each)), None)
        if prefix is None:
            found.append((key, text))
        elif key.removeprefix(prefix) in renamed:
            found.append((prefix + renamed[key.removeprefix(prefix)], text))
    return tuple(sorted(found))
