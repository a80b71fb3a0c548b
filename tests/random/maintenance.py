"""Random changes to a program's tables, in batches of every size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from tests.random.tables import Table, random_rows
from whence.database.database import Database
from whence.model.types import Row


@dataclass(frozen=True)
class Change:
    """Rows that come or go, one copy each."""

    table: Table
    rows: tuple[Row, ...]
    insert: bool


class Changes:
    """Keeps the rows that every table should have. `sets` are the tables where a second copy changes nothing."""

    def __init__(self, rng: Random, tables: Sequence[Table], sets: Collection[str] = ()) -> None:
        self.rng = rng
        self.tables = tables
        self.sets = sets
        self.current: Mapping[str, Counter[Row]] = {table.name: Counter() for table in tables}

    def batches(self, size: int) -> Iterator[list[Change]]:
        """Commits of up to three changes each; the first ones bring the program's own rows."""
        todo = [Change(table, table.rows, insert=True) for table in self.tables if table.rows]
        while todo:
            cut = self.rng.randint(1, len(todo))
            yield [self.applied(change) for change in todo[:cut]]
            todo = todo[cut:]
        for _ in range(size):
            yield [self.applied(self.change()) for _ in range(self.rng.randint(1, 3))]

    def change(self) -> Change:
        table = self.rng.choice(self.tables)
        there = list(self.current[table.name].elements())
        if there and self.rng.random() < 0.5:
            gone = self.rng.sample(there, self.rng.randint(1, min(3, len(there))))
            return Change(table, tuple(gone), insert=False)
        return Change(table, random_rows(self.rng, table, self.rng.randint(1, 3), tuple(there)), insert=True)

    def applied(self, change: Change) -> Change:
        rows = self.current[change.table.name]
        (rows.update if change.insert else rows.subtract)(change.rows)
        if change.table.name in self.sets:
            rows &= Counter(set(rows))
        return change


def commit(database: Database, changes: Sequence[Change]) -> None:
    """One commit; a single change goes without a batch."""
    if len(changes) == 1:
        change = changes[0]
        (database.insert if change.insert else database.delete)(change.table.name, change.rows)
        return
    with database.batch() as batch:
        for change in changes:
            (batch.insert if change.insert else batch.delete)(change.table.name, change.rows)


def counts(database: Database, relation: str) -> Counter[Row]:
    """What the public API shows of a relation, duplicates included."""
    return Counter(tuple(row.values()) for row in database.table(relation).to_pylist())
