"""Rows by number: a row is hashed once for everything that is known about it. Numbers are not given back."""

from __future__ import annotations

from collections.abc import Sequence

from whence.model.types import Row
from whence.network.provenance.annotations import Tuple


class Numbering:
    """`tuples` has the rows in the order of their numbers."""

    def __init__(self) -> None:
        self.tuples: list[Tuple] = []
        self._numbers: dict[str, _Numbers] = {}

    def numbers(self, relation: str, rows: Sequence[Row]) -> list[int]:
        numbers = self._numbers.get(relation)
        if numbers is None:
            numbers = self._numbers[relation] = _Numbers(relation, self.tuples)
        return list(map(numbers.__getitem__, rows))


class _Numbers(dict[Row, int]):
    def __init__(self, relation: str, tuples: list[Tuple]) -> None:
        super().__init__()
        self._relation = relation
        self._tuples = tuples

    def __missing__(self, row: Row) -> int:
        number = self[row] = len(self._tuples)
        self._tuples.append((self._relation, row))
        return number
