"""From one program to another: the statements that are different, as one change of definitions."""

from __future__ import annotations

from whence.adapt.redefine import DefinitionChange
from whence.errors import StateError, UnsupportedError
from whence.lang.sql.parse import parse_sql
from whence.model.program import Catalog, CreateTable, CreateView, Drop
from whence.model.schema import Relation


def change_program(change: DefinitionChange, old: str, new: str, names: tuple[str, str]) -> None:
    """Take what leads from the old script to the new one; both are complete, and statements about rows are left out.

    `names` are what errors call the scripts.
    """
    before = _definitions(old, names[0])
    after = _definitions(new, names[1])
    for name in before:
        if name not in after:
            change.drop(name)
    for name, statement in after.items():
        former = before.get(name)
        match statement:
            case CreateTable(relation=relation):
                if former is None:
                    change.define(statement)
                elif not isinstance(former, CreateTable) or _shape(former.relation) != _shape(relation):
                    raise UnsupportedError(
                        f"table {relation.name!r} is declared differently in the two programs",
                        span=relation.span,
                        hint="say with ALTER TABLE which column is which",
                    )
            case CreateView():
                is_same = isinstance(former, CreateView) and former.definition == statement.definition
                if not is_same:
                    change.define(statement)


def _shape(relation: Relation) -> object:
    return relation.columns, relation.key, relation.ttl, relation.window


def _definitions(text: str, name: str) -> dict[str, CreateTable | CreateView]:
    """What a script defines in the end, by name."""
    found: dict[str, CreateTable | CreateView] = {}
    for statement in parse_sql(text, Catalog(), name):
        match statement:
            case CreateTable(relation=relation):
                found.setdefault(relation.name, statement)
            case CreateView(name=view):
                found[view] = statement
            case Drop(name=gone):
                found.pop(gone, None)
    if not found:
        raise StateError(f"{name} defines nothing")
    return found
