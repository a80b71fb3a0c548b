"""Tables whose changes can be taken back, because a change that fails halfway must not have happened."""

from __future__ import annotations

from typing import Generic, TypeVar

from whence.engines.local.recursive.journal import Journal
from whence.engines.local.store import Store
from whence.model.updates import Delta

K = TypeVar("K")
V = TypeVar("V")


class Ledger(dict[K, V], Generic[K, V]):
    def __init__(self, journal: Journal) -> None:
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


def apply(journal: Journal, store: Store, delta: Delta) -> None:
    """Change a store."""
    store.apply(delta)
    journal.note(store.apply, {row: -change for row, change in delta.items()})
