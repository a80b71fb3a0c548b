"""The relations that a component reads: which rows appear and which vanish in a commit, and how they are after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from whence.algebra.deltas import added
from whence.incremental.counting.bindings import SlotTerms, columns, pattern_key
from whence.incremental.plan import Compute, Filter, Flip, Missing, Pattern, Probe, Step
from whence.incremental.store import Index, Key, ProbedRelation, index_of
from whence.model.schema import Relation
from whence.model.types import Row, Value
from whence.model.updates import Delta


@dataclass(frozen=True, slots=True)
class InputChange:
    """What a commit does to the relations below, whose copies a set does not count.

    `owing` tells that a count goes below zero, so that presence is no longer all there is to know.
    """

    appeared: Mapping[str, list[Row]]
    vanished: Mapping[str, list[Row]]
    before: Mapping[str, RelationSource]
    after: Mapping[str, RelationSource]
    owing: bool


def change_of(stores: Mapping[str, ProbedRelation], deltas: Mapping[str, Delta]) -> InputChange:
    appeared: dict[str, list[Row]] = {}
    vanished: dict[str, list[Row]] = {}
    after: dict[str, RelationSource] = dict(stores)
    owing = False
    for name, delta in deltas.items():
        if name not in stores or not delta:
            continue
        counts = stores[name].counts
        after[name] = ChangedStore(stores[name], delta)
        for row, change in delta.items():
            count = counts.get(row, 0)
            owing = owing or count + change < 0
            if count <= 0 < count + change:
                appeared.setdefault(name, []).append(row)
            elif count + change <= 0 < count:
                vanished.setdefault(name, []).append(row)
    return InputChange(appeared, vanished, stores, after, owing)


class ChangedStore:
    """A store as it will be once a change has been applied to it."""

    def __init__(self, store: ProbedRelation, delta: Delta) -> None:
        self._store = store
        self._delta = delta
        self._indexes: dict[tuple[int, ...], Index] = {}
        self._merged: dict[tuple[tuple[int, ...], Key], Mapping[Row, int]] = {}

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        rows = self._store.matching(positions, key)
        if positions:
            index = self._indexes.get(positions)
            if index is None:
                index = self._indexes[positions] = index_of(self._delta, positions)
            delta: Delta | None = index.get(key)
        else:
            delta = self._delta
        if not delta:
            return rows
        place = (positions, key)
        merged = self._merged.get(place)
        if merged is None:
            merged = self._merged[place] = added(rows, delta)
        return merged


class RelationSource(Protocol):
    """A relation in some state."""

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        """The rows that hold the key at the positions."""


Sources: TypeAlias = Mapping[str, RelationSource]
# The slots, and the rows of the atoms so far in the order of the plan.
Binding: TypeAlias = tuple[Row, tuple[Row, ...]]
Extend: TypeAlias = Callable[[Iterable[Binding], Sources], Iterator[Binding]]


def extension(step: Step, terms: SlotTerms, relations: Mapping[str, Relation]) -> Extend:
    """What a step makes of bindings."""
    match step:
        case Probe():
            return _probe(step, terms)
        case Missing(pattern=pattern, keys=keys):
            return _missing(pattern, relations[pattern.relation], terms.row(keys))
        case Compute(term=term):
            return _compute(terms.value(term))
        case Filter(condition=condition):
            return _filter(terms.value(condition))
        case Flip(pattern=pattern):
            # The slots hold the key of the row that it starts from, which must be the last one, or the first.
            return _missing(pattern, relations[pattern.relation], lambda slots: slots)


def _probe(step: Probe, terms: SlotTerms) -> Extend:
    relation, positions, counted = step.relation, step.positions, step.counted
    key, pick = terms.key(step.keys), columns(step.binds)

    def extend(bindings: Iterable[Binding], sources: Sources) -> Iterator[Binding]:
        matching = sources[relation].matching
        for slots, rows in bindings:
            for row in matching(positions, key(slots)):
                yield slots + pick(row), (*rows, row)

    def extend_counted(bindings: Iterable[Binding], sources: Sources) -> Iterator[Binding]:
        # A set does not ask how often a row is there, but the plan has a slot for it.
        matching = sources[relation].matching
        for slots, rows in bindings:
            for row in matching(positions, key(slots)):
                yield (*slots, *pick(row), 1), (*rows, row)

    return extend_counted if counted else extend


def _missing(pattern: Pattern, relation: Relation, keys: Callable[[Row], Row]) -> Extend:
    name, positions, width = pattern.relation, pattern.positions, len(pattern.positions)
    key_of = pattern_key(pattern, relation)

    def extend(bindings: Iterable[Binding], sources: Sources) -> Iterator[Binding]:
        matching = sources[name].matching
        for binding in bindings:
            wanted = keys(binding[0])
            rows = matching(positions, wanted[0] if width == 1 else wanted[:width])
            if not (any(key_of(row) == wanted for row in rows) if pattern.widened else rows):
                yield binding

    return extend


def _compute(value: Callable[[Row], Value]) -> Extend:
    def extend(bindings: Iterable[Binding], _: Sources) -> Iterator[Binding]:
        for slots, rows in bindings:
            yield (*slots, value(slots)), rows

    return extend


def _filter(condition: Callable[[Row], Value]) -> Extend:
    def extend(bindings: Iterable[Binding], _: Sources) -> Iterator[Binding]:
        for binding in bindings:
            if condition(binding[0]) is True:
                yield binding

    return extend
