"""The types of records and of algebraic data types that a text declares.

.type list = [head: number, tail: list]
.type shape = Circle {r: float} | Empty {}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from whence.errors import DuplicateNameError, ParseError, UnsupportedError
from whence.lang.datalog import syntax
from whence.lang.datalog.literals import Places
from whence.model.types import RecordType, Type
from whence.model.types.records import ONLY, record_types

PlainType: TypeAlias = Callable[[syntax.TypeName], Type]
# What a name stands for where it is one of the records that are being declared: that record's own name.
Labels: TypeAlias = Callable[[str], str | None]


def declared_records(aliases: Mapping[str, syntax.Alias], places: Places, plain: PlainType) -> dict[str, RecordType]:
    """The record types among aliases, by name."""
    found = {name: branches for name, alias in aliases.items() if (branches := _branches(alias, places)) is not None}
    return _made(found, lambda name: _label(name, aliases, found.keys()), places, plain)


def written_record(node: syntax.RecordTypeNode, places: Places, plain: PlainType) -> RecordType:
    """A type that is written out where it is used, with the types that it mentions."""
    if node.name is None:
        raise UnsupportedError(
            "a record type has a name", span=places.span(node), hint="declare it: .type T = [x: number, y: number]"
        )
    found = {places.name(each.name): each.branches for each in _inner(node) if each.name is not None}
    return _made(found, lambda name: name if name in found else None, places, plain)[places.name(node.name)]


def branch_types(records: Mapping[str, RecordType]) -> dict[str, RecordType]:
    """The type that each branch belongs to."""
    return {branch: kind for kind in records.values() if not kind.has_nil for branch in kind.branches}


def _branches(alias: syntax.Alias, places: Places) -> list[syntax.Branch] | None:
    match alias.members:
        case [syntax.RecordTypeNode(name=None, branches=branches)]:
            return branches
    branches = [each for each in alias.members if isinstance(each, syntax.Branch)]
    if branches and len(branches) < len(alias.members):
        other = next(each for each in alias.members if not isinstance(each, syntax.Branch))
        raise ParseError(
            "a type has branches, or it is a union of types",
            span=places.span(other),
            hint="a branch without fields is written Name {}",
        )
    return branches or None


def _label(name: str, aliases: Mapping[str, syntax.Alias], records: object) -> str | None:
    """The record that a name stands for, by way of other names."""
    seen: set[str] = set()
    while name in aliases and name not in seen:
        if name in records:  # type: ignore[operator]
            return name
        seen.add(name)
        match aliases[name].members[0]:
            case syntax.TypeName(name=token, element=None):
                name = str(token).strip("`")
            case _:
                return None
    return None


def _inner(node: syntax.RecordTypeNode) -> Iterator[syntax.RecordTypeNode]:
    todo = [node]
    while todo:
        here = todo.pop()
        yield here
        todo += [f.type for b in here.branches for f in b.fields if isinstance(f.type, syntax.RecordTypeNode)]


def _made(
    found: Mapping[str, list[syntax.Branch]], label: Labels, places: Places, plain: PlainType
) -> dict[str, RecordType]:
    declared: dict[str, dict[str, list[tuple[str, Type | str]]]] = {}
    seen: dict[str, syntax.Branch] = {}
    for name, branches in found.items():
        declared[name] = {}
        for branch in branches:
            if branch.name is None and not branch.fields:
                raise ParseError("a record has at least one field", span=places.span(branch))
            known = ONLY if branch.name is None else places.name(branch.name)
            if known and known in seen:
                raise DuplicateNameError(
                    f"two branches are called {known!r}",
                    span=places.span(branch),
                    related=[("the first is here", places.span(seen[known]))],
                )
            seen[known] = branch
            declared[name][known] = [_field(field, label, places, plain) for field in branch.fields]
    return record_types(declared)


def _field(field: syntax.ColumnNode, label: Labels, places: Places, plain: PlainType) -> tuple[str, Type | str]:
    if field.nullable:
        raise UnsupportedError("a field of a record cannot be NULL", span=places.span(field))
    name = places.name(field.name)
    if isinstance(field.type, syntax.RecordTypeNode):
        if field.type.name is None:
            raise UnsupportedError("a record type inside of another has a name of its own", span=places.span(field))
        return name, places.name(field.type.name)
    mentioned = label(places.name(field.type.name)) if field.type.element is None else None
    return name, mentioned or plain(field.type)
