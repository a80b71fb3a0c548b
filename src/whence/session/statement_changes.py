"""SQL statements in a batch: each changes the draft that the batch has so far."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TypeAlias

from whence.errors import StateError, UnsupportedError
from whence.model.program import ChangeRows, DeleteWhere, InsertQuery, InsertValues, Program, Statement
from whence.model.schema import Relation, owner
from whence.session.answers import answer, change_in, insert_into, overwrite, remove_from
from whence.session.definitions import Definitions
from whence.session.draft import Draft
from whence.session.session import Session
from whence.sources.source import read_rows

RowStatement: TypeAlias = InsertValues | InsertQuery | DeleteWhere | ChangeRows


@dataclass(frozen=True, slots=True)
class StatementChange:
    """A statement that changes rows. Its query is answered when the batch commits, over the rows from before the batch.

    What the batch has changed is not among them, so that a statement must not read it.
    """

    session: Session
    definitions: Definitions
    relation: Relation
    statement: RowStatement

    def add_to(self, draft: Draft) -> None:
        session, statement, relation = self.session, self.statement, self.relation
        if session.definitions is not self.definitions:
            raise StateError(
                "tables, views or functions have changed since the statement was read",
                span=statement.span,
                hint="start another batch",
            )
        match statement:
            case InsertValues(rows=rows, overwrite=True):
                self._check_unchanged(draft, {relation.name})
                overwrite(session, draft, relation, Counter(rows))
            case InsertValues(rows=rows):
                draft.table(relation).insert(read_rows(list(rows), relation))
            case InsertQuery(query=query, overwrite=True):
                self._check_unchanged(draft, {relation.name, *self._read(query)})
                overwrite(session, draft, relation, answer(session, query))
            case InsertQuery(query=query):
                self._check_unchanged(draft, self._read(query))
                insert_into(session, draft, relation, answer(session, query))
            case DeleteWhere(query=query):
                self._check_unchanged(draft, self._read(query))
                remove_from(session, draft, relation, answer(session, query))
            case ChangeRows(query=query):
                self._check_unchanged(draft, self._read(query))
                change_in(session, draft, statement, answer(session, query))

    def _read(self, query: Program) -> set[str]:
        """All tables and views that a query rests on."""
        known = self.definitions.relations
        return self.definitions.below({owner(name) for rule in query.rules for name in rule.reads if name in known})

    def _check_unchanged(self, draft: Draft, read: set[str]) -> None:
        for name, table in draft.tables.items():
            if name in read and table.delta:
                raise UnsupportedError(
                    f"this statement reads {name!r}, which the batch has changed before",
                    span=self.statement.span,
                    hint="a statement of a batch sees the rows from before the batch: put it before the change, or "
                    "commit the change first",
                )


def statement_change(session: Session, statement: Statement) -> StatementChange:
    """A statement that the definitions of now were read for. Raises for one that does not change rows."""
    if not isinstance(statement, RowStatement):
        raise UnsupportedError(
            "a batch changes rows, and no definitions", span=statement.span, hint="use db.execute(...)"
        )
    relation = session.definitions.table(statement.relation)
    return StatementChange(session, session.definitions, relation, statement)
