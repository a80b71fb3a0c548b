"""What takes a commit back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class UndoLog:
    """The inverse of every change to a maintainer's state since the last commit, to be played backwards."""

    def __init__(self) -> None:
        self._inverses: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []

    def note(self, inverse: Callable[..., Any], *arguments: Any) -> None:
        """The state is about to change, or just has; calling this would put things back as they were."""
        self._inverses.append((inverse, arguments))

    def put(self, table: dict[K, V], key: K, value: V) -> None:
        """Change an entry of a table in which empty values are not kept."""
        self.note(_put, table, key, table.get(key))
        _put(table, key, value)

    def settle(self) -> None:
        self._inverses.clear()

    def undo(self) -> None:
        while self._inverses:
            inverse, arguments = self._inverses.pop()
            inverse(*arguments)


def _put(table: dict[K, V], key: K, value: V | None) -> None:
    if value:
        table[key] = value
    else:
        table.pop(key, None)
