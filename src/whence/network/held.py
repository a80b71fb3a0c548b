"""The rows of a relation, at home or as a copy, that a node holds."""

from __future__ import annotations

from whence.engines.local.recursive.journal import Journal
from whence.engines.local.store import Store
from whence.model.types import Row
from whence.network.ledger import Ledger, apply


class Held:
    """`ids` names the rows that are known elsewhere; `changed` is what a change has done to them so far."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.store = Store()
        self.ids: Ledger[Row, int] = Ledger(journal)
        self.changed: dict[Row, int] = {}

    def change(self, row: Row, change: int) -> None:
        apply(self._journal, self.store, {row: change})
        self.note(row, change)

    def note(self, row: Row, change: int) -> None:
        total = self.changed.pop(row, 0) + change
        if total:
            self.changed[row] = total

    def appeared(self) -> list[Row]:
        counts = self.store.counts
        return [row for row, change in self.changed.items() if counts.get(row, 0) > 0 >= counts.get(row, 0) - change]

    def vanished(self) -> list[Row]:
        counts = self.store.counts
        return [row for row, change in self.changed.items() if counts.get(row, 0) <= 0 < counts.get(row, 0) - change]
