"""The rows that are there, looked up by some of their columns."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from whence.engines.evidence import Contents as Rows
from whence.engines.evidence import Evidence
from whence.engines.local.proving import LocalEvidence, MaintainedContents
from whence.model.types import Row

# Whoever has looked rows up by the same columns for so many seconds is better off with an index; and whoever reads
# through all rows each time, the second time.
_WORTH_AN_INDEX = 0.5

_NOTHING: Mapping[Row, int] = {}


class LimitReachedError(Exception):
    """The question may not take so long, or so many rows."""


class Contents:
    """All relations of a database for the time of one question. Counts are positive."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._relations: dict[str, Rows] = {}
        self._spent: dict[tuple[str, tuple[int, ...]], float] = {}
        self._indexes: dict[tuple[str, tuple[int, ...]], dict[Row, dict[Row, int]]] = {}

    def count(self, relation: str, row: Row) -> int:
        rows = self._of(relation)
        return max(self._evidence.gather(lambda: rows.count(row)), 0)

    def rows(self, relation: str) -> Iterator[Row]:
        rows = self._of(relation)
        found = self._evidence.gather(lambda: rows.matching((), ()))
        return (row for row, count in found.items() if count > 0)

    def matching(self, relation: str, positions: tuple[int, ...], key: Row) -> Mapping[Row, int]:
        """The rows that hold these values at the positions; all of them where there are no positions."""
        place = relation, positions
        index = self._indexes.get(place)
        if index is not None:
            return index.get(key, _NOTHING)
        if len(positions) == len(self._evidence.analysis.relations[relation].columns):
            row = tuple([value for _, value in sorted(zip(positions, key, strict=True))])
            count = self.count(relation, row)
            return {row: count} if count else _NOTHING
        rows, spent = self._of(relation), self._spent.get(place, 0.0)
        if positions and spent > (0.0 if isinstance(rows, MaintainedContents) else _WORTH_AN_INDEX):
            index = self._indexes[place] = _indexed(rows.matching((), ()), positions)
            return index.get(key, _NOTHING)
        started = time.perf_counter()
        found = self._evidence.gather(lambda: rows.matching(positions, key[0] if len(key) == 1 else key))
        if isinstance(self._evidence, LocalEvidence):
            self._spent[place] = spent + time.perf_counter() - started
        return {row: count for row, count in found.items() if count > 0}

    def _of(self, relation: str) -> Rows:
        found = self._relations.get(relation)
        if found is None:
            found = self._relations[relation] = self._evidence.contents(relation)
        return found


def _indexed(rows: Mapping[Row, int], positions: Iterable[int]) -> dict[Row, dict[Row, int]]:
    index: dict[Row, dict[Any, int]] = {}
    for row, count in rows.items():
        if count > 0:
            index.setdefault(tuple([row[position] for position in positions]), {})[row] = count
    return index
