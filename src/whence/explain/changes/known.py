"""The values that a database knows: those of its tables, of its rules, and of the question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from whence.explain.changes.contents import Contents
from whence.model.rules import Rule, rule_terms
from whence.model.schema import Relation
from whence.model.terms import Constant, walk
from whence.model.types import BIGINT, INT, Type, Value

_WHOLE = (INT, BIGINT)


class KnownValues:
    """By type. Tables are read as far as somebody asks, and each value is told once."""

    def __init__(self, contents: Contents, tables: Iterable[Relation], rules: Iterable[Rule]) -> None:
        self._contents = contents
        self._tables = tuple(tables)
        self._constants = [constant for rule in rules for constant in _constants(rule)]
        self._asked: list[tuple[Value, Type]] = []
        self._found: dict[Type, _Told] = {}

    def ask(self, values: Mapping[int, Value], relation: Relation) -> None:
        """The question is about these values, by column."""
        self._asked += [(value, relation.columns[at].type) for at, value in values.items()]

    def of(self, kind: Type) -> Iterator[Value]:
        told = self._found.get(kind)
        if told is None:
            told = self._found[kind] = _Told(self._read(kind))
        return iter(told)

    def _read(self, kind: Type) -> Iterator[Value]:
        yield from (value for value, of_kind in self._asked if _is_like(of_kind, kind))
        yield from (constant.value for constant in self._constants if _is_like(constant.type, kind))
        for table in self._tables:
            positions = [at for at, column in enumerate(table.columns) if _is_like(column.type, kind)]
            if positions:
                for row in self._contents.rows(table.name):
                    yield from (row[position] for position in positions)


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


def _is_like(kind: Type, other: Type) -> bool:
    return kind == other or (kind in _WHOLE and other in _WHOLE)


def _constants(rule: Rule) -> Iterator[Constant]:
    return (part for term in rule_terms(rule) for part in walk(term) if isinstance(part, Constant))
