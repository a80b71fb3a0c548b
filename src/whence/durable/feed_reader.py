"""The change feeds of a directory that another process may have open."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import NamedTuple

from whence.durable.beside import check_database, read_beside
from whence.durable.catalog import read_definitions
from whence.durable.journal import read_changes
from whence.durable.opening import read_version
from whence.model.schema import Relation
from whence.session.history import Entry


class News(NamedTuple):
    """What changed in a relation up to a version."""

    relation: Relation
    entries: list[Entry]
    version: int


class FeedReader:
    """Change feeds, as far as commits have come by the time of each call. Nothing is locked, and nothing written."""

    def __init__(self, directory: Path) -> None:
        check_database(directory)
        self._directory = directory

    def version(self) -> int:
        version, _ = read_beside(self._directory, lambda connection: read_version(self._directory, connection))
        return version

    def changes(self, name: str, since: int) -> News:
        """The changes of a table or view after a version."""

        def read(connection: sqlite3.Connection) -> News:
            definitions, known = read_definitions(connection, self._directory)
            relation = definitions.relation(name)
            entries = read_changes(connection, self._directory, known[relation.name], since)
            version, _ = read_version(self._directory, connection)
            return News(relation, entries, version)

        return read_beside(self._directory, read)
