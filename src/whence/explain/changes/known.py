"""The values that a database knows: those of its tables, of its rules, and of the question."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from itertools import chain, count, islice
from typing import NamedTuple

from whence.engines.evidence import RowsMissingError
from whence.errors import DataError, UnsupportedError
from whence.explain.changes.contents import Contents
from whence.functions.values import check_value
from whence.model.rules import Rule, rule_terms
from whence.model.schema import Relation
from whence.model.terms import Constant, walk
from whence.model.types import BIGINT, INT, Row, Type, Value

_WHOLE = (INT, BIGINT)
# So many values of its own column come first for a cell: they make sense there.
_AT_HOME = 100


class Home(NamedTuple):
    """The column of a table that a value is to stand in."""

    table: str
    position: int


class KnownValues:
    """By type. Tables are read as far as somebody asks, and each value is told once.

    `is_partial` tells whether a table was left out, since it is too large to be read.
    """

    def __init__(self, contents: Contents, tables: Iterable[Relation], rules: Iterable[Rule]) -> None:
        self._contents = contents
        self._tables = tuple(tables)
        self._constants = [constant for rule in rules for constant in _constants(rule)]
        self._asked: list[tuple[Value, Type]] = []
        self._found: dict[tuple[Type, Home | None], _Told] = {}
        self._new: dict[Home, Value] = {}
        self.is_partial = False

    def ask(self, values: Mapping[int, Value], relation: Relation) -> None:
        """The question is about these values, by column."""
        self._asked += [(value, relation.columns[at].type) for at, value in values.items()]

    def of(self, kind: Type, home: Home | None) -> Iterator[Value]:
        """Those of the type, and of its home first."""
        told = self._found.get((kind, home))
        if told is None:
            told = self._found[kind, home] = _Told(self._read(kind) if home is None else self._from(home, kind))
        try:
            yield from told
        except RowsMissingError:
            # What has failed once would seem to be at its end.
            del self._found[kind, home]
            raise

    def new(self, home: Home) -> Value:
        """A value that the column does not have yet; None where none can be thought of."""
        if home not in self._new:
            taken = {row[home.position] for row in self._rows(home.table)}
            column = next(each for each in self._tables if each.name == home.table).columns[home.position]
            self._new[home] = None
            with suppress(DataError, OverflowError):
                # After the last one that fits there is none.
                self._new[home] = check_value(_next_to(taken - {None}), column)
        return self._new[home]

    def _from(self, home: Home, kind: Type) -> Iterator[Value]:
        at_home = _Told(row[home.position] for row in self._rows(home.table))
        return chain(islice(at_home, _AT_HOME), self.of(kind, None))

    def _read(self, kind: Type) -> Iterator[Value]:
        yield from (value for value, of_kind in self._asked if _is_like(of_kind, kind))
        yield from (constant.value for constant in self._constants if _is_like(constant.type, kind))
        for table in self._tables:
            positions = [at for at, column in enumerate(table.columns) if _is_like(column.type, kind)]
            if positions:
                for row in self._rows(table.name):
                    yield from (row[position] for position in positions)

    def _rows(self, table: str) -> Iterator[Row]:
        try:
            return self._contents.rows(table)
        except UnsupportedError:
            self.is_partial = True
            return iter(())


class _Told:
    """Values in the order of a source, each once and never NULL, remembered for whoever asks again."""

    def __init__(self, source: Iterator[Value]) -> None:
        self._source = source
        self._values: list[Value] = []
        self._seen: set[Value] = {None}

    def __iter__(self) -> Iterator[Value]:
        at = 0
        while True:
            while at < len(self._values):
                yield self._values[at]
                at += 1
            value = next((value for value in self._source if value not in self._seen), None)
            if value is None:
                return
            self._seen.add(value)
            self._values.append(value)


def _next_to(taken: set[Value]) -> Value:
    match max(taken, default=None):  # type: ignore[type-var]
        case str():
            return next(name for name in map("new{}".format, chain([""], count(2))) if name not in taken)
        case datetime.date() as last:
            return last + datetime.timedelta(days=1)
        case bool():
            return None
        case int() | float() | Decimal() as last:
            return last + 1
    return None


def _is_like(kind: Type, other: Type) -> bool:
    return kind == other or (kind in _WHOLE and other in _WHOLE)


def _constants(rule: Rule) -> Iterator[Constant]:
    return (part for term in rule_terms(rule) for part in walk(term) if isinstance(part, Constant))
