"""A relation during a commit: as it was, as it will be, and the rows that stay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import TypeAlias

from whence.engines.local.store import Index, Key, Store, index_of
from whence.functions.cast import converter
from whence.incremental.delta import State
from whence.incremental.plan import Pattern
from whence.model.schema import Relation
from whence.model.types import Row, Value
from whence.model.updates import Delta

# The rows that hold a key at some positions, as Store.matching gives them.
Matching: TypeAlias = Callable[[tuple[int, ...], Key], Mapping[Row, int]]
# The same one by one, for those who need not see them all.
Finding: TypeAlias = Callable[[tuple[int, ...], Key], Iterable[tuple[Row, int]]]


class Change:
    """A relation's store, which holds the rows from before the commit, and what the commit changes in it."""

    def __init__(self, store: Store, delta: Delta) -> None:
        self.store = store
        self.delta = delta
        self._indexes: dict[tuple[int, ...], Index] = {}
        self._before = {row: count for row in delta if (count := store.counts.get(row, 0))}
        self._after = {row: count for row, change in delta.items() if (count := self._before.get(row, 0) + change)}

    def matching(self, state: State) -> Matching:
        match state:
            case State.OLD:
                return self.store.matching
            case State.KEPT:
                return self._kept
            case State.NEW:
                return self._new

    def finding(self, state: State) -> tuple[Finding, ...]:
        """The states in which a negation that reads `state` must find nothing."""
        match state:
            case State.OLD:
                return (self.finding_old,)
            case State.KEPT:
                return self.finding_old, self.finding_new
            case State.NEW:
                return (self.finding_new,)

    def finding_old(self, positions: tuple[int, ...], key: Key) -> Iterable[tuple[Row, int]]:
        return self.store.matching(positions, key).items()

    def finding_new(self, positions: tuple[int, ...], key: Key) -> Iterable[tuple[Row, int]]:
        touched = self._touched(positions, key)
        rows = self.store.matching(positions, key).items()
        if not touched:
            return rows
        after = self._after
        return chain(
            ((row, after[row]) for row in touched if row in after),
            ((row, count) for row, count in rows if row not in touched),
        )

    def changed(self, sign: int) -> Mapping[Row, int]:
        """The rows whose count changes: how often they were there for sign -1, how often they will be for 1."""
        return self._before if sign < 0 else self._after

    def _kept(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        rows = self.store.matching(positions, key)
        touched = self._touched(positions, key)
        if not touched:
            return rows
        return {row: count for row, count in rows.items() if row not in touched}

    def _new(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        touched = self._touched(positions, key)
        if not touched:
            return self.store.matching(positions, key)
        after = self._after
        arrived = {row: after[row] for row in touched if row in after}
        return {**self._kept(positions, key), **arrived}

    def _touched(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int] | None:
        if not positions:
            return self.delta
        index = self._indexes.get(positions)
        if index is None:
            index = self._indexes[positions] = index_of(self.delta, positions)
        return index.get(key)


class Presence:
    """Whether rows fit a pattern. A row whose count went below zero is owed, not there."""

    def __init__(self, pattern: Pattern, relation: Relation) -> None:
        self._positions = pattern.positions
        self._bare = len(pattern.positions) == 1
        self._widened = [
            (position, converter(relation.columns[position].type, target)) for position, target in pattern.widened
        ]
        self._width = len(pattern.positions)

    def fits(self, finding: Finding, key: Row) -> bool:
        """Whether any row holds the key."""
        found = finding(self._positions, key[0] if self._bare else key[: self._width])
        if not self._widened:
            return any(count > 0 for _, count in found)
        wanted = key[self._width :]
        return any(count > 0 and self._wide(row) == wanted for row, count in found)

    def flipped(self, change: Change, sign: int) -> Iterator[Row]:
        """The keys that some row fitted before and none will, for sign 1; those for which it is the other way, for -1.

        So sign 1 yields the keys for which a negation comes to hold.
        """
        fitted, fits_not = change.finding_old, change.finding_new
        if sign < 0:
            fitted, fits_not = fits_not, fitted
        for key in dict.fromkeys(map(self._key, change.changed(-sign))):
            if self.fits(fitted, key) and not self.fits(fits_not, key):
                yield key

    def _key(self, row: Row) -> Row:
        return (*[row[position] for position in self._positions], *self._wide(row))

    def _wide(self, row: Row) -> tuple[Value, ...]:
        return tuple([None if row[i] is None else convert(row[i]) for i, convert in self._widened])
