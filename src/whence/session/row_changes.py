"""The rows that an UPDATE or a MERGE takes out of a table, and those that it puts in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from whence.errors import DataError
from whence.model.program import ChangeRows, RowAction
from whence.model.schema import Relation
from whence.model.types import Row
from whence.session.changes import Insert
from whence.session.draft import Draft, TableDraft
from whence.sources.rows import check_rows, row_text

# What a row goes by in a message.
PLACES: Mapping[str, Callable[[int], str]] = {
    "update": lambda _: "an updated row",
    "insert": lambda _: "an inserted row",
}
ONE_MATCH = "let the source have one row for each, say with GROUP BY, or give the WHEN a condition"


class RowChanges:
    """An answer taken apart: the `old` rows, how often each was found, and the rows that come, by action.

    A row that an update leaves as it is neither goes nor comes, so that its time to live goes on.
    """

    def __init__(self, statement: ChangeRows, relation: Relation, rows: Mapping[Row, int]) -> None:
        self.relation = relation
        self.old: dict[Row, int] = {}
        self._stays: set[Row] = set()
        self._actions = statement.actions
        self._repeats = statement.repeats
        # What is done with each old row, the last of it if there are several.
        self._done: dict[Row, RowAction] = {}
        new: dict[int, list[Row]] = {}
        arity = relation.arity
        for row, count in rows.items():
            number = row[0]
            assert isinstance(number, int)
            before, after = row[1 : arity + 1], row[arity + 1 :]
            kind = self._actions[number].kind
            if kind != "insert":
                self.old[before] = self.old.get(before, 0) + count
                self._done[before] = self._actions[number]
            if kind == "update" and before == after:
                self._stays.add(before)
            elif kind != "delete":
                new.setdefault(number, []).extend([after] * count)
        self._new = {number: self._checked(self._actions[number], found) for number, found in sorted(new.items())}

    @property
    def coming(self) -> list[Insert]:
        """The rows that come."""
        return [Insert(self.relation, rows) for rows in self._new.values()]

    def add_to(self, draft: Draft) -> None:
        """First all old rows go, so that the others may take their keys."""
        table = draft.table(self.relation)
        table.delete(self._going(table))
        for number, rows in self._new.items():
            action = self._actions[number]
            with _told_at(action):
                table.insert(rows, PLACES[action.kind], is_new=action.kind == "update")

    def _going(self, table: TableDraft) -> list[Row]:
        """The rows that leave, with their copies. Raises for one that is to leave more often than it is there."""
        going: list[Row] = []
        for (row, found), copies in zip(self.old.items(), table.present_all(list(self.old)), strict=True):
            if found > copies and not self._repeats:
                raise DataError(
                    f"several rows of the source match one row of {self.relation.name!r}, so that it is not clear what "
                    f"becomes of it: {row_text(row)}",
                    span=self._done[row].span,
                    hint=ONE_MATCH,
                )
            if row not in self._stays:
                going += [row] * min(found, copies)
        return going

    def _checked(self, action: RowAction, rows: list[Row]) -> list[Row]:
        with _told_at(action):
            return check_rows(rows, self.relation, PLACES[action.kind])


@contextmanager
def _told_at(action: RowAction) -> Iterator[None]:
    """Errors of data tell which part of the statement has made it."""
    try:
        yield
    except DataError as error:
        raise DataError(error.message, span=action.span, hint=error.hint, related=error.related) from None
