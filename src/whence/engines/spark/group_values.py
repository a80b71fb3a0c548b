"""The values of a group that some folds keep, looked up one by one, or the best of them first.

A group may have as many values as there are rows. What a fold knows of all of them together is stored with the group;
a change looks up the values that it touches, and only a min or max whose best value goes looks for the next ones.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from heapq import heapify
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute

from whence.engines.spark.decoded_segment import Heap, hash_rows
from whence.engines.spark.ordered_index import OrderedIndex
from whence.engines.spark.state import CountedRows
from whence.engines.spark.types import rows_to_arrow, values_from_arrow
from whence.incremental.aggregates import best_first
from whence.incremental.counting.folds import Candidates
from whence.model.schema import Relation
from whence.model.types import Row, Type

# So many of the best values are looked for at a time, and kept until there is another base.
BEST_AT_ONCE = 1_024
# And of so many groups.
GROUPS_WITH_BEST = 256


class MemberCopies(MutableMapping[Any, int]):
    """How often a group has each value. It is looked up, and never changed here."""

    def __init__(self, members: CountedRows, key: Row) -> None:
        self.members = members
        self.key = key

    def __getitem__(self, value: Any) -> int:
        count = self.members.count((*self.key, value))
        if count:
            return count
        raise KeyError(value)

    def get(self, value: Any, default: Any = None) -> Any:
        return self.members.count((*self.key, value)) or default

    def __iter__(self) -> Iterator[Any]:
        return (row[-1] for row in self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> MutableMapping[Row, int]:
        bare = self.key[0] if len(self.key) == 1 else self.key
        return dict(self.members.matching(tuple(range(len(self.key))), bare))

    def __setitem__(self, value: Any, count: int) -> None:
        raise TypeError("what is stored changes with the commit")

    def __delitem__(self, value: Any) -> None:
        raise TypeError("what is stored changes with the commit")


class ValueOrder:
    """The order in which a min or max prefers values."""

    def __init__(self, function: str, kind: Type) -> None:
        self.of = best_first(function, kind)
        self.arrow = "ascending" if function == "min" else "descending"
        # Arrow sorts no lists and no structs.
        self.is_arrows = not kind.inner
        self.kind = kind


class StoredCandidates(Candidates):
    """The best value of a group is known; the next ones are looked for when it goes."""

    def __init__(self, copies: MemberCopies, order: ValueOrder, parts: tuple[int, Any]) -> None:
        held, best = parts
        super().__init__(copies, [(order.of(best), best)] if held and best is not None else [])
        self._order = order
        self._stored = copies
        # Values up to this one have been in the heap.
        self._last = best if self.heap else None
        self._is_exhausted = not held

    def refill(self) -> bool:
        if self._is_exhausted:
            return False
        after = None if self._last is None else self._order.of(self._last)
        found = [(self._order.of(value), value) for value in self._next()]
        found = [each for each in found if after is None or each[0] > after]
        if not found:
            self._is_exhausted = True
            return False
        self.heap.extend(found)
        heapify(self.heap)
        self._last = max(found)[1]
        return True

    def _next(self) -> set[Any]:
        """Values behind the last one: at least the best of them. Not all may be there."""
        members, key = self._stored.members, self._stored.key
        segments = members.base.segments
        heaps = segments.heaps() if segments is not None and self._order.is_arrows else None
        if heaps is None:
            return set(self._stored)
        known = members.base.best.get(key)
        if known is None or not known.goes_on_behind(self._last, self._order):
            known = _best_values(heaps, members.relation, key, self._order, self._last)
            if len(members.base.best) >= GROUPS_WITH_BEST:
                members.base.best.clear()
            members.base.best[key] = known
        bare = key[0] if len(key) == 1 else key
        recent = (row[-1] for row in members.overlay.matching(tuple(range(len(key))), bare))
        if not known.are_all:
            # Behind the last of them there may be others that are better than some recent ones.
            end = self._order.of(known.values[-1])
            recent = (value for value in recent if self._order.of(value) <= end)
        return {*recent, *known.values}


@dataclass(frozen=True, slots=True)
class BestValues:
    """Values of a group in a base behind one, best first: the next ones, or `all` that there are."""

    after: Any
    values: Sequence[Any]
    are_all: bool

    def goes_on_behind(self, last: Any, order: ValueOrder) -> bool:
        """Whether the best ones behind this value are among them."""
        if self.after is not None and (last is None or order.of(last) < order.of(self.after)):
            return False
        return self.are_all or (last is not None and order.of(last) < order.of(self.values[-1]))


# As long as the heaps. The values of one state are looked for in one order.
_ORDERED: WeakKeyDictionary[Heap, OrderedIndex] = WeakKeyDictionary()


def _best_values(heaps: Sequence[Heap], relation: Relation, key: Row, order: ValueOrder, after: Any) -> BestValues:
    columns = rows_to_arrow([key], Relation("key", relation.columns[: len(key)])).columns
    keys = [column.combine_chunks() for column in columns]
    reached = None if after is None else pa.scalar(after, order.kind.arrow()).as_py()
    while True:
        values, reached = _next_values(heaps, keys, order, reached)
        # Other groups may have the same hash.
        if len(values) or reached is None:
            listed = values_from_arrow(values, order.kind)
            return BestValues(after, list(dict.fromkeys(listed)), reached is None)


def _next_values(
    heaps: Sequence[Heap], keys: Sequence[pa.Array], order: ValueOrder, after: Any
) -> tuple[pa.ChunkedArray, Any]:
    """The next values behind one, best first, and up to where these are all; None if there are no others at all."""
    names, name = tuple(f"c{at}" for at in range(len(keys))), f"c{len(keys)}"
    descending = order.arrow == "descending"
    (hashed,) = hash_rows(keys) if keys else (np.uint64(0),)
    chunks: list[pa.Array] = []
    ends = []
    for heap in heaps:
        if heap not in _ORDERED:
            _ORDERED[heap] = OrderedIndex(heap, names, name)
        for page in _ORDERED[heap].pages(hashed, after, descending=descending, most=BEST_AT_ONCE):
            if page.num_rows >= BEST_AT_ONCE:
                ends.append((compute.min if descending else compute.max)(page.column(name)))
            chunks += _of_group(page, names, keys).column(name).chunks
    values = pa.chunked_array(chunks, order.kind.arrow())
    reached = None
    if ends:
        # Behind the first end there may be values that have not been looked for.
        reached = (max if descending else min)(end.as_py() for end in ends)
        within = compute.greater_equal if descending else compute.less_equal
        values = values.filter(within(values, pa.scalar(reached, values.type)))
    return values.take(compute.array_sort_indices(values, order.arrow)), reached


def _of_group(page: pa.Table, names: Sequence[str], keys: Sequence[pa.Array]) -> pa.Table:
    for name, one in zip(names, keys, strict=True):
        column = page.column(name)
        page = page.filter(column.is_null() if one.null_count else _equal(column, one[0]))
    return page


def _equal(column: pa.ChunkedArray, value: pa.Scalar) -> pa.ChunkedArray | pa.Array:
    if not pa.types.is_nested(column.type):
        return compute.equal(column, value)
    # Arrow compares neither lists nor structs.
    wanted = value.as_py()
    return pa.array([each == wanted for each in column.to_pylist()], pa.bool_())
