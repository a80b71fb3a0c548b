"""How rows of tables are changed: by calls that are a commit each, by batches, and by files that come into a folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from whence.errors import DataError, ParseError, TypeMismatchError
from whence.model.file_options import file_options
from whence.model.schema import Relation
from whence.model.updates import Commit
from whence.session.batch import Batch, BatchChange, StatementChange, statement_change
from whence.session.changes import Insert, deletion, ignores_missing, key_update, upsert
from whence.session.session import Session
from whence.sources.folders import file_source, row_files
from whence.sources.source import notices_of, read_rows, read_source
from whence.sources.text_files import decode

if TYPE_CHECKING:
    from whence.database.database import Database
    from whence.lang.sql.parameters import Parameters


def program_text(text: object, name: str) -> str:
    """The text of a program, which must not be empty."""
    if isinstance(text, bytes):
        text = decode(text, name, ParseError)
    if not isinstance(text, str):
        raise TypeMismatchError(f"a program is text, not a {type(text).__name__}")
    if not text.strip():
        raise ParseError("the program is empty")
    return text


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


class FolderFeed:
    """New files of a folder for a table, whenever `poll` is called.

    The names of files that were loaded are rows of a table beside it, `<table>_files`, and come in the same commit as
    their rows: a file is loaded once, also after a crash. Files whose names begin with `.` or `_` are passed over, so
    that a file can be written under such a name and renamed.
    """

    def __init__(self, db: Database, relation: str, folder: Path, options: Mapping[str, str]) -> None:
        from whence.lang.sql.write_terms import name_sql

        self.relation = db.relation(relation)
        self.folder = folder
        # What was left out of files.
        self.notices: list[str] = []
        self._db = db
        self._options = file_options(options)
        self._files = f"{self.relation.name}_files"
        if not folder.is_dir():
            raise DataError(f"{folder} is no folder")
        db.execute(f"CREATE TABLE IF NOT EXISTS {name_sql(self._files)}(file STRING PRIMARY KEY)")

    def poll(self) -> list[Commit]:
        """Load what has come since, in the order of names."""
        loaded = {row[0] for row in self._db.rows(self._files)}
        commits = []
        for path in row_files(self.folder, self._options):
            if path.name in loaded:
                continue
            source = file_source(path, self._options)
            rows = read_source(source, self.relation)
            with self._db.batch() as batch:
                batch.insert(self.relation.name, rows)
                batch.insert(self._files, [(path.name,)])
            assert batch.commit is not None
            self.notices += notices_of(source)
            commits.append(batch.commit)
        return commits
