"""Relations as the Spark engine keeps them: a base on the cluster, and over it what has changed since.

The overlay is small and in the driver's memory; storage has it too, commit by commit. When it has grown, it becomes a
further part of the base, or of what lies over that on a disk.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from sys import getsizeof
from typing import Any, Generic, TypeVar, cast

import pyarrow as pa

from whence.algebra.deltas import added, negated
from whence.engines.spark.decoded_segment import Heap, decoded_table
from whence.engines.spark.pages import Base, Segments
from whence.engines.spark.types import column_names, rows_to_arrow
from whence.incremental.store import Key, Store
from whence.model.schema import Relation
from whence.model.types import Row

P = TypeVar("P")

# So many rows tell about how many bytes a row has.
_SAMPLE = 64


def is_large_overlay(rows: Mapping[Row, object], most_rows: int, most_bytes: int) -> bool:
    """Whether rows in memory are too many, or too wide by an estimate."""
    if len(rows) > most_rows:
        return True
    return len(rows) > _SAMPLE and estimated_bytes(rows) > most_bytes


def estimated_bytes(rows: Mapping[Row, object]) -> float:
    """Of rows in memory, by the first ones."""
    sizes = sum(getsizeof(row) + sum(map(getsizeof, row)) for row in islice(rows, _SAMPLE))
    return sizes * len(rows) / max(1, min(len(rows), _SAMPLE))


class CountedRows:
    """Rows and how often each is there. The overlay holds differences from the base, which add up without a look."""

    def __init__(self, relation: Relation, base: Base[int]) -> None:
        self.relation = relation
        self.base = base
        self.overlay = Store()
        # Counts how often the overlay has changed.
        self.stamp = 0

    @property
    def counts(self) -> Mapping[Row, int]:
        return _RowCounts(self)

    @property
    def overlay_rows(self) -> Mapping[Row, int]:
        return self.overlay.counts

    @property
    def overlay_size(self) -> int:
        return len(self.overlay.counts)

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
        self.stamp += 1
        self.overlay.apply(rows)

    def reversal(self, rows: Mapping[Row, int]) -> Callable[[], None]:
        """What takes such a change back."""
        return lambda: self.change(negated(rows))

    def replace(self, segments: Segments[int] | None) -> None:
        """A new base has everything."""
        self.base.stand_on(segments)
        self.clear_overlay()

    def clear_overlay(self) -> None:
        """What has changed is in the base now."""
        self.stamp += 1
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
        return len(self._state.base) + self._state.overlay_size


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
        # Counts how often the overlay has changed.
        self.stamp = 0

    @property
    def _is_all(self) -> bool:
        """Whether nothing lies below the overlay."""
        return self.base.segments is None

    def get(self, row: Row) -> P | None:
        return self.overlay[row] if row in self.overlay else self.base.get(row)

    def expect(self, rows: Collection[Row]) -> None:
        """These rows are going to be asked for: bring them into memory together, if that takes no job."""
        bare: list[Key] = [row[0] if len(row) == 1 else row for row in rows]
        self.base.expect(tuple(range(self.relation.arity)), bare)

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

    @property
    def overlay_size(self) -> int:
        return len(self.overlay)

    def matching_all(self, positions: tuple[int, ...], keys: Sequence[Key]) -> list[Mapping[Row, P]]:
        return self.find(positions, keys)

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        return dict.fromkeys(self.find(positions, (key,))[0], 1)

    def change(self, rows: Mapping[Row, P | None]) -> None:
        """Other things are known of rows."""
        self.stamp += 1
        self._index.apply({row: 1 for row in rows if row not in self.overlay})
        self.overlay.update(rows)
        if self._is_all:
            # Without a base there is nothing that a row could be gone from.
            gone = [row for row, known in rows.items() if known is None]
            self._index.apply(dict.fromkeys(gone, -1))
            for row in gone:
                del self.overlay[row]

    def reversal(self, rows: Mapping[Row, P | None]) -> Callable[[], None]:
        """What takes such a change back that is going to be made."""
        former = {row: self.overlay[row] for row in rows if row in self.overlay}

        def take_back() -> None:
            self.stamp += 1
            self.change({row: former.get(row) for row in rows})
            # Of these the base alone has known, so that nothing may stand over it.
            unknown = [row for row in rows if row not in former and row in self.overlay]
            self._index.apply(dict.fromkeys(unknown, -1))
            for row in unknown:
                del self.overlay[row]

        return take_back

    def replace(self, segments: Segments[P] | None) -> None:
        """A new base has everything."""
        self.stamp += 1
        self.base.stand_on(segments)
        self.overlay = {}
        self._index = Store()


class TieredRows(AnnotatedRows[P]):
    """Annotated rows whose overlay lies over tiers: changes that came as columns, the newest last.

    A tier has the columns of the state, NULL in those that tell what is known where a row is gone.
    """

    def __init__(
        self, relation: Relation, base: Base[P], decode: Callable[[pa.Table], list[tuple[Row, P | None]]]
    ) -> None:
        super().__init__(relation, base)
        self.tiers: list[Heap] = []
        self._decode = decode
        # Of the rows that this commit has asked for, what tiers know of them, and None if they have no such row.
        self._found: dict[Row, tuple[P | None] | None] = {}

    @property
    def overlay_size(self) -> int:
        return len(self.overlay) + sum(map(len, self.tiers))

    def get(self, row: Row) -> P | None:
        if self.tiers and row not in self.overlay:
            if row not in self._found:
                self._find_in_tiers([row])
            found = self._found[row]
            if found is not None:
                return found[0]
        return super().get(row)

    def expect(self, rows: Collection[Row]) -> None:
        super().expect(rows)
        if self.tiers:
            self._find_in_tiers([row for row in rows if row not in self._found])

    def _find_in_tiers(self, rows: Sequence[Row]) -> None:
        self._found.update(dict.fromkeys(rows))
        keys = [column.combine_chunks() for column in rows_to_arrow(rows, self.relation).columns]
        for tier in self.tiers if rows else ():
            found = tier.with_keys(column_names(self.relation.arity), keys) if keys else tier.table()
            self._found.update((row, (known,)) for row, known in self._decode(found))

    def forget(self) -> None:
        """A commit is over, and what it has looked up goes."""
        self._found = {}

    def put_over(self, overlay: pa.Table, tier: pa.Table | None, directory: Path | None) -> None:
        """What is known of rows, over all that was known before: `overlay` is what lies over the tiers."""
        for table in (overlay, tier):
            if table is not None and table.num_rows:
                self.tiers.append(decoded_table(table, directory))
        self.forget()
        self.stamp += 1
        self.overlay, self._index = {}, Store()

    def take_back_tiers(self, tiers: Sequence[Heap], overlay: Mapping[Row, P | None]) -> None:
        """What was put over these tiers, and over what lay over them, has not happened."""
        self.tiers = [*tiers]
        self.forget()
        self.overlay, self._index = {}, Store()
        self.change(overlay)

    @property
    def _is_all(self) -> bool:
        return super()._is_all and not self.tiers

    def replace(self, segments: Segments[P] | None) -> None:
        super().replace(segments)
        self.forget()
        self.tiers = []
