"""Rows to entries: the sort keys as one value that Python compares as SQL orders them, and the columns likewise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from operator import itemgetter
from typing import Any, TypeAlias

from whence.incremental.aggregates import best_first
from whence.incremental.windows.ordered_rows import Entry
from whence.model.rules import Atom, Rule
from whence.model.schema import Column, Relation
from whence.model.terms import Frame, SortKey, Term, Variable, Window
from whence.model.types import Row, Type

_Part: TypeAlias = Callable[[Row], Any]

_FIRST_MOMENT = datetime(1, 1, 1)  # noqa: DTZ001 - a TIMESTAMP is what a clock shows

# NULL and other values, in whichever order they come.
_NULL_FIRST = (0, 0)
_NULL_LAST = (2, 0)


class RowOrder:
    """The partition of each row of a rule's atom, and its entry there."""

    def __init__(self, rule: Rule, below: Relation) -> None:
        (atom,) = rule.body
        assert isinstance(atom, Atom)
        self._columns = below.columns
        self._places = {term.name: place for place, term in enumerate(atom.terms) if isinstance(term, Variable)}
        windows = [term for term in rule.head.terms if isinstance(term, Window)]
        self.partition: Callable[[Row], Any] = _picked([self.place(term) for term in windows[0].partition])
        measured = any(_measures(window.frame) for window in windows)
        parts = [self._part(key, measured=measured) for key in windows[0].order]
        self._key: _Part = parts[0] if len(parts) == 1 else lambda row: tuple([part(row) for part in parts])
        columns = [_ascending(at, column) for at, column in enumerate(below.columns)]
        # Rows without NULL, of types that Python orders as SQL does, are their own keys.
        self._tie: _Part | None = None
        if any(column.nullable or column.type.sort_key is not None for column in below.columns):
            self._tie = lambda row: tuple([column(row) for column in columns])

    def place(self, term: Term) -> int:
        """The column of the atom that a variable stands for."""
        assert isinstance(term, Variable)
        return self._places[term.name]

    def entry(self, row: Row) -> Entry:
        return (self._key(row), row if self._tie is None else self._tie(row), row)

    def entries(self, rows: Sequence[Row]) -> list[Entry]:
        """Those of many rows, in order."""
        key, tie = self._key, self._tie
        if tie is None:
            return sorted([(key(row), row, row) for row in rows])
        return sorted([(key(row), tie(row), row) for row in rows])

    def _part(self, key: SortKey, *, measured: bool) -> _Part:
        at = self.place(key.term)
        column = self._columns[at]
        value = _measured(column.type, key.descending) if measured else _ordered(column.type, key.descending)
        return _with_null(at, value, column.nullable, nulls_last=key.nulls_last)


def _measures(frame: Frame | None) -> bool:
    """Whether a frame goes by how far the values of the sort key are apart."""
    return (
        frame is not None and frame.unit == "range" and any(b is not None and b.value for b in (frame.start, frame.end))
    )


def _picked(places: Sequence[int]) -> Callable[[Row], Any]:
    return itemgetter(*places) if places else lambda _: ()


def _ordered(kind: Type, descending: bool) -> Callable[[Any], Any] | None:
    if descending:
        return best_first("max", kind)
    return kind.sort_key


def _measured(kind: Type, descending: bool) -> Callable[[Any], Any] | None:
    """Values as numbers, so that distances can be added to them."""
    number = as_number(kind)
    if not descending:
        return number
    return best_first("max", kind) if number is None else (lambda value: -number(value))


def as_number(kind: Type) -> Callable[[Any], Any] | None:
    """Days of a DATE, microseconds of a TIMESTAMP; None for what is a number anyway."""
    if issubclass(kind.python, datetime):
        return lambda value: (value - _FIRST_MOMENT) // datetime.resolution
    return date.toordinal if issubclass(kind.python, date) else None


def _with_null(at: int, value: Callable[[Any], Any] | None, nullable: bool, *, nulls_last: bool) -> _Part:
    if not nullable:
        return itemgetter(at) if value is None else lambda row: value(row[at])
    null = _NULL_LAST if nulls_last else _NULL_FIRST
    if value is None:
        return lambda row: null if row[at] is None else (1, row[at])
    return lambda row: null if row[at] is None else (1, value(row[at]))


def _ascending(at: int, column: Column) -> _Part:
    return _with_null(at, column.type.sort_key, column.nullable, nulls_last=False)
