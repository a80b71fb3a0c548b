"""Which annotations a leaf may occur in, so that striking it touches those and no others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from whence.engines.local.recursive.journal import Journal
from whence.network.ledger import Ledger

K = TypeVar("K")


class Holders(Generic[K]):
    """Never too few: what an annotation has lost by itself is not looked for here."""

    def __init__(self, journal: Journal) -> None:
        self._keys: Ledger[int, dict[K, None]] = Ledger(journal)

    def add(self, key: K, leaves: Iterable[int]) -> None:
        for leaf in leaves:
            keys = self._keys.get(leaf)
            if keys is None:
                self._keys.put(leaf, {key: None})
            else:
                keys[key] = None

    def take(self, leaves: Iterable[int]) -> dict[K, None]:
        """Who may hold any of these leaves, which nobody will from now on."""
        taken: dict[K, None] = {}
        for leaf in leaves:
            if leaf in self._keys:
                taken.update(self._keys[leaf])
                self._keys.drop(leaf)
        return taken
