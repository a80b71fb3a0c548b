"""A relation during a commit: as it was, as it will be, and the rows that stay."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property, partial
from itertools import chain
from typing import TypeAlias, cast

from whence.engines.local.store import Index, Key, Lookup, Readable, Store, index_of
from whence.functions.cast import converter
from whence.incremental.delta import State
from whence.incremental.plan import Pattern
from whence.model.schema import Relation
from whence.model.types import Row, Value
from whence.model.updates import Delta

# Where an atom finds its rows, by the positions of a key.
Source: TypeAlias = Callable[[tuple[int, ...]], Lookup]
# The rows that hold a key one by one, for those who need not see them all.
Finding: TypeAlias = Callable[[tuple[int, ...], Key], Iterable[tuple[Row, int]]]


def source_of(store: Readable) -> Source:
    """A relation as it is stored."""
    if isinstance(store, Store):
        return store.lookup
    return lambda positions: partial(store.matching, positions)


class Change:
    """A relation's store, which holds the rows from before the commit, and what the commit changes in it.

    Of a `distinct` relation every row is there once, before and after.
    """

    def __init__(self, store: Readable, delta: Delta, *, distinct: bool = False) -> None:
        self.store = store
        self.delta = delta
        self._distinct = distinct
        self._indexes: dict[tuple[int, ...], Index] = {}
        self._lookups: dict[tuple[State, tuple[int, ...]], Lookup] = {}

    def source(self, state: State) -> Source:
        return source_of(self.store) if state is State.OLD else partial(self._lookup, state)

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
        touched = self._touched(positions).get(key)
        rows = self.store.matching(positions, key).items()
        if not touched:
            return rows
        after = self.after
        return chain(
            ((row, after[row]) for row in touched if row in after),
            ((row, count) for row, count in rows if row not in touched),
        )

    @cached_property
    def before(self) -> Mapping[Row, int]:
        """The rows whose count changes, and how often they were there."""
        if self._distinct:
            return {row: 1 for row, change in self.delta.items() if change < 0}
        counts = self.store.counts
        return {row: count for row in self.delta if (count := counts.get(row, 0))}

    @cached_property
    def after(self) -> Mapping[Row, int]:
        """The rows whose count changes, and how often they will be there."""
        if self._distinct:
            return {row: 1 for row, change in self.delta.items() if change > 0}
        before = self.before
        return {row: count for row, change in self.delta.items() if (count := before.get(row, 0) + change)}

    def _lookup(self, state: State, positions: tuple[int, ...]) -> Lookup:
        found = self._lookups.get((state, positions))
        if found is None:
            found = self._lookups[state, positions] = self._overlaid(state, positions)
        return found

    def _overlaid(self, state: State, positions: tuple[int, ...]) -> Lookup:
        """The rows that were there, with other answers for the keys that the change touches."""
        stored = source_of(self.store)(positions)
        touched = self._touched(positions)
        answers: dict[Key, Mapping[Row, int]] = {}

        def look_up(key: Key) -> Collection[Row]:
            changed = touched.get(key)
            if changed is None:
                return stored(key)
            answer = answers.get(key)
            if answer is None:
                answer = answers[key] = self._merged(state, stored(key), changed)
            return answer

        return look_up

    def _merged(self, state: State, rows: Collection[Row], changed: Mapping[Row, int]) -> Mapping[Row, int]:
        if self._distinct:
            merged = {row: 1 for row in rows if row not in changed}
        else:
            counts = cast("Mapping[Row, int]", rows)
            merged = {row: count for row, count in counts.items() if row not in changed}
        if state is State.NEW:
            merged.update((row, self.after[row]) for row in changed if row in self.after)
        return merged

    def _touched(self, positions: tuple[int, ...]) -> Mapping[Key, Mapping[Row, int]]:
        """The change by the values at the positions."""
        if not positions:
            return {(): self.delta}
        index = self._indexes.get(positions)
        if index is None:
            index = self._indexes[positions] = index_of(self.delta, positions)
        return index


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
        for key in dict.fromkeys(map(self._key, change.before if sign > 0 else change.after)):
            if self.fits(fitted, key) and not self.fits(fits_not, key):
                yield key

    def _key(self, row: Row) -> Row:
        return (*[row[position] for position in self._positions], *self._wide(row))

    def _wide(self, row: Row) -> tuple[Value, ...]:
        return tuple([None if row[i] is None else convert(row[i]) for i, convert in self._widened])
