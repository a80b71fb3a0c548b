"""Components, written out: each `.init` becomes the statements of its component, with names of their own.

A relation `r` of the instance `a` is `a.r`. Names that a component does not declare are those around it: of the
instance that it is part of, or of the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from lark import Token

from whence.errors import ArityError, ParseError, UnknownNameError, did_you_mean
from whence.lang.datalog import syntax
from whence.lang.datalog.literals import Places

DEEPEST = 50  # components in components; more of them are a circle


@dataclass(frozen=True)
class _Scope:
    """What names mean inside an instance: relations, types and instances by their full names, and components."""

    names: Mapping[str, str]
    types: Mapping[str, str]
    components: Mapping[str, syntax.Component]


def without_components(statements: Sequence[syntax.Statement], places: Places) -> list[syntax.Statement]:
    found = _components(statements, places, {})
    if not found and not any(isinstance(each, syntax.Instance) for each in statements):
        return list(statements)
    return list(_Expansion(places).of(statements, "", _Scope({}, {}, found), 0))


def _components(
    statements: Sequence[syntax.Statement], places: Places, around: Mapping[str, syntax.Component]
) -> dict[str, syntax.Component]:
    own = {places.name(each.kind.name): each for each in statements if isinstance(each, syntax.Component)}
    return {**around, **own}


class _Expansion:
    def __init__(self, places: Places) -> None:
        self._places = places

    def of(
        self, statements: Sequence[syntax.Statement], prefix: str, scope: _Scope, nesting: int
    ) -> Iterator[syntax.Statement]:
        """The statements of an instance whose names begin with `prefix`."""
        inside = _Scope(
            {**scope.names, **{name: f"{prefix}{name}" for name in self._declared(statements)}},
            {**scope.types, **{name: f"{prefix}{name}" for name in self._declared_types(statements)}},
            _components(statements, self._places, scope.components),
        )
        for each in statements:
            if isinstance(each, syntax.Instance):
                yield from self._instance(each, prefix, inside, nesting)
            elif not isinstance(each, syntax.Component | syntax.Override):
                yield _renamed(each, inside, self._places)

    def _declared(self, statements: Sequence[syntax.Statement]) -> Iterator[str]:
        for each in statements:
            match each:
                case syntax.Declaration():
                    yield from map(self._places.name, each.names)
                case syntax.Instance():
                    yield self._places.name(each.name)

    def _declared_types(self, statements: Sequence[syntax.Statement]) -> Iterator[str]:
        for each in statements:
            if isinstance(each, syntax.Alias | syntax.Instance):
                yield self._places.name(each.name)

    def _instance(
        self, instance: syntax.Instance, prefix: str, scope: _Scope, nesting: int
    ) -> Iterator[syntax.Statement]:
        if nesting > DEEPEST:
            raise ParseError("this component is made of itself", span=self._places.span(instance))
        statements, names, types = self._body(instance.component, scope, nesting)
        inner = _Scope({**scope.names, **names}, {**scope.types, **types}, scope.components)
        yield from self.of(statements, f"{prefix}{self._places.name(instance.name)}.", inner, nesting + 1)

    def _body(
        self, kind: syntax.ComponentType, scope: _Scope, nesting: int
    ) -> tuple[list[syntax.Statement], dict[str, str], dict[str, str]]:
        """The statements of a component, its bases' first, and what its parameters are as components and as types."""
        name = self._places.name(kind.name)
        name = scope.names.get(name, name)
        found = scope.components.get(name)
        if found is None or nesting > DEEPEST:
            raise UnknownNameError(
                f"there is no component {name!r}",
                span=self._places.span(kind),
                hint=did_you_mean(name, scope.components),
            )
        parameters = [self._places.name(each.name) for each in found.kind.types]
        if len(parameters) != len(kind.types):
            raise ArityError(
                f"the component {name!r} takes {len(parameters)} types, not {len(kind.types)}",
                span=self._places.span(kind),
            )
        given = [self._places.name(each.name) for each in kind.types]
        names = {each: scope.names.get(value, value) for each, value in zip(parameters, given, strict=True)}
        types = {each: scope.types.get(value, value) for each, value in zip(parameters, given, strict=True)}
        inner = _Scope({**scope.names, **names}, {**scope.types, **types}, scope.components)
        overridden = {self._places.name(each.name) for each in found.statements if isinstance(each, syntax.Override)}
        statements: list[syntax.Statement] = []
        for base in found.bases:
            inherited, more, more_types = self._body(base, inner, nesting + 1)
            names, types = {**more, **names}, {**more_types, **types}
            statements += [each for each in inherited if not self._defines(each, overridden)]
        return [*statements, *found.statements], names, types

    def _defines(self, statement: syntax.Statement, relations: set[str]) -> bool:
        return isinstance(statement, syntax.Clause) and any(
            self._places.name(head.name) in relations for head in statement.heads
        )


def _renamed(node: Any, scope: _Scope, places: Places) -> Any:
    """The statement with full names for relations and types. Variables stay as they are."""
    match node:
        case list():
            return [_renamed(each, scope, places) for each in node]
        case tuple():
            return tuple(_renamed(each, scope, places) for each in node)
        case Token():
            return node
    if not is_dataclass(node) or isinstance(node, type):
        return node
    changed = {field.name: _renamed(getattr(node, field.name), scope, places) for field in fields(node)}
    copied = replace(node, **changed)
    match copied:
        case syntax.CallNode() | syntax.HeadNode() | syntax.Target():
            copied.name = _full(copied.name, scope.names, places)
        case syntax.TypeName() | syntax.Alias():
            copied.name = _full(copied.name, scope.types, places)
        case syntax.Declaration():
            copied.names = [_full(name, scope.names, places) for name in copied.names]
    return copied


def _full(token: Token, names: Mapping[str, str], places: Places) -> Token:
    if token.startswith("$"):
        return token
    written = places.name(token)
    first, dot, rest = written.partition(".")
    full = names.get(written) or (names.get(first, first) + dot + rest)
    if full == written and "." not in full:
        return token
    return token.update(value=f"`{full}`" if "." in full else full)
