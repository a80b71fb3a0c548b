"""Relations as the Spark engine keeps them: a base on the cluster, and over it what has changed since.

The overlay is small and in the driver's memory; storage has it too, commit by commit. Compaction makes a new base of
both, so that the overlay never grows to more than a fraction of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, cast

from whence.algebra.deltas import added, negated
from whence.engines.spark.pages import Base, Segments
from whence.incremental.store import Key, Store
from whence.model.schema import Relation
from whence.model.types import Row

P = TypeVar("P")


class CountedRows:
    """Rows and how often each is there. The overlay holds differences from the base, which add up without a look."""

    def __init__(self, relation: Relation, base: Base[int]) -> None:
        self.relation = relation
        self.base = base
        self.overlay = Store()

    @property
    def counts(self) -> Mapping[Row, int]:
        return _RowCounts(self)

    @property
    def overlay_rows(self) -> Mapping[Row, int]:
        return self.overlay.counts

    def count(self, row: Row) -> int:
        return (self.base.get(row) or 0) + self.overlay.counts.get(row, 0)

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        return self.matching_all(positions, (key,))[0]

    def matching_all(self, positions: tuple[int, ...], keys: Sequence[Key]) -> list[Mapping[Row, int]]:
        changed = cast("list[Mapping[Row, int]]", self.overlay.matching_all(positions, keys))
        if self.base.segments is None:
            return changed
        found = self.base.matching_all(positions, keys)
        return [added(rows, changes) if changes else rows for rows, changes in zip(found, changed, strict=True)]

    def change(self, rows: Mapping[Row, int]) -> None:
        """Add to the counts."""
        self.overlay.apply(rows)

    def reversal(self, rows: Mapping[Row, int]) -> Callable[[], None]:
        """What takes such a change back."""
        return lambda: self.change(negated(rows))

    def replace(self, segments: Segments[int] | None) -> None:
        """A new base has everything."""
        self.base.stand_on(segments)
        self.overlay = Store()


class _RowCounts(Mapping[Row, int]):
    """The counts of a relation, looked up one by one. Its length is about right."""

    def __init__(self, state: CountedRows | AnnotatedRows[Any]) -> None:
        self._state = state

    def __getitem__(self, row: Row) -> int:
        count = self._state.count(row)
        if count:
            return count
        raise KeyError(row)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._state.matching((), ()))

    def __len__(self) -> int:
        return len(self._state.base) + len(self._state.overlay_rows)


class Present:
    """A set whose rows are kept with their derivations: a row is there once, while it has more than none."""

    def __init__(self, state: CountedRows) -> None:
        self._state = state

    @property
    def counts(self) -> Mapping[Row, int]:
        return _Presence(self._state.counts)

    def matching_all(self, positions: tuple[int, ...], keys: Sequence[Key]) -> list[Mapping[Row, int]]:
        found = self._state.matching_all(positions, keys)
        return [
            rows if min(rows.values(), default=1) > 0 else {row: 1 for row, count in rows.items() if count > 0}
            for rows in found
        ]

    def count(self, row: Row) -> int:
        return int(self._state.count(row) > 0)

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        return dict.fromkeys(self.matching_all(positions, (key,))[0], 1)


class _Presence(Mapping[Row, int]):
    def __init__(self, counts: Mapping[Row, int]) -> None:
        self._counts = counts

    def __getitem__(self, row: Row) -> int:
        if self._counts[row] > 0:
            return 1
        raise KeyError(row)

    def __iter__(self) -> Iterator[Row]:
        return (row for row, count in self._counts.items() if count > 0)

    def __len__(self) -> int:
        return len(self._counts)


class AnnotatedRows(Generic[P]):
    """Rows, each with something that is known of it. The overlay replaces the base, row by row; None is a row gone."""

    def __init__(self, relation: Relation, base: Base[P]) -> None:
        self.relation = relation
        self.base = base
        self.overlay: dict[Row, P | None] = {}
        self._index = Store()

    def get(self, row: Row) -> P | None:
        return self.overlay[row] if row in self.overlay else self.base.get(row)

    def count(self, row: Row) -> int:
        return 0 if self.get(row) is None else 1

    def find(self, positions: tuple[int, ...], keys: Sequence[Key]) -> list[Mapping[Row, P]]:
        """For each key the rows that hold it, and what is known of each."""
        overlay = self.overlay
        found = self.base.matching_all(positions, keys)
        for at, changed in enumerate(self._index.matching_all(positions, keys)):
            if changed:
                rows = dict(found[at])
                for row in changed:
                    known = overlay[row]
                    if known is not None:
                        rows[row] = known
                    else:
                        rows.pop(row, None)
                found[at] = rows
        return found

    @property
    def counts(self) -> Mapping[Row, int]:
        return _RowCounts(self)

    @property
    def overlay_rows(self) -> Mapping[Row, P | None]:
        return self.overlay

    def matching_all(self, positions: tuple[int, ...], keys: Sequence[Key]) -> list[Mapping[Row, P]]:
        return self.find(positions, keys)

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        return dict.fromkeys(self.find(positions, (key,))[0], 1)

    def change(self, rows: Mapping[Row, P | None]) -> None:
        """Other things are known of rows."""
        self._index.apply({row: 1 for row in rows if row not in self.overlay})
        self.overlay.update(rows)
        if self.base.segments is None:
            # Without a base there is nothing that a row could be gone from.
            gone = [row for row, known in rows.items() if known is None]
            self._index.apply(dict.fromkeys(gone, -1))
            for row in gone:
                del self.overlay[row]

    def reversal(self, rows: Mapping[Row, P | None]) -> Callable[[], None]:
        """What takes such a change back that is going to be made."""
        former = {row: self.overlay[row] for row in rows if row in self.overlay}

        def take_back() -> None:
            self.change({row: former.get(row) for row in rows})
            # Of these the base alone has known, so that nothing may stand over it.
            unknown = [row for row in rows if row not in former and row in self.overlay]
            self._index.apply(dict.fromkeys(unknown, -1))
            for row in unknown:
                del self.overlay[row]

        return take_back

    def replace(self, segments: Segments[P] | None) -> None:
        """A new base has everything."""
        self.base.stand_on(segments)
        self.overlay = {}
        self._index = Store()
