"""The rows that are there, others that are assumed to be, and the values that can be assumed, while one question is
answered.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from itertools import chain, count, islice
from typing import NamedTuple

from whence.analysis.analyze import Analysis
from whence.deadline import end_of_search
from whence.engines.engine import RowsMissingError
from whence.errors import DataError, UnsupportedError
from whence.explain.hypothetical.contents import DatabaseContents, LimitReachedError
from whence.explain.proofs.reasons import Fact
from whence.explain.proofs.text import Pattern
from whence.incremental.keyed import key_positions
from whence.model.program import Functions
from whence.model.rules import Rule, rule_terms
from whence.model.schema import Relation, check_value
from whence.model.terms import Constant, walk
from whence.model.types import Row, Type, Value


class Hypothesis:
    """What rules can be tried on. Every look at it is a step; there is a limit to their number and their time."""

    def __init__(
        self,
        contents: DatabaseContents,
        analysis: Analysis,
        functions: Functions,
        steps: int,
        seconds: float,
    ) -> None:
        self.contents = contents
        self.relations = analysis.relations
        self.functions = functions
        self.rules: dict[str, list[Rule]] = {}
        for rule in analysis.program.rules:
            self.rules.setdefault(rule.head.relation, []).append(rule)
        # Those of which a row follows from rows by a few uses of rules, and not by any number of them.
        self.plain = {
            name
            for component in analysis.components
            for name in component.relations
            if component.rules and not component.recursive and name not in component.aggregated
        }
        tables = (relation for name, relation in analysis.relations.items() if name not in self.rules)
        self.known = KnownValues(contents, tables, (rule for found in self.rules.values() for rule in found))
        self._steps = steps
        self._end = end_of_search(seconds)
        self._assumed: dict[str, list[Row]] = {}
        self.assumed: frozenset[Fact] = frozenset()
        self._free: dict[Fact, frozenset[int]] = {}

    def assume(self, facts: frozenset[Fact]) -> None:
        """These rows are there as well, and no others."""
        if facts != self.assumed:
            self.assumed, self._assumed = facts, {}
            for relation, row in facts:
                self._assumed.setdefault(relation, []).append(row)

    def note_free(self, fact: Fact, positions: frozenset[int]) -> None:
        """In these columns, any other value would have done as well."""
        self._free[fact] = positions & self._free.get(fact, positions)

    def shape(self, facts: frozenset[Fact]) -> frozenset[tuple[str, Pattern]]:
        """What matters about rows."""
        return frozenset((fact[0], self.pattern(fact)) for fact in facts)

    def pattern(self, fact: Fact) -> Pattern:
        free = self._free.get(fact, ())
        return tuple(... if at in free else value for at, value in enumerate(fact[1]))

    def varied(self, fact: Fact) -> Fact:
        """The row with other values where they do not matter."""
        name, row = fact
        others = {at: self.known.new(ColumnPlace(name, at)) for at in self._free.get(fact, ())}
        return name, tuple(value if others.get(at) is None else others[at] for at, value in enumerate(row))

    def hurry(self, steps: int) -> None:
        """From now on there are no more than so many steps."""
        self._steps = min(self._steps, steps)

    def step(self) -> None:
        self._steps -= 1
        if self._steps < 0 or (self._steps % 64 == 0 and time.monotonic() > self._end):
            raise LimitReachedError

    def is_table(self, relation: str) -> bool:
        return relation not in self.rules

    def is_key(self, table: str, position: int) -> bool:
        """Whether a column belongs to the key of a table."""
        return position in key_positions(self.relations[table])

    def has(self, relation: str, row: Row) -> bool:
        self.step()
        return (relation, row) in self.assumed or self.contents.count(relation, row) > 0

    def matching(self, relation: str, positions: tuple[int, ...], key: Row) -> Iterator[Row]:
        """The rows that hold a key, one by one, since the search may end at any of them."""
        for row in self._assumed.get(relation, ()):
            if all(row[position] == value for position, value in zip(positions, key, strict=True)):
                yield row
        self.step()
        for row in self.contents.matching(relation, positions, key):
            self.step()
            yield row


# So many values of its own column come first for a cell: they make sense there.
_AT_HOME = 100


class ColumnPlace(NamedTuple):
    """The column of a table that a value is to stand in."""

    table: str
    position: int


class KnownValues:
    """By type. Tables are read as far as values are asked for, and each value is told once.

    `is_partial` tells whether a table was left out, since it is too large to be read.
    """

    def __init__(self, contents: DatabaseContents, tables: Iterable[Relation], rules: Iterable[Rule]) -> None:
        self._contents = contents
        self._tables = tuple(tables)
        self._constants = [constant for rule in rules for constant in _constants(rule)]
        self._asked: list[tuple[Value, Type]] = []
        self._found: dict[tuple[Type, ColumnPlace | None], _Told] = {}
        self._new: dict[ColumnPlace, Value] = {}
        self.is_partial = False

    def ask(self, values: Mapping[int, Value], relation: Relation) -> None:
        """The question is about these values, by column."""
        self._asked += [(value, relation.columns[at].type) for at, value in values.items()]

    def of(self, kind: Type, home: ColumnPlace | None) -> Iterator[Value]:
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

    def new(self, home: ColumnPlace) -> Value:
        """A value that the column does not have yet; None where none can be thought of."""
        if home not in self._new:
            taken = {row[home.position] for row in self._rows(home.table)}
            column = next(each for each in self._tables if each.name == home.table).columns[home.position]
            self._new[home] = None
            with suppress(DataError, OverflowError):
                # After the last one that fits there is none.
                self._new[home] = check_value(_next_to(taken - {None}), column)
        return self._new[home]

    def _from(self, home: ColumnPlace, kind: Type) -> Iterator[Value]:
        at_home = _Told(row[home.position] for row in self._rows(home.table))
        return chain(islice(at_home, _AT_HOME), self.of(kind, None))

    def _read(self, kind: Type) -> Iterator[Value]:
        yield from (value for value, of_kind in self._asked if of_kind.family == kind.family)
        yield from (constant.value for constant in self._constants if constant.type.family == kind.family)
        for table in self._tables:
            positions = [at for at, column in enumerate(table.columns) if column.type.family == kind.family]
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
    """Values in the order of a source, each once and never NULL, remembered for the next reader."""

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
    if not all(isinstance(value, str | datetime.date | int | float | Decimal) for value in taken):
        # Arrays and the like, which need not even have an order.
        return None
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


def _constants(rule: Rule) -> Iterator[Constant]:
    return (part for term in rule_terms(rule) for part in walk(term) if isinstance(part, Constant))
