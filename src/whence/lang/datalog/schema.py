"""`.decl` and the directives: from syntax to relations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lark import Token

from whence.errors import DuplicateNameError, ParseError, UnknownNameError, did_you_mean
from whence.lang.datalog import syntax
from whence.lang.datalog.places import Places
from whence.lang.datalog.types import Types
from whence.model.program import Directive
from whence.model.schema import Column, Relation, RowWindow, TimeToLive

# Largest first, as durations are written. No months: they have no fixed length.
UNITS = {
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


class Schemas:
    """Reads the declarations and directives of one text."""

    def __init__(self, places: Places, types: Types) -> None:
        self._places = places
        self._types = types

    def relations(self, declaration: syntax.Declaration) -> Iterator[Relation]:
        """One relation per declared name: `.decl a, b(x: number)` gives both the same columns."""
        columns = self._columns(declaration.columns)
        names = [column.name for column in columns]
        bag = self._qualifiers(declaration, "bag")
        keys = self._qualifiers(declaration, "key")
        partitions = self._qualifiers(declaration, "partition")
        lives = self._qualifiers(declaration, "ttl")
        windows = self._qualifiers(declaration, "window")
        if bag and keys:
            raise ParseError("a relation with a key is a set, not a bag", span=self._places.span(bag[0]))
        key = tuple(self._column(name, names) for name in keys[0].arguments) if keys else ()
        partition = self._partition(partitions[0], names) if partitions else None
        ttl = self._time_to_live(lives[0], names) if lives else None
        window = self._window(windows[0], names) if windows else None
        properties = tuple(
            (self._places.string(each.arguments[0]), self._places.string(each.arguments[1]))
            for each in declaration.qualifiers
            if each.word == "property"
        )
        for name in declaration.names:
            yield Relation(
                self._places.name(name),
                columns,
                distinct=not bag,
                key=key,
                partition=partition,
                ttl=ttl,
                window=window,
                properties=properties,
                span=self._places.span(name),
            )

    def directives(self, directive: syntax.Directive) -> Iterator[Directive]:
        for target in directive.targets:
            yield Directive(
                directive.word[1:],
                self._places.name(target.name),
                tuple((self._places.name(key), self._parameter(value)) for key, value in target.parameters),
                span=self._places.between(directive.word, target),
            )

    def _columns(self, columns: Sequence[syntax.Column]) -> tuple[Column, ...]:
        seen: dict[str, Column] = {}
        for each in columns:
            column = Column(
                self._places.name(each.name),
                self._types.type(each.type),
                each.nullable,
                span=self._places.span(each.name),
            )
            if column.name in seen:
                raise DuplicateNameError(
                    f"two columns are called {column.name!r}",
                    span=column.span,
                    related=[("the first is here", seen[column.name].span)],
                )
            seen[column.name] = column
        return tuple(seen.values())

    def _qualifiers(self, declaration: syntax.Declaration, word: str) -> list[syntax.Qualifier]:
        found = [each for each in declaration.qualifiers if each.word == word]
        if len(found) > 1:
            raise ParseError(f"{word!r} is said twice", span=self._places.span(found[1]))
        return found

    def _partition(self, qualifier: syntax.Qualifier, columns: list[str]) -> str:
        if len(qualifier.arguments) > 1:
            raise ParseError("a relation is partitioned by one column", span=self._places.span(qualifier.arguments[1]))
        return self._column(qualifier.arguments[0], columns)

    def _time_to_live(self, qualifier: syntax.Qualifier, columns: list[str]) -> TimeToLive:
        duration, *column = qualifier.arguments
        text = self._places.string(duration)
        found = [(int(n), unit.lower().removesuffix("s")) for n, unit in _PART.findall(text)]
        if not _DURATION.fullmatch(text) or any(unit not in UNITS for _, unit in found):
            raise ParseError(
                f"{text!r} is no duration",
                span=self._places.span(duration),
                hint='like "10 minutes" or "1 hour 30 seconds"',
            )
        microseconds = sum(n * UNITS[unit] for n, unit in found)
        if microseconds == 0:
            raise ParseError("rows have to live for some time", span=self._places.span(duration))
        return TimeToLive(microseconds, self._column(column[0], columns) if column else None)

    def _window(self, qualifier: syntax.Qualifier, columns: list[str]) -> RowWindow:
        rows, *partition = qualifier.arguments
        return RowWindow(self._places.number(rows), tuple(self._column(name, columns) for name in partition))

    def _column(self, token: Token, columns: list[str]) -> str:
        name = self._places.name(token)
        if name not in columns:
            raise UnknownNameError(
                f"there is no column {name!r}", span=self._places.span(token), hint=did_you_mean(name, columns)
            )
        return name

    def _parameter(self, value: Token) -> str:
        return self._places.string(value) if value.type == "STRING" else self._places.name(value)


def duration_text(microseconds: int) -> str:
    """The duration in the largest unit that divides it."""
    for unit, length in UNITS.items():
        if microseconds % length == 0:
            count = microseconds // length
            return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
    return f"{microseconds} microseconds"
