"""The relations that a component reads: which rows appear and which vanish in a commit, and how they are after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from whence.engines.local.recursive.steps import Source
from whence.engines.local.store import Index, Key, Readable, index_of
from whence.model.types import Row
from whence.model.updates import Delta


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit does to the relations below, whose copies a set does not count.

    `owing` tells that a count goes below zero, so that presence is no longer all there is to know.
    """

    appeared: Mapping[str, list[Row]]
    vanished: Mapping[str, list[Row]]
    before: Mapping[str, Source]
    after: Mapping[str, Source]
    owing: bool


def change_of(stores: Mapping[str, Readable], deltas: Mapping[str, Delta]) -> Change:
    appeared: dict[str, list[Row]] = {}
    vanished: dict[str, list[Row]] = {}
    after: dict[str, Source] = dict(stores)
    owing = False
    for name, delta in deltas.items():
        if name not in stores or not delta:
            continue
        counts = stores[name].counts
        after[name] = Changed(stores[name], delta)
        for row, change in delta.items():
            count = counts.get(row, 0)
            owing = owing or count + change < 0
            if count <= 0 < count + change:
                appeared.setdefault(name, []).append(row)
            elif count + change <= 0 < count:
                vanished.setdefault(name, []).append(row)
    return Change(appeared, vanished, stores, after, owing)


class Changed:
    """A store as it will be once a change has been applied to it."""

    def __init__(self, store: Readable, delta: Delta) -> None:
        self._store = store
        self._delta = delta
        self._indexes: dict[tuple[int, ...], Index] = {}
        self._merged: dict[tuple[tuple[int, ...], Key], Mapping[Row, int]] = {}

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        rows = self._store.matching(positions, key)
        delta = self._changes(positions, key)
        if not delta:
            return rows
        place = (positions, key)
        merged = self._merged.get(place)
        if merged is None:
            merged = self._merged[place] = _plus(rows, delta)
        return merged

    def _changes(self, positions: tuple[int, ...], key: Key) -> Delta | None:
        if not positions:
            return self._delta
        index = self._indexes.get(positions)
        if index is None:
            index = self._indexes[positions] = index_of(self._delta, positions)
        return index.get(key)


def _plus(rows: Mapping[Row, int], delta: Delta) -> Mapping[Row, int]:
    merged = dict(rows)
    for row, change in delta.items():
        count = merged.get(row, 0) + change
        if count:
            merged[row] = count
        else:
            merged.pop(row, None)
    return merged
