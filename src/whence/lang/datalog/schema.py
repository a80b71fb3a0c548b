"""Declarations, directives and types: from syntax to relations.

Types go by Soufflé's names, by Spark's names, and by aliases of either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lark import Token

from whence.errors import (
    DuplicateNameError,
    ParseError,
    TypeMismatchError,
    UnknownNameError,
    UnsupportedError,
    did_you_mean,
)
from whence.functions.structs import check_field_names
from whence.lang.datalog import syntax
from whence.lang.datalog.literals import Places, deeper, is_quoted
from whence.lang.datalog.record_types import declared_records, written_record
from whence.model.program import Directive
from whence.model.schema import Column, Relation, RowWindow, TimeToLive, duration
from whence.model.span import Span
from whence.model.types import BY_NAME, INTERVALS, TYPES, ArrayType, DecimalType, MapType, RecordType, StructType, Type
from whence.model.types.decimals import MAX_PRECISION

BUILT_IN: dict[str, Type] = {
    # As in Spark, DECIMAL alone holds whole numbers of ten digits.
    "DECIMAL": DecimalType(10, 0),
    **{name: kind for kind in TYPES for name in (kind.name, *kind.aliases, *kind.souffle)},
    **{kind.name: kind for kind in INTERVALS},
}
_SOUFFLE = [name.lower() for kind in TYPES for name in kind.souffle]
_REFUSALS = {name: kind.refusal for kind in TYPES if kind.refusal is not None for name in kind.refusal.names.values()}

_OF_OTHERS = {
    "ARRAY": ("an ARRAY needs the type of its elements", "ARRAY<INT>"),
    "MAP": ("a MAP needs the types of its keys and values", "MAP<STRING, INT>"),
    "STRUCT": ("a STRUCT needs the names and types of its fields", "STRUCT<a: INT, b: STRING>"),
}


class Types:
    """The types a text can name."""

    def __init__(self, places: Places, aliases: Iterable[syntax.Alias]) -> None:
        self._places = places
        self._aliases: dict[str, syntax.Alias] = {}
        self._resolved: dict[str, Type] = {}
        # Those whose members are being looked at: to meet one again is a circle.
        self._open: set[str] = set()
        for alias in aliases:
            self._add(alias)
        # Records and algebraic types, which may be of themselves.
        self.records = declared_records(self._aliases, places, self.type)
        self._resolved.update(self.records)
        for name in self._aliases:
            self._alias(name, 0)

    def type(self, node: syntax.TypeName | syntax.RecordTypeNode | syntax.Branch, nesting: int = 0) -> Type:
        span = self._places.span(node)
        if isinstance(node, syntax.RecordTypeNode):
            return written_record(node, self._places, self.type)
        assert isinstance(node, syntax.TypeName)
        if node.element is not None:
            element = self.type(node.element, deeper(nesting, span))
            if isinstance(element, RecordType):
                raise UnsupportedError(
                    f"{'an ARRAY' if node.key is None else 'a MAP'} has no records in it",
                    span=span,
                    hint="a list is a record: [head: T, tail: list]",
                )
            return ArrayType(element) if node.key is None else self._map(node.key, element, span, nesting)
        if node.fields is not None:
            return self._struct(node.fields, span, deeper(nesting, span))
        if node.parameters:
            return self._decimal(node)
        name = self._places.name(node.name)
        return self._alias(name, nesting) if name in self._aliases else self._built_in(node)

    def _map(self, node: syntax.TypeName | syntax.RecordTypeNode, value: Type, span: Span, nesting: int) -> MapType:
        key = self.type(node, deeper(nesting, span))
        if isinstance(key, RecordType) or not key.is_comparable:
            raise UnsupportedError(f"{key} cannot be the key of a map", span=span)
        return MapType(key, value)

    def _struct(self, fields: Sequence[syntax.ColumnNode], span: Span, nesting: int) -> StructType:
        found = [(self._places.name(each.name), self.type(each.type, nesting)) for each in fields]
        if any(isinstance(kind, RecordType) for _, kind in found):
            raise UnsupportedError("a STRUCT has no records in it", span=span, hint="a record may have records in it")
        check_field_names([name for name, _ in found], span)
        return StructType(found)

    def _built_in(self, node: syntax.TypeName) -> Type:
        name = " ".join(self._places.name(node.name).split())
        if not is_quoted(node.name) and name.upper() in BUILT_IN:
            return BUILT_IN[name.upper()]
        if name.upper() in _OF_OTHERS:
            what, example = _OF_OTHERS[name.upper()]
            raise ParseError(what, span=self._places.span(node), hint=f"like {example}")
        refusal = _REFUSALS.get(name.upper())
        if refusal is not None:
            raise UnsupportedError(
                f"the type {name} is not supported: {refusal.reason}", span=self._places.span(node), hint=refusal.hint
            )
        known = [*self._aliases, *BY_NAME, "DECIMAL", *_OF_OTHERS, *_SOUFFLE]
        hint = did_you_mean(name, known) or "the types are number, float, symbol and Spark's: STRING, INT, BIGINT, ..."
        raise UnknownNameError(f"there is no type {name!r}", span=self._places.span(node), hint=hint)

    def _decimal(self, node: syntax.TypeName) -> Type:
        span = self._places.span(node)
        if node.name.upper() != "DECIMAL":
            raise ParseError(f"the type {node.name} takes no numbers", span=span)
        precision, scale = (*(self._places.number(p) for p in node.parameters), 0)[:2]
        if not (1 <= precision <= MAX_PRECISION and scale <= precision):
            raise ParseError(
                f"a DECIMAL has at most {MAX_PRECISION} digits in all, and no more than that after the point",
                span=span,
                hint="like DECIMAL(10, 2)",
            )
        return DecimalType(precision, scale)

    def _add(self, alias: syntax.Alias) -> None:
        name, span = self._places.name(alias.name), self._places.span(alias.name)
        # Others than Soufflé's own names a program may take for itself, as Soufflé lets it.
        if name in (*_SOUFFLE, *BY_NAME, "DECIMAL", *_OF_OTHERS):
            raise DuplicateNameError(f"the type {name!r} is built in", span=span)
        if name in self._aliases:
            before = self._places.span(self._aliases[name].name)
            raise DuplicateNameError(
                f"the type {name!r} is declared twice", span=span, related=[("it is declared here first", before)]
            )
        self._aliases[name] = alias

    def _alias(self, name: str, nesting: int) -> Type:
        alias = self._aliases[name]
        span = self._places.span(alias.name)
        if name in self._open:
            raise ParseError(f"the type {name!r} is declared by way of itself", span=span)
        if name not in self._resolved:
            self._open.add(name)
            found = {self.type(member, deeper(nesting, span)): member for member in reversed(alias.members)}
            self._open.remove(name)
            if len(found) > 1:
                other, one = list(found)[-2:]
                raise TypeMismatchError(
                    f"the type {name!r} is {one} and {other} at once",
                    span=self._places.span(found[other]),
                    hint="all members of a union have to be of one type",
                )
            self._resolved[name] = next(iter(found))
        return self._resolved[name]


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

    def directives(self, directive: syntax.DirectiveNode) -> Iterator[Directive]:
        for target in directive.targets:
            yield Directive(
                directive.word[1:],
                self._places.name(target.name),
                tuple((self._places.name(key), self._parameter(value)) for key, value in target.parameters),
                span=self._places.between(directive.word, target),
            )

    def _columns(self, columns: Sequence[syntax.ColumnNode]) -> tuple[Column, ...]:
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
        written, *column = qualifier.arguments
        text = self._places.string(written)
        microseconds = duration(text)
        if microseconds is None:
            raise ParseError(
                f"{text!r} is no duration",
                span=self._places.span(written),
                hint='like "10 minutes" or "1 hour 30 seconds"',
            )
        if microseconds == 0:
            raise ParseError("rows have to live for some time", span=self._places.span(written))
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
