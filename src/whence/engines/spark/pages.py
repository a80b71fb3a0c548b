"""A base on the cluster, read a page at a time.

The driver keeps no copy of a large relation. A run over it gets the rows that are in memory and notes the keys that
are not; these are fetched, all of them in one go, and the run starts again. It ends when nothing is missing: as many
tries as there are levels of probing, whatever the number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Generic, TypeAlias, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame

from whence.algebra.deltas import add_to
from whence.engines.spark.decoded_segment import Heap
from whence.incremental.store import Key
from whence.model.types import Row

P = TypeVar("P")

# What is known of a base row beside the row itself: how often it is there, or what it rests on.
Rows: TypeAlias = dict[Row, P]
_NONE: Mapping[Row, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Paging:
    """How much the driver takes. Beyond that, the cluster does the work.

    A base of up to `whole` rows is read once and kept; of a larger one a commit probes up to `keys` keys at a time,
    and holds up to `rows` rows. A change of more than `delta` rows stays on the cluster.

    A segment in which rows are looked up time and again is decoded on this machine's disk, if it lies there and has up
    to `mapped` bytes, or elsewhere and has up to `fetched`. A larger one gets sorted copies.

    A change of at least `columns` rows is followed in columns, as long as what it touches has up to `touched` bytes.
    """

    whole: int = 50_000
    keys: int = 100_000
    rows: int = 500_000
    delta: int = 50_000
    mapped: int = 1 << 30
    fetched: int = 1 << 23
    columns: int = 2_000
    touched: int = 1 << 29


DEFAULT_PAGING = Paging()


class TooLargeError(Exception):
    """A change touches more than the driver should hold."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The rows that hold one of the keys at the positions. Without positions it is all rows."""

    positions: tuple[int, ...]
    keys: Sequence[Key]


@dataclass(frozen=True)
class Segments(Generic[P]):
    """The rows on the cluster: frames of them with these columns, how many they are, and how they come into memory.

    The columns `c0`, `c1`, ... of a frame hold the row. Of counts, one row can have several, which `add_up`.
    `read` reads rows without the cluster, if it can, and `read_resting` those whose support has one of some ids, and
    perhaps nothing that is known of them. The `heaps` are where both look if all segments are decoded.
    """

    frames: Sequence[DataFrame]
    columns: Sequence[str]
    rows: int
    decode: Callable[[pa.Table], Iterable[tuple[Row, P]]]
    add_up: bool
    read: Callable[[Wanted], pa.Table | None] = lambda _: None
    read_resting: Callable[[Sequence[int]], pa.Table | None] = lambda _: None
    heaps: Callable[[], list[Heap] | None] = lambda: None

    @cached_property
    def frame(self) -> DataFrame:
        """All of them together, which takes Spark its time. A commit that scans nothing does not need it."""
        return reduce(lambda one, other: one.unionByName(other), self.frames).select(list(self.columns))


@dataclass(frozen=True, slots=True)
class PageQuery:
    """A query whose answer goes into memory."""

    frame: DataFrame
    receive: Callable[[pa.Table], None]


@dataclass(frozen=True, slots=True)
class KnownPage:
    """What was to be asked and is known already."""

    table: pa.Table
    receive: Callable[[pa.Table], None]


class Base(Generic[P]):
    """The rows of a relation as the last compaction left them, as far as they are in memory."""

    def __init__(self, width: int, paging: Paging) -> None:
        self.segments: Segments[P] | None = None
        self._paging = paging
        self._all = tuple(range(width))
        self._pages: dict[tuple[int, ...], dict[Key, Rows[P]]] = {}
        self._rows_in_pages = 0
        # Every row there is, once they are in memory, and these by key.
        self._whole: Rows[P] | None = {}
        self._indexes: dict[tuple[int, ...], dict[Key, Rows[P]]] = {}
        # Of groups whose values these are, the best ones.
        self.best: dict[Row, Any] = {}
        self._wanted: dict[tuple[int, ...], dict[Key, None]] = {}
        # Keys that cannot be had without a job, as far as a run has found out.
        self._refused: dict[tuple[int, ...], set[Key]] = {}
        # How often something was asked for that is not in memory.
        self.misses = 0

    def __len__(self) -> int:
        return 0 if self.segments is None else self.segments.rows

    @property
    def is_half_full(self) -> bool:
        """Whether as many rows could not be paged in once more."""
        return 2 * self._rows_in_pages > self._paging.rows

    def whole(self) -> Rows[P] | None:
        """All rows, if they are in memory."""
        return self._whole

    def get(self, row: Row) -> P | None:
        """What is known of a row; None if it is not there, or not in memory."""
        if self._whole is not None:
            return self._whole.get(row)
        return self.matching(self._all, row[0] if len(row) == 1 else row).get(row)

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, P]:
        """The rows that hold the key at the positions. Those that are not in memory are wanted from now on."""
        if self._whole is not None:
            index = self._indexes.get(positions)
            if index is None:
                return self._in_whole(self._whole, positions, key)
            return index.get(key, _NONE)  # type: ignore[arg-type] # empty, so of any type
        page = self._pages.get(positions, {}).get(key)
        if page is None:
            self._want(positions, key)
            return _NONE  # type: ignore[return-value] # empty, so of any type
        return page

    def matching_all(self, positions: tuple[int, ...], keys: Sequence[Key]) -> list[Mapping[Row, P]]:
        """The same for many keys, whose rows are brought into memory at once where that takes no job."""
        if self.segments is None:
            return [_NONE] * len(keys)  # type: ignore[list-item] # empty, so of any type
        self.expect(positions, keys)
        return [self.matching(positions, key) for key in keys]

    def expect(self, positions: tuple[int, ...], keys: Sequence[Key]) -> None:
        """Bring rows into memory that are going to be looked up, if that takes no job."""
        if self._whole is not None or self.segments is None or not positions or len(self) <= self._paging.whole:
            return
        pages, refused = self._pages.get(positions, {}), self._refused.setdefault(positions, set())
        missing = list(dict.fromkeys(key for key in keys if key not in pages and key not in refused))
        if missing:
            wanted = Wanted(positions, missing)
            found = self.segments.read(wanted)
            if found is None:
                # One by one they would be read as soon as it takes no job any more, which takes longer than the job.
                refused.update(missing)
            else:
                self.receive(wanted, self.segments.decode(found))

    def wanted(self) -> list[Wanted]:
        """What a run has missed since the last time this was asked."""
        wanted = [Wanted(positions, list(keys)) for positions, keys in self._wanted.items()]
        self._wanted, self._refused = {}, {}
        return wanted

    def receive(self, wanted: Wanted, rows: Iterable[tuple[Row, P]]) -> None:
        """Here is what was wanted, all of it."""
        assert self.segments is not None, "nothing is wanted where nothing is"
        found: Rows[Any] = dict(_added_up(rows) if self.segments.add_up else rows)
        if not wanted.positions:
            self._whole = found
            self._pages = {}
            return
        self._rows_in_pages += len(found)
        if self._rows_in_pages > self._paging.rows:
            raise TooLargeError
        pages = self._pages.setdefault(wanted.positions, {})
        for key in wanted.keys:
            pages[key] = {}
        key_of = itemgetter(*wanted.positions)
        for row, known in found.items():
            page = pages.get(key_of(row))
            # What was found by the hash of a key may hold another one.
            if page is not None:
                page[row] = known

    def stand_on(self, segments: Segments[P] | None) -> None:
        """There is another base, of which nothing is in memory yet."""
        self.segments = segments
        self._whole = {} if segments is None else None
        self._indexes, self.best = {}, {}
        self.forget()

    def forget(self) -> None:
        """The commit is over, and its pages go. A base that is in memory as a whole stays there."""
        self._pages = {}
        self._rows_in_pages = 0
        self._wanted, self._refused = {}, {}

    def _in_whole(self, whole: Rows[P], positions: tuple[int, ...], key: Key) -> Mapping[Row, P]:
        """The first look by these positions, which makes an index."""
        if not positions:
            return whole
        index: dict[Key, Rows[P]] = {}
        key_of = itemgetter(*positions)
        for row, known in whole.items():
            index.setdefault(key_of(row), {})[row] = known
        # When it is complete: a reader may be interrupted on the way.
        self._indexes[positions] = index
        return index.get(key, _NONE)  # type: ignore[arg-type] # empty, so of any type

    def _want(self, positions: tuple[int, ...], key: Key) -> None:
        self.misses += 1
        # A relation without columns has one row at most.
        if len(self) <= self._paging.whole or not self._all:
            self._wanted = {(): {(): None}}
        elif not positions:
            raise TooLargeError
        else:
            keys = self._wanted.setdefault(positions, {})
            keys[key] = None
            if len(keys) > self._paging.keys:
                raise TooLargeError


def _added_up(rows: Iterable[tuple[Row, Any]]) -> Rows[int]:
    counts: Rows[int] = {}
    add_to(counts, rows)
    return counts
