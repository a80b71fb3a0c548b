"""Several changes that become one commit: rows that a program gives, and SQL statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

from whence.errors import StateError, UnsupportedError
from whence.model.program import ChangeRows, DeleteWhere, InsertQuery, InsertValues, Program, Statement
from whence.model.schema import Relation, owner
from whence.model.updates import Commit
from whence.session.answers import answer, change_in, insert_into, overwrite, remove_from
from whence.session.changes import Change, Insert, deletion, ignores_missing, key_update, upsert
from whence.session.definitions import Definitions
from whence.session.draft import Draft
from whence.session.session import Session
from whence.sources.source import read_rows

if TYPE_CHECKING:
    from whence.lang.sql.parameters import Parameters

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


BatchChange: TypeAlias = Change | StatementChange
# The changes that a text of SQL with some parameters asks for; `name` is what errors call it.
ReadStatements: TypeAlias = "Callable[[str | bytes, Parameters | None, str], Sequence[StatementChange]]"
CommitChanges: TypeAlias = Callable[[list[BatchChange]], Commit]


class Batch:
    """Changes in the order they were made. They commit when the `with` block ends, unless it raises.

    Rows are checked against their table at once, and against the other rows at the commit.
    """

    def __init__(self, table: Callable[[str], Relation], read: ReadStatements, commit: CommitChanges) -> None:
        self._table = table
        self._read = read
        self._commit = commit
        self._changes: list[BatchChange] = []
        self._open = True
        self.commit: Commit | None = None

    def insert(self, relation: str, rows: object) -> None:
        """Add rows to a table."""
        self._add(lambda table: Insert(table, read_rows(rows, table)), relation)

    def delete(self, relation: str, rows: object, *, missing: Literal["error", "ignore"] = "error") -> None:
        """Take rows out of a table, which are given as they are or by their keys."""
        ignore = ignores_missing(missing)
        self._add(lambda table: deletion(table, rows, ignore_missing=ignore), relation)

    def upsert(self, relation: str, rows: object) -> None:
        """Add rows to a table with a key, in the place of those that have their keys."""
        self._add(lambda table: upsert(table, rows), relation)

    def update(
        self, relation: str, key: object, values: Mapping[str, object], *, missing: Literal["error", "ignore"] = "error"
    ) -> None:
        """Give other values to the row with a key."""
        ignore = ignores_missing(missing)
        self._add(lambda table: key_update(table, key, values, ignore_missing=ignore), relation)

    def execute(self, sql: str | bytes, params: Parameters | None = None, *, name: str = "<sql>") -> None:
        """Run SQL statements that change rows: INSERT, UPDATE, DELETE, MERGE, TRUNCATE.

        Their queries see the rows from before the batch. A statement that reads what the batch has changed by then is
        refused, at the commit.
        """
        self._check_open()
        self._changes += self._read(sql, params, name)

    def _check_open(self) -> None:
        if not self._open:
            raise StateError("this batch is over", hint="start another one with db.batch()")

    def _add(self, change: Callable[[Relation], Change], relation: str) -> None:
        self._check_open()
        self._changes.append(change(self._table(relation)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._open = False
        if kind is None:
            self.commit = self._commit(self._changes)
