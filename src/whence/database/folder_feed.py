"""A folder that a table follows: files that come are loaded, each once, and each as one commit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from whence.errors import DataError
from whence.lang.sql.write_terms import name_sql
from whence.model.file_options import file_options
from whence.model.updates import Commit
from whence.sources.folders import file_source, row_files
from whence.sources.source import notices_of, read_source

if TYPE_CHECKING:
    from whence.database.database import Database


class FolderFeed:
    """New files of a folder for a table, whenever `poll` is called.

    The names of files that were loaded are rows of a table beside it, `<table>_files`, and come in the same commit as
    their rows: a file is loaded once, also after a crash. Files whose names begin with `.` or `_` are passed over, so
    that a file can be written under such a name and renamed.
    """

    def __init__(self, db: Database, relation: str, folder: Path, options: Mapping[str, str]) -> None:
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
