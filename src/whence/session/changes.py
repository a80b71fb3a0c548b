"""What a program asks to be changed in a table, and what it makes of a draft."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from whence.errors import DataError, Hint, NextStep, did_you_mean
from whence.model.program import ChangeRows
from whence.model.schema import Relation, check_value
from whence.model.types import Row, Value
from whence.session.draft import Draft, key_of
from whence.session.lifetimes import Clock
from whence.sources.keys import are_keys, as_collection, check_has_key, key_values, read_key, read_keys
from whence.sources.rows import check_rows, listed, row_text
from whence.sources.source import read_rows


@dataclass(frozen=True, slots=True)
class Insert:
    relation: Relation
    rows: Sequence[Row]

    def add_to(self, draft: Draft) -> None:
        draft.table(self.relation).insert(self.rows)


@dataclass(frozen=True, slots=True)
class Delete:
    relation: Relation
    rows: Sequence[Row]
    ignore_missing: bool

    def add_to(self, draft: Draft) -> None:
        draft.table(self.relation).delete(self.rows, ignore_missing=self.ignore_missing)


@dataclass(frozen=True, slots=True)
class Upsert:
    """Rows come, and those that have their keys go. Of several with one key the last one stays."""

    relation: Relation
    rows: Sequence[Row]

    def add_to(self, draft: Draft) -> None:
        key, table = key_of(self.relation), draft.table(self.relation)
        assert key is not None
        rows = list({key(row): row for row in self.rows}.values())
        pairs = [pair for pair in zip(table.holders(rows), rows, strict=True) if pair[0] != pair[1]]
        table.delete([holder for holder, _ in pairs if holder is not None])
        table.insert([row for _, row in pairs])


@dataclass(frozen=True, slots=True)
class DeleteKeys:
    """The rows with some keys go. `rows` have nothing but their key."""

    relation: Relation
    rows: Sequence[Row]
    ignore_missing: bool

    def add_to(self, draft: Draft) -> None:
        table = draft.table(self.relation)
        # A key that is given twice has no row the second time.
        going: dict[Row, Row] = {}
        for index, (row, holder) in enumerate(zip(self.rows, table.holders(self.rows), strict=True)):
            if holder is not None and row not in going:
                going[row] = holder
            elif not self.ignore_missing:
                raise _missing(f"rows[{index}]", row, self.relation, "deleted")
        table.delete(list(going.values()))


@dataclass(frozen=True, slots=True)
class UpdateKey:
    """The row with a key gets other values, by position. `rows` is one row that has nothing but its key."""

    relation: Relation
    rows: Sequence[Row]
    values: Mapping[int, Value]
    ignore_missing: bool

    def add_to(self, draft: Draft) -> None:
        table = draft.table(self.relation)
        (holder,) = table.holders(self.rows)
        if holder is None:
            if self.ignore_missing:
                return
            raise _missing("key", self.rows[0], self.relation, "updated")
        updated = [self.values.get(at, value) for at, value in enumerate(holder)]
        (row,) = check_rows([updated], self.relation, lambda _: "the updated row")
        if row != holder:
            table.remove(holder, 1)
            table.insert([row], lambda _: "the updated row", is_new=True)


Change: TypeAlias = Insert | Delete | Upsert | DeleteKeys | UpdateKey


def deletion(relation: Relation, rows: object, *, ignore_missing: bool) -> Delete | DeleteKeys:
    """Rows that are to go, given as they are or by their keys."""
    rows = as_collection(rows)
    if are_keys(rows, relation):
        return DeleteKeys(relation, read_keys(rows, relation), ignore_missing)
    return Delete(relation, read_rows(rows, relation), ignore_missing)


def upsert(relation: Relation, rows: object) -> Upsert:
    """Rows that are to come, or to take the place of those with their keys."""
    check_has_key(relation, "no row can take the place of another")
    return Upsert(relation, read_rows(rows, relation))


def key_update(relation: Relation, key: object, values: object, *, ignore_missing: bool) -> UpdateKey:
    """Values by column for the row with a key."""
    check_has_key(relation, "no row is found by one")
    if not isinstance(values, Mapping):
        raise DataError(
            f"the new values of a row of {relation.name!r} are a dict, not a {type(values).__name__}",
            hint=f"write {{{relation.column_names[-1]!r}: ...}}",
        )
    places = {name.lower(): at for at, name in enumerate(relation.column_names)}
    found: dict[int, Value] = {}
    for name, value in values.items():
        at = places.get(str(name).lower())
        if at is None:
            raise DataError(
                f"{relation.name!r} has no column {name!r}",
                hint=did_you_mean(str(name), relation.column_names) or f"it has {listed(relation.column_names)}",
            )
        if at in found:
            raise DataError(f"column {relation.column_names[at]!r} of {relation.name!r} is set twice")
        found[at] = check_value(value, relation.columns[at])
    return UpdateKey(relation, [read_key(key, relation)], found, ignore_missing)


def _missing(place: str, row: Row, relation: Relation, what: str) -> DataError:
    return DataError(
        f"{place} is the key of no row of {relation.name!r}, so none can be {what}: "
        f"{row_text(key_values(row, relation))}",
        hint=Hint("{} passes over rows that are not there", (NextStep("option", 'missing="ignore"'),)),
    )


def ignores_missing(missing: str) -> bool:
    if missing not in ("error", "ignore"):
        raise DataError(f'missing is "error" or "ignore", not {missing!r}')
    return missing == "ignore"


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
