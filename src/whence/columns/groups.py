"""Groups in columns: different keys, and a row of words for each, in which all that is kept of the group lies together.

A change binds rows to groups. What a group was before it was touched is handed out, so that it can be taken back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from whence.columns.compiled import kernel
from whence.columns.encoding import INTEGER, Array, Encoding
from whence.columns.hash_index import AHEAD, NOTHING, is_row, touch, touch_first
from whence.columns.numbered_rows import LEAST_ENTERED, LEAST_ROOM, NumberedRows

# What every group has: the number of its row, the last change that touched it, and how many bindings.
ROW, MARK, BINDINGS, OWN = 0, 1, 2, 3


@kernel
def bind(
    rows: Array,
    size: int,
    identity: Array,
    heads: Array,
    links: Array,
    new: Array,
    first: int,
    state: Array,
    mark: int,
    weights: Array,
    groups: Array,
    touched: Array,
    saved: Array,
    total: int,
) -> tuple[int, int, int]:
    """Find the groups of bindings from a first one on, or add them as long as there is room, and count the bindings.

    Groups that do not have the mark yet get it, and come with their words into `touched` and `saved`. Answers how many
    groups there are then, how far it got, and how many are touched.
    """
    width, length = new.shape
    for start in range(first, length, AHEAD):
        end = min(start + AHEAD, length)
        touch(rows, identity, heads, new, start, end, groups)
        touch_first(heads, groups, start, end, state[:, MARK])
        for at in range(start, end):
            place = groups[at]
            group = np.int64(heads[place])
            while group != NOTHING and not is_row(rows, group, new, at):
                group = np.int64(links[group])
            if group == NOTHING:
                if size == len(rows):
                    return size, at, total
                group = np.int64(size)
                size += 1
                for column in range(width):
                    rows[group, column] = new[column, at]
                links[group] = heads[place]
                heads[place] = group
                state[group, ROW] = NOTHING
            groups[at] = group
            if state[group, MARK] != mark:
                state[group, MARK] = mark
                touched[total] = group
                for word in range(state.shape[1]):
                    saved[total, word] = state[group, word]
                total += 1
            state[group, BINDINGS] += weights[at]
    return size, length, total


@kernel
def read_groups(state: Array, groups: Array, is_always: bool, kept: Array, rows: Array, has_row: Array) -> None:
    """The words of groups, their rows, and whether they are to have one: with bindings, or always."""
    for at in range(len(groups)):
        group = groups[at]
        for word in range(state.shape[1]):
            kept[at, word] = state[group, word]
        rows[at] = state[group, ROW]
        has_row[at] = is_always or state[group, BINDINGS] > 0


class Bound(NamedTuple):
    """The groups of bindings, those of them that were not touched before, and the words that these had."""

    groups: Array
    touched: Array
    saved: Array


class GroupTable(NumberedRows):
    """The keys of groups, and as many words for each."""

    def __init__(self, encodings: Sequence[Encoding], words: int) -> None:
        super().__init__(encodings)
        self.state: Array = np.zeros((LEAST_ROOM, words), INTEGER)

    def saved(self) -> dict[str, Any]:
        return {**super().saved(), "state": self.state[: self._size]}

    def restore(self, saved: Mapping[str, Any]) -> None:
        self.state = saved["state"]
        super().restore(saved)

    def bind(self, keys: Array, weights: Array, mark: int) -> Bound:
        """Count bindings with these keys and weights in a change that has this mark."""
        length, room = len(weights), self.state.shape[1]
        groups, touched = np.empty(length, INTEGER), np.empty(length, INTEGER)
        saved = np.empty((length, room), INTEGER)
        done = total = 0
        while True:
            index = self._index(self._identity)
            self._size, done, total = bind(
                self._rows,
                self._size,
                index.columns,
                index.heads,
                index.links,
                keys,
                done,
                self.state,
                mark,
                weights,
                groups,
                touched,
                saved,
                total,
            )
            if done == length:
                return Bound(groups, touched[:total], saved[:total])
            # Not for all of them: they may be few that come often.
            self.make_room(min(length - done, max(self._size, LEAST_ENTERED)))

    def enter(self, words: Array) -> Array:
        first = self._size
        groups = super().enter(words)
        self.state[first : self._size, ROW] = NOTHING
        return groups

    def touch_all(self, mark: int) -> Bound:
        """Give a mark to all groups that do not have it yet."""
        state = self.state[: self._size]
        groups = np.flatnonzero(state[:, MARK] != mark)
        state[groups, MARK] = mark
        return Bound(groups, groups, state[groups])

    def read(self, groups: Array, *, is_always: bool) -> tuple[Array, Array, Array]:
        """The words of groups, the numbers of their rows, and which of them are to have a row."""
        length, words = len(groups), self.state.shape[1]
        kept, rows, has_row = np.empty((length, words), INTEGER), np.empty(length, INTEGER), np.empty(length, np.bool_)
        read_groups(self.state, groups, is_always, kept, rows, has_row)
        return kept, rows, has_row

    def pack(self) -> Array:
        """Forget groups without bindings. Answers the former numbers of those that are left."""
        kept = np.flatnonzero(self.state[: self._size, BINDINGS])
        self._keep(kept)
        return kept

    def _keep(self, kept: Array) -> None:
        super()._keep(kept)
        self.state = with_room(self.state, kept, len(self._rows))

    def _resize(self, room: int) -> None:
        super()._resize(room)
        self.state = with_room(self.state, slice(self._size), room)


def with_room(array: Array, chosen: Array | slice, room: int) -> Array:
    """These rows of an array, and room for more, which are zero."""
    longer = np.zeros((room, *array.shape[1:]), array.dtype)
    rows = array[chosen]
    longer[: len(rows)] = rows
    return longer
