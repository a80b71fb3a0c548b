"""What a user does to a database: one commit each, as data, so that a failure can be written down and played again."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import TypeAlias

from whence.database.database import Database
from whence.model.updates import Commit

Row: TypeAlias = tuple[object, ...]


@dataclass(frozen=True)
class Sql:
    text: str

    def on(self, db: Database) -> Commit | None:
        return db.execute(self.text)


@dataclass(frozen=True)
class Rules:
    text: str

    def on(self, db: Database) -> Commit:
        return db.rules(self.text)


@dataclass(frozen=True)
class Insert:
    table: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Delete:
    table: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Changes:
    """One batch."""

    changes: tuple[Insert | Delete, ...]

    def on(self, db: Database) -> Commit | None:
        with db.batch() as batch:
            for change in self.changes:
                if isinstance(change, Insert):
                    batch.insert(change.table, change.rows)
                else:
                    batch.delete(change.table, change.rows, missing="ignore")
        return batch.commit


@dataclass(frozen=True)
class Advance:
    moment: datetime.datetime

    def on(self, db: Database) -> Commit:
        return db.advance(self.moment)


Action: TypeAlias = Sql | Rules | Changes | Advance
