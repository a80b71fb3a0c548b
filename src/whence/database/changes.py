"""How rows of tables are changed: by calls that are a commit each, and by batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Literal

from whence.database.program_text import program_text
from whence.errors import ParseError
from whence.model.schema import Relation
from whence.model.updates import Commit
from whence.session.batch import Batch, BatchChange
from whence.session.changes import Insert, deletion, ignores_missing, key_update, upsert
from whence.session.session import Session
from whence.session.statement_changes import StatementChange, statement_change
from whence.sources.source import read_rows

if TYPE_CHECKING:
    from whence.lang.sql.parameters import Parameters


class TableChanges(ABC):
    """Each call is one commit, and all of it happens or nothing."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Session]: ...

    @abstractmethod
    def _commit(self, changes: list[BatchChange]) -> Commit: ...

    def insert(self, relation: str, rows: object) -> Commit:
        """Add rows to a table: tuples, dicts, an Arrow table or a data frame."""
        table = self._table(relation)
        return self._commit([Insert(table, read_rows(rows, table))])

    def delete(self, relation: str, rows: object, *, missing: Literal["error", "ignore"] = "error") -> Commit:
        """Take rows out of a table, one copy for each row given. Rows that are not there are an error, or ignored.

        In a table with a key a row may be given by it alone: a dict of just the columns of the key, or a tuple that is
        as long as the key and shorter than the row.
        """
        ignore = ignores_missing(missing)
        return self._commit([deletion(self._table(relation), rows, ignore_missing=ignore)])

    def upsert(self, relation: str, rows: object) -> Commit:
        """Add rows to a table with a key, in the place of those that have their keys. Equal rows are no change."""
        return self._commit([upsert(self._table(relation), rows)])

    def update(
        self, relation: str, key: object, values: Mapping[str, object], *, missing: Literal["error", "ignore"] = "error"
    ) -> Commit:
        """Give other values to the row with a key: `db.update("city", "Oslo", {"people": 700_000})`.

        The key is a tuple, a dict, or the value itself where it is one column.
        """
        ignore = ignores_missing(missing)
        return self._commit([key_update(self._table(relation), key, values, ignore_missing=ignore)])

    def batch(self) -> Batch:
        """Several changes as one commit: `with db.batch() as batch: batch.insert(...); batch.delete(...)`."""
        with self._reading():
            return Batch(self._table, self._statements, self._commit)

    def _table(self, relation: object) -> Relation:
        with self._reading() as session:
            return session.definitions.table(relation)

    def _statements(self, sql: str | bytes, params: Parameters | None, name: str) -> Sequence[StatementChange]:
        """What the statements of a text would do to rows."""
        from whence.lang.sql.parse import parse_sql

        text = program_text(sql, name)
        with self._reading() as session:
            found = parse_sql(text, session.definitions.catalog, name, params)
            if not found:
                raise ParseError("the program is empty")
            return [statement_change(session, statement) for statement in found]
