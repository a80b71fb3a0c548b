"""min, max, and aggregates of different values: what groups keep is how often each of their values is there."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from whence.columns import NotInColumnsError
from whence.columns.delta import ColumnDelta
from whence.columns.encoding import FLOATING, INTEGER, OUTLIER, Array, DictionaryEncoding, Encoding, Encodings
from whence.columns.numbered_rows import as_words
from whence.columns.sums import add_extremes
from whence.columns.table import ColumnTable
from whence.incremental.aggregates import TypedAggregate
from whence.incremental.columnar.folds import ColumnFold, linear_fold
from whence.model.types import BIGINT, Type

# Where a group has so many values, it is not gone through twice for the best that is left.
LARGE_GROUP = 256


class GroupValues:
    """The values of groups: rows of a group's number and a value, in a table of their own, or in one that is given."""

    def __init__(self, value: Encoding, table: ColumnTable | None = None) -> None:
        self._encodings = (Encoding(BIGINT), value)
        self.table = ColumnTable(self._encodings, is_set=True) if table is None else table
        self._added: list[tuple[Array, Array, Array]] = []

    def add(self, groups: Array, weights: Array, values: Array) -> None:
        nulls = self._encodings[1].is_null(values)
        if np.count_nonzero(nulls):
            there = ~nulls
            groups, weights, values = groups[there], weights[there], values[there]
        self._added.append((groups, values, weights))

    def restart(self) -> None:
        """All values come again: what is different then is all that changes."""
        rows = self.table.live()
        groups, values = self.table.columns(rows)
        self._added.append((groups, values, -self.table.multiplicities(rows)))

    def change(self) -> ColumnDelta:
        """The values that come to be there, and those that are there no more."""
        added, self._added = self._added, []
        if len(added) == 1:
            groups, values, weights = added[0]
        else:
            groups, values, weights = (np.concatenate(each) for each in zip(*added, strict=True)) if added else _NOTHING
        values = values.astype(self._encodings[1].dtype, copy=False)
        return self.table.stage(as_words([groups, values], len(groups)), weights)

    def settle(self) -> None:
        self.table.settle()
        if self.table.is_worth_packing:
            self.table.pack()

    def undo(self) -> None:
        self._added = []
        self.table.drop()

    def renumber(self, chosen: Array) -> None:
        """These groups, in this order, are all that is left."""
        numbers = np.zeros(int(chosen.max(initial=0)) + 1, INTEGER)
        numbers[chosen] = np.arange(len(chosen))
        rows = self.table.live()
        groups, values = self.table.columns(rows)
        counts = self.table.multiplicities(rows)
        self.table = ColumnTable(self._encodings, is_set=True)
        self.table.stage(as_words([numbers[groups], values], len(rows)), counts)
        self.table.settle()


_NOTHING = (np.empty(0, INTEGER), np.empty(0, INTEGER), np.empty(0, INTEGER))


class ValueFold(ColumnFold):
    """An aggregate that has to know which values are there."""

    values: GroupValues

    def saved(self, groups: int) -> dict[str, Any]:  # noqa: ARG002 - values know their groups
        return {"values": self.values.table.saved()}

    def restore(self, saved: Mapping[str, Any]) -> None:
        self.values.table.restore(saved["values"])


class DistinctFold(ValueFold):
    """count, sum and avg of the values that are there, however often."""

    def __init__(self, aggregate: TypedAggregate, encodings: Encodings, column: Type, at: int) -> None:
        super().__init__(aggregate, encodings, column, at)
        self.values = GroupValues(self._given)
        self.inner = linear_fold(aggregate, encodings, column, at)
        self.words = self.inner.words

    @property
    def arrays(self) -> list[Array]:
        return self.inner.arrays

    def saved(self, groups: int) -> dict[str, Any]:
        return {**super().saved(groups), "inner": self.inner.saved(groups)}

    def restore(self, saved: Mapping[str, Any]) -> None:
        super().restore(saved)
        self.inner.restore(saved["inner"])

    def resize(self, chosen: Array, room: int, *, renumbers: bool) -> None:
        self.inner.resize(chosen, room, renumbers=renumbers)
        if renumbers:
            self.values.renumber(chosen)

    def add(self, state: Array, groups: Array, weights: Array, values: Array) -> None:  # noqa: ARG002 - it is added later
        self.values.add(groups, weights, values)

    def restart(self, state: Array) -> None:  # noqa: ARG002 - it stays until the values differ
        self.values.restart()

    def change(self, state: Array) -> None:
        delta = self.values.change()
        self.inner.add(state, delta.encoded[0], delta.weights, delta.encoded[1])

    def results(self, kept: Array, groups: Array) -> Array:
        return self.inner.results(kept, groups)

    def settle(self) -> None:
        self.values.settle()

    def undo(self) -> None:
        self.values.undo()


@dataclass(slots=True)
class _Sorted:
    """The values of a large group, best first, some of which may be gone, and those that came since."""

    values: list[Any]
    # Before this place, all are gone.
    start: int = 0
    came: list[Any] = field(default_factory=list)


class ExtremeFold(ValueFold):
    """min or max of values whose numbers are in their order: a count of them, and the best one."""

    words = 2

    def __init__(self, aggregate: TypedAggregate, encodings: Encodings, column: Type, at: int) -> None:
        super().__init__(aggregate, encodings, column, at)
        self._sign = 1 if aggregate.function == "min" else -1
        self._is_double = self._given.dtype == FLOATING
        self._has_outliers = not self._given.is_ordered
        self.values = GroupValues(self._given)
        # Of large groups whose best value went once.
        self._sorted: dict[int, _Sorted] = {}
        # In the change under way: those that are new, the new starts of others, and the values that came to these.
        self._found: dict[int, _Sorted] = {}
        self._moved: dict[int, int] = {}
        self._came: list[tuple[int, Any]] = []

    def resize(self, chosen: Array, room: int, *, renumbers: bool) -> None:  # noqa: ARG002 - nothing else is kept elsewhere
        if renumbers:
            self.values.renumber(chosen)
            self._sorted = {}

    def add(self, state: Array, groups: Array, weights: Array, values: Array) -> None:  # noqa: ARG002 - it is added later
        if self._has_outliers and len(values) and values.max() >= OUTLIER:
            raise NotInColumnsError(f"{self.function} of numbers with more than 18 digits")
        self.values.add(groups, weights, values)

    def restart(self, state: Array) -> None:  # noqa: ARG002 - it stays until the values differ
        self.values.restart()

    def change(self, state: Array) -> None:
        delta = self.values.change()
        changed, values = delta.encoded
        best, lost = state.view(self._given.dtype), np.empty(len(changed), INTEGER)
        left = add_extremes(state, best, self.at, changed, values, delta.weights, self._sign > 0, lost)
        if self._sorted:
            coming = delta.weights > 0
            self._came = [
                (group, value)
                for group, value in zip(changed[coming].tolist(), values[coming].tolist(), strict=True)
                if group in self._sorted
            ]
        if left:
            self._find_best(best[:, self.at + 1], lost[:left])

    def _results(self, kept: Array, groups: Array) -> Array:  # noqa: ARG002 - what is kept is enough
        best = kept[:, self.at + 1].view(self._given.dtype)
        return np.where(kept[:, self.at] == 0, self._given.null, best)

    @property
    def _worst(self) -> Any:
        if self._is_double:
            return np.inf * self._sign
        return np.iinfo(INTEGER).max if self._sign > 0 else np.iinfo(INTEGER).min

    def _find_best(self, best: Array, groups: Array) -> None:
        """The best values that are left of groups whose best one went."""
        small = groups
        if self._sorted:
            is_sorted = np.array([group in self._sorted for group in groups.tolist()])
            for group in groups[is_sorted].tolist():
                best[group] = self._first_of(group)
            small = groups[~is_sorted]
            if not len(small):
                return
        matches = self.values.table.probe((0,), [small], len(small), is_after=True)
        assert matches is not None
        values = self.values.table.column(1, matches.rows)
        best[small] = self._worst
        at_once: Callable[..., None] = (np.minimum if self._sign > 0 else np.maximum).at
        at_once(best, small[matches.keys], values)
        sizes = np.bincount(matches.keys, minlength=len(small))
        for place in np.flatnonzero(sizes >= LARGE_GROUP).tolist():
            own = np.sort(values[matches.keys == place])
            self._found[int(small[place])] = _Sorted((own if self._sign > 0 else own[::-1]).tolist())

    def _first_of(self, group: int) -> Any:
        """The best value of a large group that is there after the change."""
        known = self._sorted[group]
        coming = sorted([value for each, value in self._came if each == group], key=lambda value: value * self._sign)
        place = self._first_there(group, known.values, known.start)
        self._moved[group] = place
        candidates = [
            values[at]
            for values in (known.values[place : place + 1], known.came, coming)
            if (at := self._first_there(group, values, 0)) < len(values)
        ]
        return min(candidates, key=lambda value: value * self._sign)

    def _first_there(self, group: int, values: list[Any], start: int) -> int:
        """The place of the first value that is there after the change, looked for in growing pieces."""
        table, size = self.values.table, 8
        while start < len(values):
            piece = np.array(values[start : start + size], self._given.dtype)
            found = table.find(as_words([np.full(len(piece), group), piece], len(piece)))
            there = np.flatnonzero(table.counts(found, is_after=True))
            if len(there):
                return start + int(there[0])
            start += len(piece)
            size *= 2
        return start

    def settle(self) -> None:
        self.values.settle()
        for group, place in self._moved.items():
            self._sorted[group].start = place
        for group, value in self._came:
            known = self._sorted.get(group)
            if known is None:
                continue
            insort(known.came, value, key=lambda each: each * self._sign)
            if len(known.came) > len(known.values) - known.start:
                # Sorted again when its best value goes the next time.
                del self._sorted[group]
        self._sorted.update(self._found)
        self._moved, self._came, self._found = {}, [], {}

    def undo(self) -> None:
        self.values.undo()
        self._moved, self._came, self._found = {}, [], {}


class TextExtremeFold(ExtremeFold):
    """min or max of texts. Their numbers are in no order, so those that meet in a change are sorted."""

    def change(self, state: Array) -> None:
        delta = self.values.change()
        counts, best = state[:, self.at], state[:, self.at + 1]
        changed, values = delta.encoded
        coming = delta.weights > 0
        before = np.unique(changed[coming])
        before = before[counts[before] > 0]
        lost = np.unique(changed[~coming & (values == best[changed])])
        np.add.at(counts, changed, delta.weights)
        self._choose(best, np.concatenate([changed[coming], before]), np.concatenate([values[coming], best[before]]))
        lost = lost[counts[lost] > 0]
        matches = self.values.table.probe((0,), [lost], len(lost), is_after=True)
        assert matches is not None
        self._choose(best, lost[matches.keys], self.values.table.column(1, matches.rows))

    def _choose(self, best: Array, groups: Array, values: Array) -> None:
        """The best of the values that are listed for each group."""
        if not len(groups):
            return
        assert isinstance(self._given, DictionaryEncoding)
        different, places = np.unique(values, return_inverse=True)
        texts: list[Any] = self._given.decode(different)
        ranks = np.empty(len(texts), INTEGER)
        ranks[sorted(range(len(texts)), key=texts.__getitem__, reverse=self._sign < 0)] = np.arange(len(texts))
        order = np.lexsort((ranks[places], groups))
        first = order[np.flatnonzero(np.diff(groups[order], prepend=-1))]
        best[groups[first]] = values[first]
