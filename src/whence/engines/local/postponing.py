"""A store of rows that hardly anybody looks at.

Forests hand each other integers, so that the rows of one that only others of them read are not needed. Changes are then
kept as they came, and taken in when somebody looks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from whence.engines.local.store import Store
from whence.model.types import Row
from whence.model.updates import CountedDelta, Delta

# So many changes wait at most, and as many rows of them as there were, a few times over.
_MOST_CHANGES = 1_000
_TIMES_OVER = 4


class PostponingStore(Store):
    """A store of a set. Once its counts were looked at, it is like any other."""

    def __init__(self, everything: Callable[[], Delta]) -> None:
        """`everything` is asked after a commit, for all rows that are there then."""
        super().__init__()
        self._everything = everything
        self._waiting: list[CountedDelta] = []
        self._rows_waiting = 0
        self._most_rows = 0
        # Without this attribute, Python asks `__getattr__` for it.
        del self._counts

    def __getattr__(self, name: str) -> dict[Row, int]:
        if name != "_counts":
            raise AttributeError(name)
        self._counts, self._waiting = self._taken_in(), []
        return self._counts

    @property
    def _is_looked_at(self) -> bool:
        return "_counts" in self.__dict__

    def contents(self) -> Mapping[Row, int]:
        return self._counts if self._is_looked_at else self._taken_in()

    @property
    def size(self) -> int:
        if self._is_looked_at:
            return len(self._counts)
        return sum(come - gone for come, gone in (delta.totals for delta in self._waiting))

    def apply(self, delta: Delta) -> None:
        # Only those who have rows as integers can count them without making them.
        if self._is_looked_at or not isinstance(delta, CountedDelta):
            super().apply(delta)
            return
        self._waiting.append(delta)
        self._rows_waiting += len(delta)
        if self._rows_waiting > self._most_rows or len(self._waiting) > _MOST_CHANGES:
            self._begin_anew()

    def _begin_anew(self) -> None:
        everything = self._everything()
        assert isinstance(everything, CountedDelta)
        self._waiting, self._rows_waiting = [everything], len(everything)
        self._most_rows = _TIMES_OVER * len(everything) + _MOST_CHANGES

    def _taken_in(self) -> dict[Row, int]:
        counts: dict[Row, int] = {}
        for delta in self._waiting:
            for row, change in delta.items():
                if change > 0:
                    counts[row] = change
                else:
                    del counts[row]
        return counts
