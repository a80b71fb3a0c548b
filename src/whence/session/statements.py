"""SQL statements, each of them one commit.

The parser has resolved their names against the same definitions: what has to exist does, and what is new is free.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import assert_never

from whence.errors import StateError
from whence.model.program import (
    ChangeRows,
    CreateTable,
    CreateView,
    DeleteWhere,
    Drop,
    InsertQuery,
    InsertValues,
    Program,
    Statement,
)
from whence.model.schema import Relation, owner
from whence.model.span import Span
from whence.model.updates import Commit
from whence.session.answers import answer, changing, inserting, overwriting, removing
from whence.session.definitions import Definitions
from whence.session.session import Session
from whence.sources.source import read_rows, read_source, table_source


def apply_statement(session: Session, statement: Statement, directory: Path) -> Commit | None:
    """Do what the statement asks for; None where IF [NOT] EXISTS leaves nothing to do."""
    match statement:
        case CreateTable():
            return _create_table(session, statement, directory)
        case CreateView():
            return _create_view(session, statement)
        case Drop():
            return _drop(session, statement)
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
    assert_never(statement)


def _create_table(session: Session, statement: CreateTable, directory: Path) -> Commit | None:
    relation = statement.relation
    if session.definitions.find(relation.name) is not None:
        return None
    draft = session.draft()
    source = table_source(relation, directory)
    if source is not None:
        draft.table(relation).insert(read_source(source, relation))
    return session.define(session.definitions.adding([relation], (), ()), draft)


def _create_view(session: Session, statement: CreateView) -> Commit | None:
    before = session.definitions
    old = before.find(statement.name)
    if old is not None and not statement.replace:
        return None
    definition = statement.definition
    if old is None:
        names = [relation.name for relation in definition.relations]
        after = before.adding(definition.relations, definition.rules, names)
    else:
        _check_replacement(old, definition, before, statement.span)
        after = before.replacing(old.name, definition)
    return session.define(after, notices=statement.notices)


def _check_replacement(old: Relation, definition: Program, before: Definitions, span: Span | None) -> None:
    """The views that read the old definition were made for its columns, and the new one must not read them."""
    new = definition.relations[-1]
    dependents = before.dependents(old.name)
    under = before.below({owner(name) for rule in definition.rules for name in rule.reads})
    loop = next((name for name in dependents if name in under), None)
    if loop is not None:
        raise StateError(f"view {new.name!r} would depend on itself, through {loop!r}", span=span)
    if dependents and (old.name, old.columns, old.distinct) != (new.name, new.columns, new.distinct):
        raise StateError(
            f"view {old.name!r} would get other columns, and it is in use by {', '.join(map(repr, dependents))}",
            span=span,
            hint="keep its columns, or drop the views that use it first",
        )


def _drop(session: Session, statement: Drop) -> Commit | None:
    found = session.definitions.find(statement.name)
    if found is None:
        return None
    dependents = session.definitions.dependents(found.name)
    if dependents:
        raise StateError(
            f"{found.name!r} cannot be dropped: it is in use by {', '.join(map(repr, dependents))}",
            span=statement.span,
            hint="drop what uses it first",
        )
    return session.define(session.definitions.without(found.name))
