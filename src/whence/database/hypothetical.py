"""What a database answers about changes: those that might come, and those that were."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from whence.database.questions import AskedRow, asked_row, refuse_windows, refuse_windows_above
from whence.database.why import WhyQuestions
from whence.errors import DataError, Hint, NextStep, TypeMismatchError
from whence.model.types import Row
from whence.session.changes import Change, Insert, deletion
from whence.session.session import Session
from whence.sources.source import read_rows

if TYPE_CHECKING:
    from whence.explain.hypothetical.history import RowHistory
    from whence.explain.hypothetical.what_if import Impact, WhatIf
    from whence.explain.hypothetical.why_not import WhyNot
    from whence.model.schema import Relation


class ChangeQuestions(WhyQuestions):
    """Asking changes nothing: there is no commit, and no subscriber is called."""

    @abstractmethod
    def _changing(self) -> AbstractContextManager[Session]: ...

    def what_if(
        self, *, insert: Mapping[str, object] | None = None, delete: Mapping[str, object] | None = None
    ) -> WhatIf:
        """What would change if rows were deleted and then others inserted, in one commit: `{"link": [("a", "b")]}`.

        Rows are checked as `delete` and `insert` check them, and lifetimes and windows do what they would do. It takes
        the time of the change, and of taking it back.
        """
        from whence.explain.hypothetical.what_if import what_if

        with self._changing() as session:
            return what_if(session, _changes(session, insert or {}, delete or {}))

    def impact(self, relation: str, row: object) -> Impact:
        """What depends on a row of a table, and what would go if it went. With None for some columns it is about all
        the rows that match, together.
        """
        from whence.explain.hypothetical.what_if import impact

        with self._changing() as session:
            table = session.definitions.table(relation)
            backwards = self._knowledge(session, table)
            refuse_windows_above(backwards, table.name)
            return impact(session, backwards, table, asked_row(row, table))

    def why_not(self, view: str, row: object) -> WhyNot:
        """Why a row is not there: how close each rule comes, and the fewest rows of tables that would produce it."""
        from whence.explain.hypothetical.why_not import why_not

        with self._changing() as session:
            relation = session.definitions.relation(view)
            backwards = self._knowledge(session, relation)
            refuse_windows(backwards, [relation.name])
            return why_not(session, backwards, relation, asked_row(row, relation))

    def what_removed(self, view: str, row: object) -> RowHistory:
        """The commit that removed a row, and the changes to tables that did it."""
        from whence.explain.hypothetical.history import what_removed

        with self._changing() as session:
            relation = session.definitions.relation(view)
            whole = _whole(asked_row(row, relation), relation)
            return what_removed(session, relation, whole)

    def _why_then(self, view: str, row: object, version: int) -> RowHistory:
        from whence.explain.hypothetical.history import why_at

        with self._changing() as session:
            relation = session.definitions.relation(view)
            whole = _whole(asked_row(row, relation), relation)
            return why_at(session, relation, whole, version)


def _whole(asked: AskedRow, relation: Relation) -> Row:
    """The history of a row is asked for by all its columns."""
    row = tuple([value for value in asked if value is not ...])
    if len(row) < relation.arity:
        raise DataError(
            f"the history of {relation.name!r} is told row by row, so that every column needs a value",
            hint=Hint("{}", (NextStep("option", "in a dict, None is NULL"),)),
        )
    return row


def _changes(session: Session, insert: Mapping[str, object], delete: Mapping[str, object]) -> list[Change]:
    for option, given in (("insert", insert), ("delete", delete)):
        if not isinstance(given, Mapping):
            raise TypeMismatchError(
                f"what_if takes the rows to {option} by table, not as a {type(given).__name__}",
                hint=f'write {option}={{"table": [row, ...]}}',
            )
    changes: list[Change] = []
    for name, rows in delete.items():
        table = session.definitions.table(name)
        changes.append(deletion(table, rows, ignore_missing=False))
    for name, rows in insert.items():
        table = session.definitions.table(name)
        changes.append(Insert(table, read_rows(rows, table)))
    return changes
