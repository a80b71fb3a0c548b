"""Several changes that become one commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Literal, Protocol, Self

from whence.errors import StateError
from whence.model.program import ChangeRows
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Commit
from whence.session.changes import Change, Insert, deletion, ignores_missing, key_update, upsert
from whence.session.draft import Draft
from whence.session.lifetimes import Clock
from whence.sources.source import read_rows


class BulkInput(Protocol):
    """Takes the answers of queries into tables as a whole; None for one whose rows have to be looked at one by one."""

    def inserting(self, rows: Mapping[Row, int], relation: Relation, clock: Clock) -> Draft | None:
        """All rows come, with their copies."""

    def removing(self, rows: Mapping[Row, int], relation: Relation, clock: Clock) -> Draft | None:
        """All rows go, with all copies that the table has."""

    def overwriting(self, rows: Mapping[Row, int], relation: Relation, clock: Clock) -> Draft | None:
        """All rows come, and those that are there go if they are not among them."""

    def changing(
        self, rows: Mapping[Row, int], relation: Relation, statement: ChangeRows, clock: Clock
    ) -> Draft | None:
        """Rows take the place of others."""


class Batch:
    """Changes in the order they were made. They commit when the `with` block ends, unless it raises.

    Rows are checked against their table at once, and against the other rows at the commit.
    """

    def __init__(self, table: Callable[[str], Relation], commit: Callable[[list[Change]], Commit]) -> None:
        self._table = table
        self._commit = commit
        self._changes: list[Change] = []
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

    def _add(self, change: Callable[[Relation], Change], relation: str) -> None:
        if not self._open:
            raise StateError("this batch is over", hint="start another one with db.batch()")
        self._changes.append(change(self._table(relation)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._open = False
        if kind is None:
            self.commit = self._commit(self._changes)
