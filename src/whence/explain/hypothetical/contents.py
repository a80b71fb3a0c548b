"""The rows of a database while one question is answered: as they are, and with changes that have not happened."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from whence.algebra.deltas import added
from whence.engines.engine import Contents, Evidence, T
from whence.explain.proofs.text import Pattern
from whence.incremental.keyed import Key
from whence.incremental.store import Store
from whence.model.types import Row
from whence.model.updates import Delta
from whence.planning.statistics import Statistics

# After so many seconds of lookups by the same columns an index is worth its cost; where every lookup reads all rows,
# after the first.
_SECONDS_WORTH_AN_INDEX = 0.5
_NOTHING: Mapping[Row, int] = {}


class LimitReachedError(Exception):
    """The question may not take so long, or so many rows."""


class DatabaseContents:
    """All relations of a database for the time of one question. Counts are positive."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._relations: dict[str, Contents] = {}
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
        rows, spent, lookup = self._of(relation), self._spent.get(place, 0.0), self._evidence.lookup(relation)
        if positions and spent > (0.0 if lookup == "scan" else _SECONDS_WORTH_AN_INDEX):
            index = self._indexes[place] = _indexed(rows.matching((), ()), positions)
            return index.get(key, _NOTHING)
        started = time.perf_counter()
        found = self._evidence.gather(lambda: rows.matching(positions, key[0] if len(key) == 1 else key))
        if lookup != "fetch":
            self._spent[place] = spent + time.perf_counter() - started
        return {row: count for row, count in found.items() if count > 0}

    def like(self, relation: str, pattern: Pattern) -> Mapping[Row, int]:
        """The rows that are like a pattern."""
        known = {at: value for at, value in enumerate(pattern) if value is not ...}
        return self.matching(relation, tuple(known), tuple(known.values()))

    def _of(self, relation: str) -> Contents:
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


class Supposed(Evidence):
    """What an engine knows, with changes that have not happened."""

    def __init__(self, evidence: Evidence, changes: Mapping[str, Delta]) -> None:
        self._evidence = evidence
        self._changes = {name: Store(dict(delta.items())) for name, delta in changes.items()}
        self.analysis = evidence.analysis
        self.functions = evidence.functions

    def contents(self, relation: str) -> Contents:
        contents, change = self._evidence.contents(relation), self._changes.get(relation)
        return contents if change is None else _Changed(contents, change)

    def lookup(self, relation: str) -> Literal["index", "scan", "fetch"]:
        return self._evidence.lookup(relation)

    @property
    def statistics(self) -> Statistics:
        return self._evidence.statistics

    def gather(self, look: Callable[[], T]) -> T:
        return self._evidence.gather(look)


@dataclass(frozen=True)
class _Changed(Contents):
    contents: Contents
    change: Store

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        found, changed = self.contents.matching(positions, key), self.change.matching(positions, key)
        if not changed:
            return found
        return added({}, found, changed)

    def count(self, row: Row) -> int:
        return self.contents.count(row) + self.change.counts.get(row, 0)
