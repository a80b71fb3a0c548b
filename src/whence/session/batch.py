"""Several changes that become one commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

from whence.errors import StateError
from whence.model.schema import Relation
from whence.model.updates import Commit
from whence.session.changes import Change, Insert, deletion, ignores_missing, key_update, upsert
from whence.session.statement_changes import StatementChange
from whence.sources.source import read_rows

if TYPE_CHECKING:
    from whence.lang.sql.parameters import Parameters


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
