"""What a script may name: the catalog, and what the script itself has defined so far."""

from __future__ import annotations

from dataclasses import replace

from whence.errors import DuplicateNameError, UnknownNameError, did_you_mean
from whence.model.program import AlterTable, Catalog, CreateTable, CreateView, Drop, Statement
from whence.model.schema import Relation, is_auxiliary, owner
from whence.model.span import Span


class KnownRelations:
    """Relations by name in any letter case. Neither it nor a look at it depends on how many there are."""

    def __init__(self, catalog: Catalog) -> None:
        self.functions = catalog.functions
        self._catalog = catalog
        # What the script defines, None for what it drops; by lower-case names.
        self._changed: dict[str, Relation | None] = {}
        self._views: set[str] = set()
        self._parts: dict[str, list[str]] = {}

    def find(self, name: str) -> Relation | None:
        name = name.lower()
        return self._changed[name] if name in self._changed else self._catalog.find(name)

    def extended(self, relation: Relation) -> KnownRelations:
        """With a table that is about to be."""
        extended = KnownRelations(self._catalog)
        extended._changed = {**self._changed, relation.name.lower(): relation}
        extended._views = {*self._views}
        return extended

    def is_view(self, relation: Relation) -> bool:
        name = relation.name
        return name in (self._views if name.lower() in self._changed else self._catalog.views)

    def names(self) -> list[str]:
        """All that a user has named."""
        known = [name for name in self._catalog.relations if name.lower() not in self._changed]
        return known + [r.name for r in self._changed.values() if r is not None and not is_auxiliary(r.name)]

    def apply(self, statement: Statement) -> None:
        """Go on as if the statement had been executed; refuse what could not be."""
        match statement:
            case CreateTable(relation=relation):
                if not self._taken(relation.name, statement.if_not_exists, relation.span, replace=False):
                    self._add(relation, is_view=False)
            case CreateView(name=name, definition=definition):
                place = definition.relations[-1].span
                if not self._taken(name, statement.if_not_exists, place, replace=statement.replace):
                    for relation in definition.relations:
                        self._add(relation, is_view=True)
            case AlterTable(relation=name, columns=columns):
                table = self.find(name)
                assert table is not None
                self._changed[name.lower()] = replace(table, columns=tuple(each.column for each in columns))
            case Drop():
                self._drop(statement)

    def _add(self, relation: Relation, *, is_view: bool) -> None:
        self._changed[relation.name.lower()] = relation
        self._parts.setdefault(owner(relation.name).lower(), []).append(relation.name)
        if is_view:
            self._views.add(relation.name)

    def _taken(self, name: str, accept: bool, span: Span | None, *, replace: bool) -> bool:
        old = self.find(name)
        if old is None or accept:
            return old is not None
        if replace and self.is_view(old):
            self._forget(old.name)
            return False
        what = "view" if self.is_view(old) else "table"
        raise DuplicateNameError(
            f"there is a {what} named {old.name!r} already",
            span=span,
            related=[("it was defined here", old.span)] if old.span is not None else (),
            hint="DROP it first" + (", or CREATE OR REPLACE VIEW" if what == "view" else ""),
        )

    def _drop(self, statement: Drop) -> None:
        old = self.find(statement.name)
        if old is None:
            if statement.if_exists:
                return
            raise UnknownNameError(
                f"unknown table or view {statement.name!r}",
                span=statement.span,
                hint=did_you_mean(statement.name, self.names()),
            )
        what = "view" if self.is_view(old) else "table"
        if what.upper() != statement.kind:
            raise UnknownNameError(f"{old.name!r} is a {what}", span=statement.span, hint=f"use DROP {what.upper()}")
        self._forget(old.name)

    def _forget(self, name: str) -> None:
        for part in self._parts.pop(name.lower(), [name]):
            self._changed[part.lower()] = None
            self._views.discard(part)
