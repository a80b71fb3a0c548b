"""One step from old definitions to new ones: statements, rules and rows are collected, and become one commit."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

from whence.adapt.mappings import add_mappings, add_views
from whence.adapt.peer_members import add_members, members_of
from whence.adapt.preview import Preview, previewed
from whence.errors import DuplicateNameError, ParseError, StateError, UnknownNameError, UnsupportedError, did_you_mean
from whence.lang.datalog.mappings import MappingProgram, parse_mappings
from whence.lang.datalog.parse import parse_datalog
from whence.lang.sql.parse import parse_sql
from whence.model.program import AlterTable, Catalog, CreateTable, CreateView, Drop, InsertValues, Program
from whence.model.schema import Relation
from whence.model.updates import Commit, Delta
from whence.rewriting.adaptation import Adaptation
from whence.rewriting.search import SearchLimits
from whence.session.altered_tables import redefined_draft
from whence.session.changes import Change, Delete, Insert, deletion
from whence.session.draft import Draft
from whence.session.redefinition import Redefined, Redefinition
from whence.session.session import Session
from whence.sources.source import read_rows, read_source, table_source
from whence.sources.text_files import decode

# The session, to be read or to be changed.
OpenSession: TypeAlias = Callable[[], AbstractContextManager[Session]]


class DefinitionChange:
    """Changes in the order they were made. They commit together when the `with` block ends, unless it raises.

    What is wrong with a text is said at once, and what is wrong with all of them together at the end, before anything
    happens.
    """

    def __init__(self, reading: OpenSession, changing: OpenSession, search: SearchLimits | None = None) -> None:
        self._reading, self._changing = reading, changing
        self._search = search
        with reading() as session:
            derivations = session.keeps_derivations
            self._redefinition = Redefinition(session.definitions, keeps_derivations=derivations)
            self._version = session.version
        self._rows: list[Change] = []
        self._open = True
        self.commit: Commit | None = None
        # What was done, where old contents could be used.
        self.plan: Adaptation | None = None

    def execute(self, sql: str | bytes, *, name: str = "<sql>", directory: str | os.PathLike[str] = ".") -> None:
        """Take CREATE, CREATE OR REPLACE, ALTER TABLE, DROP and INSERT ... VALUES statements."""
        self._check_open()
        text = _decoded(sql, name)
        statements = parse_sql(text, self._redefinition.catalog, name)
        if not statements:
            raise ParseError("the program is empty")
        for statement in statements:
            match statement:
                case CreateTable(query=None) | CreateView() | Drop() | AlterTable():
                    self._redefinition.apply(statement)
                    if isinstance(statement, CreateTable):
                        source = table_source(statement.relation, Path(directory))
                        if source is not None:
                            rows = read_source(source, statement.relation)
                            self._rows.append(Insert(statement.relation, rows))
                case InsertValues(overwrite=False):
                    self.insert(statement.relation, list(statement.rows))
                case _:
                    raise UnsupportedError(
                        "this statement depends on the rows that are there, and cannot be part of a redefinition",
                        span=statement.span,
                        hint="execute it before or after, or give the rows: change.insert(...), change.delete(...)",
                    )

    def define(self, statement: CreateTable | CreateView) -> None:
        """Take a statement that was parsed before, in the place of what has its name."""
        self._check_open()
        if isinstance(statement, CreateView):
            statement = replace(statement, replace=True)
        self._redefinition.apply(statement)

    def rules(self, text: str | bytes, *, name: str = "<rules>") -> None:
        """Take a Datalog program. A view that exists has the rules of this text from now on, and no others."""
        self._check_open()
        self._add_program(parse_datalog(_decoded(text, name), name, self._redefinition.catalog.relations))

    def mappings(self, text: str | bytes, *, name: str = "<mappings>") -> None:
        """Take mappings. A target that exists follows from those of this text from now on, and from no others."""
        self.take_mappings(parse_mappings(_decoded(text, name), name))

    def take_mappings(self, found: MappingProgram) -> None:
        """The same for mappings that were parsed before."""
        self._check_open()
        add_mappings(self._redefinition, found)
        if found.members:
            with self._reading() as session:
                known = members_of(session)
            add_members(self, known, found.members)

    @property
    def catalog(self) -> Catalog:
        """What there will be, as far as it is known."""
        return self._redefinition.catalog

    def add_mappings(self, text: str | bytes, *, name: str = "<mappings>") -> None:
        """Take mappings for targets that do not exist yet."""
        self._check_open()
        found = parse_mappings(_decoded(text, name), name)
        for rule in found.program.rules:
            if self._redefinition.catalog.find(rule.head.relation) is not None:
                raise DuplicateNameError(
                    f"there is a relation {rule.head.relation!r} already",
                    span=rule.span,
                    hint="to give it other mappings: with db.redefine() as change: change.mappings(...)",
                )
        self.take_mappings(found)

    def drop(self, name: str) -> None:
        """Drop a table or a view."""
        self._check_open()
        found = self._redefinition.catalog.find(name)
        if found is None:
            known = self._redefinition.catalog.relations
            raise UnknownNameError(f"there is no relation {name!r}", hint=did_you_mean(name, known))
        self._redefinition.drop(found.name)

    def insert(self, relation: str, rows: object) -> None:
        """Add rows to a table, as it will be."""
        table = self._table(relation)
        self._rows.append(Insert(table, read_rows(rows, table)))

    def delete(self, relation: str, rows: object) -> None:
        """Take rows out of a table, which are given as they are or by their keys."""
        self._rows.append(deletion(self._table(relation), rows, ignore_missing=False))

    def change_rows(self, relation: str, delta: Delta) -> None:
        """Rows of a table come and go, as often as counted; those that are not there need not go."""
        table = self._table(relation)
        going, coming = ([row for row, count in delta.items() for _ in range(count * sign)] for sign in (-1, 1))
        if going:
            self._rows.append(Delete(table, going, ignore_missing=True))
        if coming:
            self._rows.append(Insert(table, coming))

    def preview(self, *, rows: bool = False) -> Preview:
        """What would happen now. With `rows` also what would come and go, which takes as long as the change."""
        with self._reading() as session:
            found, draft, plan = self._planned(session)
            deltas = session.foresee_definitions(found.after, draft, plan) if rows else None
            before, after = session.definitions.visible, found.after.visible
            new = tuple(name for name in after if name not in before and name in found.after.views)
            return previewed(plan, new, tuple(name for name in before if name not in after), deltas)

    def _planned(self, session: Session) -> tuple[Redefined, Draft, Adaptation | None]:
        if session.version != self._version:
            raise StateError("the database has changed since this redefinition was begun", hint="begin it again")
        found = self._redefinition.finish()
        draft = redefined_draft(session, self._redefinition)
        for change in self._rows:
            change.add_to(draft)
        touched = {change.relation.name for change in self._rows}
        altered = {name: rule for name, rule in found.altered.items() if name not in touched}
        plan = session.planner.plan(session.definitions, found.after, draft.update, altered, self._search)
        return found, draft, plan

    def _add_program(self, program: Program) -> None:
        if program == Program():
            raise ParseError("the program is empty")
        facts = {rule.head.relation for rule in program.rules if rule.is_fact}
        ruled = {rule.head.relation for rule in program.rules if not rule.is_fact}
        if facts - ruled or any(each.kind != "magic" for each in program.directives):
            place = next((rule.span for rule in program.rules if rule.is_fact), None)
            raise UnsupportedError(
                "facts and files are rows, which a redefinition takes by change.insert(...)", span=place
            )
        add_views(self._redefinition, program)

    def _table(self, name: str) -> Relation:
        self._check_open()
        found = self._redefinition.table(name)
        if found is None:
            known = self._redefinition.catalog
            raise UnknownNameError(f"there is no table {name!r}", hint=did_you_mean(name, known.relations))
        return found

    def _check_open(self) -> None:
        if not self._open:
            raise StateError("this redefinition is over", hint="begin another one with db.redefine()")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._open = False
        if kind is None:
            with self._changing() as session:
                found, draft, self.plan = self._planned(session)
                self.commit = session.define(found.after, draft, found.notices, adaptation=self.plan)


def _decoded(text: str | bytes, name: str) -> str:
    return decode(text, name, ParseError) if isinstance(text, bytes) else text
