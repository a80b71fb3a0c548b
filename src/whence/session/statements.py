"""SQL statements, each of them one commit.

The parser has resolved their names against the same definitions: what has to exist does, and what is new is free.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import assert_never

from whence.errors import UnsupportedError
from whence.model.file_options import file_options
from whence.model.program import (
    AlterTable,
    ChangeRows,
    CopyFrom,
    CopyTo,
    CreateTable,
    CreateView,
    Definition,
    DeleteWhere,
    Drop,
    InsertQuery,
    InsertValues,
    NoChange,
    Statement,
)
from whence.model.updates import Commit
from whence.session.altered_tables import redefined_draft
from whence.session.answers import answer, changing, inserting, overwriting, removing
from whence.session.changes import Insert
from whence.session.draft import Draft
from whence.session.redefinition import Redefinition
from whence.session.session import Session
from whence.sources.folders import file_source
from whence.sources.source import notices_of, read_rows, read_source, table_source


def apply_statement(session: Session, statement: Statement, directory: Path) -> Commit | None:
    """Do what the statement asks for; None where IF [NOT] EXISTS leaves nothing to do."""
    match statement:
        case CreateTable() | CreateView() | Drop() | AlterTable():
            return _define(session, statement, directory)
        case InsertValues(relation=name, rows=rows):
            relation = session.definitions.table(name)
            if statement.overwrite:
                return session.commit(overwriting(session, relation, Counter(rows)))
            draft = session.draft()
            draft.table(relation).insert(read_rows(list(rows), relation))
            return session.commit(draft)
        case InsertQuery(relation=name, query=query):
            put = overwriting if statement.overwrite else inserting
            return session.commit(put(session, session.definitions.table(name), answer(session, query)))
        case DeleteWhere(relation=name, query=query):
            return session.commit(removing(session, session.definitions.table(name), answer(session, query)))
        case ChangeRows(query=query):
            return session.commit(changing(session, statement, answer(session, query)))
        case NoChange(notice=notice):
            session.notice([notice])
            return None
        case CopyFrom(relation=name):
            return session.commit(_copied(session, statement, directory))
        case CopyTo():
            raise UnsupportedError("COPY ... TO writes a file, and is no change", hint="use db.execute")
    assert_never(statement)


def _copied(session: Session, statement: CopyFrom, directory: Path) -> Draft:
    relation = session.definitions.table(statement.relation)
    source = file_source(directory / statement.path, file_options(dict(statement.options)))
    rows = read_source(source, relation)
    session.expect([Insert(relation, list(rows))] if relation.key or relation.distinct else [])
    draft = session.draft()
    draft.table(relation).insert(rows, source.place)
    session.notice(source.notices)
    return draft


def _define(session: Session, statement: Definition, directory: Path) -> Commit | None:
    redefinition = Redefinition(session.definitions, keeps_derivations=session.keeps_derivations)
    if not redefinition.apply(statement):
        return None
    found = redefinition.finish()
    return session.define(
        found.after, _first_rows(session, redefinition, statement, directory), found.notices, found.altered
    )


def _first_rows(session: Session, redefinition: Redefinition, statement: Definition, directory: Path) -> Draft:
    """What comes into tables with their definition: from a query or a file, or from columns that were others before."""
    if isinstance(statement, CreateTable) and statement.query is not None:
        return inserting(session, statement.relation, answer(session, statement.query))
    draft = redefined_draft(session, redefinition)
    if isinstance(statement, CreateTable):
        source = table_source(statement.relation, directory)
        if source is not None:
            draft.table(statement.relation).insert(read_source(source, statement.relation))
            session.notice(notices_of(source))
    return draft
