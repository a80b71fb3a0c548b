"""The values of a group that some folds keep, looked up one by one, or the best of them first.

A group may have as many values as there are rows. What a fold knows of all of them together is stored with the group;
a change looks up the values that it touches, and only a min or max whose best value goes looks for the next ones.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from heapq import heapify
from typing import Any

import pyarrow as pa
import pyarrow.compute as compute

from whence.engines.spark.decoded_segment import Heap
from whence.engines.spark.state import CountedRows
from whence.engines.spark.types import rows_to_arrow, values_from_arrow
from whence.incremental.aggregates import best_first
from whence.incremental.counting.folds import Candidates
from whence.model.schema import Relation
from whence.model.types import ArrayType, Row, Type

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
        # Arrow sorts no lists.
        self.is_arrows = not isinstance(kind, ArrayType)
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


def _best_values(heaps: Sequence[Heap], relation: Relation, key: Row, order: ValueOrder, after: Any) -> BestValues:
    values = pa.chunked_array([], order.kind.arrow())
    for heap in heaps:
        found = _of_group(heap, relation, key).column(f"c{len(key)}")
        if after is not None:
            behind = compute.greater if order.arrow == "ascending" else compute.less
            found = found.filter(behind(found, pa.scalar(after, found.type)))
        values = pa.chunked_array([*values.chunks, *found.chunks], found.type)
    table = pa.table({"value": values})
    best = compute.select_k_unstable(table, BEST_AT_ONCE, [("value", order.arrow)])
    listed = values_from_arrow(values.take(best), order.kind)
    return BestValues(after, list(dict.fromkeys(listed)), len(values) <= BEST_AT_ONCE)


def _of_group(heap: Heap, relation: Relation, key: Row) -> pa.Table:
    if not key:
        return heap.table()
    columns = rows_to_arrow([key], Relation("key", relation.columns[: len(key)])).columns
    keys = [column.combine_chunks() for column in columns]
    names = [f"c{at}" for at in range(len(key))]
    found = heap.with_keys(names, keys)
    for name, one in zip(names, keys, strict=True):
        column = found.column(name)
        found = found.filter(column.is_null() if one.null_count else compute.equal(column, one[0]))
    return found
