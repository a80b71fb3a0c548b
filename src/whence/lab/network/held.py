"""Tables whose changes can be taken back, because a change that fails halfway must not have happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeAlias, TypeVar

from whence.algebra.deltas import add_to, negated
from whence.incremental.recursive.journal import UndoLog
from whence.incremental.store import Store
from whence.model.types import Row
from whence.model.updates import Delta

K = TypeVar("K")
V = TypeVar("V")

# A row of a relation, by its name at home.
Tuple: TypeAlias = tuple[str, Row]


class HeldLedger(dict[K, V], Generic[K, V]):
    def __init__(self, journal: UndoLog) -> None:
        super().__init__()
        self._journal = journal

    def put(self, key: K, value: V) -> None:
        self._note(key)
        self[key] = value

    def drop(self, key: K) -> None:
        self._note(key)
        del self[key]

    def _note(self, key: K) -> None:
        if key in self:
            self._journal.note(self.__setitem__, key, self[key])
        else:
            self._journal.note(self.pop, key)


def apply(journal: UndoLog, store: Store, delta: Delta) -> None:
    """Change a store."""
    store.apply(delta)
    journal.note(store.apply, negated(delta))


class Numbering:
    """`tuples` has the rows in the order of their numbers."""

    def __init__(self) -> None:
        self.tuples: list[Tuple] = []
        self._numbers: dict[str, dict[Row, int]] = {}

    def numbers(self, relation: str, rows: Sequence[Row]) -> list[int]:
        """The numbers of rows, which are new where there was none."""
        numbers = self._numbers.setdefault(relation, {})
        for row in rows:
            if row not in numbers:
                numbers[row] = len(self.tuples)
                self.tuples.append((relation, row))
        return [numbers[row] for row in rows]


class Held:
    """`ids` names the rows that are known elsewhere; `changed` is what a change has done to them so far."""

    def __init__(self, journal: UndoLog) -> None:
        self._journal = journal
        self.store = Store()
        self.ids: HeldLedger[Row, int] = HeldLedger(journal)
        self.changed: dict[Row, int] = {}

    def change(self, row: Row, change: int) -> None:
        apply(self._journal, self.store, {row: change})
        self.note(row, change)

    def note(self, row: Row, change: int) -> None:
        add_to(self.changed, [(row, change)])

    def appeared(self) -> list[Row]:
        counts = self.store.counts
        return [row for row, change in self.changed.items() if counts.get(row, 0) > 0 >= counts.get(row, 0) - change]

    def vanished(self) -> list[Row]:
        counts = self.store.counts
        return [row for row, change in self.changed.items() if counts.get(row, 0) <= 0 < counts.get(row, 0) - change]
