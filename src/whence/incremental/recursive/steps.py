"""The relations that a component reads: which rows appear and which vanish in a commit, and how they are after it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, repeat
from typing import Protocol, TypeAlias

from whence.algebra.deltas import added
from whence.deadline import check
from whence.incremental.counting.bindings import SlotTerms, columns, pattern_key
from whence.incremental.plan import Compute, Filter, Flip, Missing, Pattern, Probe, Step
from whence.incremental.store import Index, Key, ProbedRelation, index_of
from whence.model.schema import Relation
from whence.model.terms import Call, Term, Variable
from whence.model.types import Row
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

    def matching_all(self, positions: tuple[int, ...], keys: Sequence[Key]) -> list[Collection[Row]]:
        index = self._indexes.get(positions)
        if index is None:
            index = index_of(self._delta, positions) if positions else {(): dict(self._delta)}
            self._indexes[positions] = index
        found = self._store.matching_all(positions, keys)
        return [
            self._with_change(positions, key, index[key]) if key in index else rows
            for key, rows in zip(keys, found, strict=True)
        ]

    def _with_change(self, positions: tuple[int, ...], key: Key, delta: Delta) -> Mapping[Row, int]:
        place = (positions, key)
        merged = self._merged.get(place)
        if merged is None:
            merged = self._merged[place] = added(self._store.matching(positions, key), delta)
        return merged


class RelationSource(Protocol):
    """A relation in some state."""

    def matching_all(self, positions: tuple[int, ...], keys: Sequence[Key]) -> Sequence[Collection[Row]]:
        """For each of these keys the rows that hold it at the positions."""


Sources: TypeAlias = Mapping[str, RelationSource]
# What the search began with, a row or a head; the slots; and the rows of the atoms so far in the order of the plan.
Binding: TypeAlias = tuple[Row, Row, tuple[Row, ...]]
Batch: TypeAlias = list[Binding]
# Bindings in a batch, about: many more would live long enough to be looked at by the garbage collector.
FULL = 1_000


@dataclass(frozen=True, slots=True)
class Reading:
    """What a search reads. With `wanted`, it goes on only with what began with one of these, which may become fewer
    while it looks.
    """

    sources: Sources
    wanted: Collection[Row] | None


# What follows from a batch: none or one in a list, or as many as an iterator gives.
Extend: TypeAlias = Callable[[Batch, Reading], list[Batch] | Iterator[Batch]]


def extension(step: Step, terms: SlotTerms, relations: Mapping[str, Relation]) -> Extend:
    """What a step makes of bindings."""
    match step:
        case Probe():
            return _probe(step, terms)
        case Missing(pattern=pattern, keys=keys):
            return _missing(pattern, relations[pattern.relation], terms.row(keys))
        case Compute(term=term):
            value = terms.value(term)
            return lambda batch, _: [[(start, (*slots, value(slots)), rows) for start, slots, rows in batch]]
        case Filter(condition=condition):
            return _filter(condition, terms)
        case Flip(pattern=pattern):
            # The slots hold the key of the row that it starts from, which must be the last one, or the first.
            return _missing(pattern, relations[pattern.relation], lambda slots: slots)


def _probe(step: Probe, terms: SlotTerms) -> Extend:
    relation, positions = step.relation, step.positions
    key, pick = terms.key(step.keys), columns(step.binds)
    # A set does not ask how often a row is there, but the plan has a slot for it.
    count = (1,) if step.counted else ()

    def extend(batch: Batch, reading: Reading) -> list[Batch] | Iterator[Batch]:
        check()
        found = reading.sources[relation].matching_all(positions, [key(slots) for _, slots, _ in batch])
        if sum(map(len, found)) > (FULL if reading.wanted is None else len(batch)):
            return map(extended, _pieces(batch, found, reading.wanted))
        following = extended(_pairs(batch, found))
        return [following] if following else []

    def extended(pairs: Iterable[tuple[Binding, Row]]) -> Batch:
        return [(start, slots + pick(row) + count, (*rows, row)) for (start, slots, rows), row in pairs]

    return extend


def _pairs(batch: Batch, found: Iterable[Iterable[Row]]) -> Iterator[tuple[Binding, Row]]:
    """Each binding with each row that was found for it."""
    return chain.from_iterable(map(zip, map(repeat, batch), found))


def _pieces(
    batch: Batch, found: Sequence[Collection[Row]], wanted: Collection[Row] | None
) -> Iterator[list[tuple[Binding, Row]]]:
    """The same a few at a time. Where one will do for each that is wanted, the first often does: so one row for each
    binding comes first, then two more, and so on.
    """
    if wanted is None:
        pairs = _pairs(batch, found)
        while piece := list(islice(pairs, FULL)):
            yield piece
        return
    left = [(binding, iter(rows), len(rows)) for binding, rows in zip(batch, found, strict=True)]
    share, taken = 1, 0
    while left := [each for each in left if each[2] > taken and each[0][0] in wanted]:
        yield list(_pairs([binding for binding, _, _ in left], [islice(rows, share) for _, rows, _ in left]))
        taken += share
        share = min(2 * share, FULL // len(left) + 1)


def _missing(pattern: Pattern, relation: Relation, keys: Callable[[Row], Row]) -> Extend:
    name, positions, width = pattern.relation, pattern.positions, len(pattern.positions)
    key_of = pattern_key(pattern, relation)

    def extend(batch: Batch, reading: Reading) -> list[Batch]:
        wanted = [keys(slots) for _, slots, _ in batch]
        probed: list[Key] = [key[0] if width == 1 else key[:width] for key in wanted]
        found: Iterable[Collection[Row]] = reading.sources[name].matching_all(positions, probed)
        if pattern.widened:
            found = [[row for row in rows if key_of(row) == key] for key, rows in zip(wanted, found, strict=True)]
        following = [binding for binding, rows in zip(batch, found, strict=True) if not rows]
        return [following] if following else []

    return extend


def _filter(condition: Term, terms: SlotTerms) -> Extend:
    if (
        isinstance(condition, Call)
        and condition.function == "isnotnull"
        and isinstance(condition.arguments[0], Variable)
    ):
        # So every join of SQL begins over columns that can be NULL.
        (slot,) = terms.slots(condition.arguments)

        def joinable(batch: Batch, _: Reading) -> list[Batch]:
            following = [binding for binding in batch if binding[1][slot] is not None]
            return [following] if following else []

        return joinable
    is_true = terms.value(condition)

    def extend(batch: Batch, _: Reading) -> list[Batch]:
        following = [binding for binding in batch if is_true(binding[1]) is True]
        return [following] if following else []

    return extend
