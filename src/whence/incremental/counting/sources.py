"""A relation during a commit: as it was, as it will be, and the rows that stay."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from itertools import chain, repeat
from operator import itemgetter
from typing import TypeAlias, cast

from whence.incremental.counting.bindings import Batch, Binding, pattern_key, split
from whence.incremental.plan import Pattern
from whence.incremental.store import Holder, Key, ProbedRelation, Store
from whence.model.schema import Relation
from whence.model.types import Row

Positions: TypeAlias = tuple[int, ...]
# Bindings, and for each the rows that it meets: a mapping to their counts where they can be there more than once.
Matches: TypeAlias = tuple[Batch, Sequence[Collection[Row]]]
# The rows that hold a key one by one, for a reader that need not see them all.
Finding: TypeAlias = Callable[[Positions, Key], Iterable[tuple[Row, int]]]


class LiteralState(Enum):
    """Which rows of a changed relation a literal reads, beside a changed row of the trigger.

    KEPT are those that do not change; a negation that is KEPT holds both before and after. With ITS the literal reads
    the relation as it was, for a row that goes, and as it will be, for one that comes.
    """

    KEPT = "kept"
    ITS = "its"


class AtomSource:
    """Where an atom finds its rows: in a relation that does not change."""

    def __init__(self, store: ProbedRelation) -> None:
        self._store = store

    def match(self, positions: Positions, batch: Batch, keys: list[Key]) -> Matches:
        """For each of the bindings the rows that hold its key. One that meets different rows may be split."""
        return batch, self._store.matching_all(positions, keys)

    def holder(self, positions: Positions, keys: Collection[Key]) -> Holder | None:  # noqa: ARG002 - others look at them
        """What finds the only row of each of these keys; None where there can be several, or it would have changed."""
        return self._store.holder(positions) if isinstance(self._store, Store) else None


class SourceChange:
    """A relation's store, which holds the rows from before the commit, and what the commit changes in it.

    Of a `distinct` relation every row is there once, before and after.
    """

    def __init__(self, store: ProbedRelation, rows: list[Row], changes: list[int], *, distinct: bool = False) -> None:
        self.store = store
        self._rows = rows
        self._changes = changes
        self._distinct = distinct
        self._keys: dict[Positions, set[Key]] = {}
        # By key, where its rows are among all that change.
        self._places: dict[Positions, dict[Key, list[int]]] = {}
        self._kept: dict[tuple[Positions, Key], Mapping[Row, int]] = {}
        self._new: dict[tuple[Positions, Key], Mapping[Row, int]] = {}

    def keys(self, positions: Positions) -> set[Key]:
        """The values at the positions that changed rows have."""
        keys = self._keys.get(positions)
        if keys is None:
            keys = self._keys[positions] = set(map(_key_of(positions), self._rows))
        return keys

    def touched(self, positions: Positions, key: Key) -> Mapping[Row, int]:
        """The changed rows that hold a key."""
        index = self._places.get(positions)
        if index is None:
            index = {}
            for place, found in enumerate(map(_key_of(positions), self._rows)):
                index.setdefault(found, []).append(place)
            self._places[positions] = index
        return {self._rows[place]: self._changes[place] for place in index.get(key, ())}

    def kept(self, positions: Positions, key: Key, rows: Collection[Row]) -> Mapping[Row, int]:
        """Those of the rows with this key that do not change. All of them are stored."""
        found = self._kept.get((positions, key))
        if found is None:
            changed = self.touched(positions, key)
            counted = zip(rows, repeat(1)) if self._distinct else cast("Mapping[Row, int]", rows).items()
            found = self._kept[positions, key] = {row: count for row, count in counted if row not in changed}
        return found

    def new(self, positions: Positions, key: Key, rows: Collection[Row]) -> Mapping[Row, int]:
        """What will be there instead of the stored rows with this key."""
        found = self._new.get((positions, key))
        if found is None:
            after = self._after(self.touched(positions, key).items())
            found = self._new[positions, key] = {**self.kept(positions, key, rows), **after}
        return found

    def finding(self, state: LiteralState) -> NegatedSource:
        """Where a negation in that state must find nothing."""
        both = (self.finding_old, self.finding_new)
        return NegatedSource(both, both) if state is LiteralState.KEPT else NegatedSource(both[:1], both[1:])

    def finding_old(self, positions: Positions, key: Key) -> Iterable[tuple[Row, int]]:
        return self.store.matching(positions, key).items()

    def finding_new(self, positions: Positions, key: Key) -> Iterable[tuple[Row, int]]:
        changed = self.touched(positions, key)
        rows = self.store.matching(positions, key).items()
        if not changed:
            return rows
        return chain(self._after(changed.items()).items(), ((row, count) for row, count in rows if row not in changed))

    def rows_before(self) -> list[Row]:
        """The rows whose count changes and that were there."""
        counts = self.store.counts
        return [row for row in self._rows if counts.get(row, 0)]

    def rows_after(self) -> list[Row]:
        """The rows whose count changes and that will be there."""
        return list(self._after(zip(self._rows, self._changes, strict=True)))

    def _after(self, changed: Iterable[tuple[Row, int]]) -> Mapping[Row, int]:
        if self._distinct:
            return {row: 1 for row, change in changed if change > 0}
        counts = self.store.counts
        return {row: count for row, change in changed if (count := counts.get(row, 0) + change)}


class ChangedSource(AtomSource):
    """Where an atom finds its rows in a relation that does change."""

    def __init__(self, change: SourceChange, state: LiteralState) -> None:
        super().__init__(change.store)
        self._change = change
        self._state = state

    def match(self, positions: Positions, batch: Batch, keys: list[Key]) -> Matches:
        touched, stored = self._change.keys(positions), self._store.matching_all(positions, keys)
        if touched.isdisjoint(keys):
            return batch, stored
        found: list[tuple[Binding, Collection[Row]]] = []
        for binding, key, rows in zip(batch, keys, stored, strict=True):
            if key not in touched:
                found.append((binding, rows))
            elif self._state is LiteralState.KEPT:
                found.append((binding, self._change.kept(positions, key, rows)))
            else:
                going, coming = split(binding)
                if going is not None:
                    found.append((going, rows))
                if coming is not None:
                    found.append((coming, self._change.new(positions, key, rows)))
        return [binding for binding, _ in found], [rows for _, rows in found]

    def holder(self, positions: Positions, keys: Collection[Key]) -> Holder | None:
        return super().holder(positions, keys) if self._change.keys(positions).isdisjoint(keys) else None


class NegatedSource:
    """Where a negated atom must find nothing, for bindings of rows that go, and for those of rows that come.

    Both are the same unless the relation changes.
    """

    def __init__(self, going: tuple[Finding, ...], coming: tuple[Finding, ...]) -> None:
        self.going = going
        self.coming = coming
        self.is_same = going == coming


def absence_of(store: ProbedRelation) -> NegatedSource:
    """In a relation that does not change."""
    old = (SourceChange(store, [], []).finding_old,)
    return NegatedSource(old, old)


class PatternPresence:
    """Whether rows fit a pattern. A row whose count is negative is not there."""

    def __init__(self, pattern: Pattern, relation: Relation) -> None:
        self._positions = pattern.positions
        self._bare = len(pattern.positions) == 1
        self._is_widened = bool(pattern.widened)
        self._key_of = pattern_key(pattern, relation)

    def fits(self, findings: Iterable[Finding], key: Row) -> bool:
        """Whether any row holds the key in one of the states."""
        stored = key[0] if self._bare else key[: len(self._positions)]
        return any(
            count > 0 and (not self._is_widened or self._key_of(row) == key)
            for finding in findings
            for row, count in finding(self._positions, stored)
        )

    def flipped(self, change: SourceChange) -> tuple[list[Row], list[Row]]:
        """The keys that no row fits before and some will, and those for which it is the other way.

        So a negation ends to hold for the first, and begins to hold for the others.
        """
        old, new = (change.finding_old,), (change.finding_new,)
        came, went = (dict.fromkeys(map(self._key_of, rows)) for rows in (change.rows_after(), change.rows_before()))
        return (
            [key for key in came if self.fits(new, key) and not self.fits(old, key)],
            [key for key in went if self.fits(old, key) and not self.fits(new, key)],
        )


def _key_of(positions: Positions) -> Callable[[Row], Key]:
    return itemgetter(*positions) if positions else lambda _: ()
