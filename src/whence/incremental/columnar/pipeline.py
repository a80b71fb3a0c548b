"""A plan over columns: every step takes a batch of bindings and gives the batch that follows from it.

A binding is the same row of all columns of a batch, and counts as often as its weight says. Steps multiply weights and
add nothing up, so that every order of steps and every division into batches gives the same in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from whence.columns import NotInColumnsError
from whence.columns.delta import ColumnDelta
from whence.columns.encoding import INTEGER, Array, Encoding, Encodings
from whence.columns.expressions import VectorTerm, compile_condition, compile_vector
from whence.columns.keys import as_keys, is_same_key
from whence.columns.table import ColumnTable, Matches
from whence.deadline import check
from whence.incremental.counting.bindings import SlotTerms
from whence.incremental.plan import Compute, Filter, Flip, Missing, Pattern, Plan, Probe, Step
from whence.model.program import Functions
from whence.model.terms import Term
from whence.model.types import Type

# More bindings than this are taken in parts, which stay in the processor's caches from step to step.
PART = 1 << 16
# A step whose matches are more than this takes its bindings in smaller parts, so that memory stays bounded.
MOST_BINDINGS = 1 << 20


@dataclass(eq=False, slots=True)
class Batch:
    """Bindings in columns, by slot, and how often each counts."""

    columns: Mapping[int, Array]
    weights: Array

    @property
    def length(self) -> int:
        return len(self.weights)

    def part(self, start: int, stop: int) -> Batch:
        return Batch({slot: column[start:stop] for slot, column in self.columns.items()}, self.weights[start:stop])

    def at(self, places: Array) -> Batch:
        return Batch({slot: column.take(places) for slot, column in self.columns.items()}, self.weights.take(places))

    def where(self, chosen: Array) -> Batch:
        """Those that a mask chooses."""
        places = chosen.nonzero()[0]
        return self if len(places) == self.length else self.at(places) if len(places) else NONE


NONE = Batch({}, np.empty(0, INTEGER))
ONE = Batch({}, np.ones(1, INTEGER))

# Whether a literal reads its relation as it will be after the change under way.
ReadsAfter: TypeAlias = Mapping[int, bool]
# What follows from a batch; None where that would be too much for one.
Stage: TypeAlias = Callable[[Batch, ReadsAfter], Batch | None]


class VectorTerms:
    """What the terms of one plan see: its slots, their types, the functions."""

    def __init__(self, plan: Plan, functions: Functions, encodings: Encodings) -> None:
        self.encodings = encodings
        self.in_rows = SlotTerms(plan, functions)
        self._plan = plan
        self._implementations = {name: function.python for name, function in functions.items()}
        self._types = {slot: plan.types[name].type for name, slot in plan.slots.items()}

    def value(self, term: Term, target: Type | None = None) -> tuple[VectorTerm, Encoding]:
        """The term's values, converted to `target` where that is another type, and how they are encoded."""
        node = self.in_rows.annotated(term)
        signatures = self._plan.rule.signatures
        computed = compile_vector(
            node, signatures, self._implementations, self.encodings, self._types, self._plan.slots, target
        )
        return computed, self.encodings.of(target or node.typed.type)

    def truth(self, condition: Term) -> Callable[[Batch], Array]:
        """For which bindings a condition is true."""
        node = self.in_rows.annotated(condition)
        signatures = self._plan.rule.signatures
        return compile_condition(node, signatures, self._implementations, self.encodings, self._types, self._plan.slots)

    def needed(self, terms: Iterable[Term]) -> set[int]:
        return self.in_rows.slots(terms)


class VectorPlan:
    """A plan, ready to run over tables. Columns that no later step and no term of the `head` reads are not kept.

    A plan for a change has the weight of its bindings in the first slot, and begins with the literal that changes.
    """

    def __init__(
        self,
        plan: Plan,
        terms: VectorTerms,
        tables: Mapping[str, ColumnTable],
        head: Sequence[Term],
        *,
        is_for_change: bool,
    ) -> None:
        self.terms = terms
        self._tables = tables
        self._steps = plan.steps
        after = terms.needed(head)
        read_after: list[set[int]] = []
        for step in reversed(plan.steps):
            read_after.append(after)
            after = after | terms.needed(_terms(step))
        read_after.reverse()
        self._width = int(is_for_change)
        self._stages: list[Stage] = []
        self.trigger: Flip | Probe | None = None
        for number, (step, needed) in enumerate(zip(plan.steps, read_after, strict=True)):
            if number == 0 and is_for_change:
                assert isinstance(step, Probe | Flip), "a change enters through a literal"
                self.trigger = step
                self._entering = [(at, slot) for at, slot in self._taken(step) if slot in needed]
                # Where rows that leave the same cancel out, nothing has to be joined with them.
                self._cancels = any(isinstance(later, Probe) for later in plan.steps[1:])
                continue
            self._stages.append(self._stage(step, needed))

    def _taken(self, step: Probe | Flip) -> list[tuple[int, int]]:
        """The columns that a step puts into the next slots, and these."""
        binds = step.binds if isinstance(step, Probe) else _positions(step.pattern)
        taken = list(zip(binds, range(self._width, self._width + len(binds)), strict=True))
        self._width += len(binds)
        if isinstance(step, Probe) and step.counted:
            self._width += 1
        return taken

    def enter(self, delta: ColumnDelta) -> Batch:
        """The bindings that the change of the trigger's relation begins with."""
        assert self.trigger is not None
        if isinstance(self.trigger, Flip):
            return self._flipped(self.trigger.pattern, delta)
        encoded = delta.encoded
        return Batch({slot: encoded[at] for at, slot in self._entering}, delta.weights)

    def run(self, batch: Batch, reads_after: ReadsAfter) -> Iterable[Batch]:
        """All bindings of the body that begin with those of the batch."""
        check()
        for at, stage in enumerate(self._stages):
            length = len(batch.weights)
            if not length:
                return ()
            following = stage(batch, reads_after) if length <= PART else None
            if following is None:
                return self._run_in_parts(at, batch, reads_after)
            batch = following
        if len(batch.weights) > PART:
            return self._run_in_parts(len(self._stages), batch, reads_after)
        return (batch,) if len(batch.weights) else ()

    def _run_in_parts(self, at: int, batch: Batch, reads_after: ReadsAfter) -> Iterator[Batch]:
        """The same from a stage on, where there is too much for one batch."""
        stack = [(at, batch)]
        while stack:
            check()
            at, batch = stack.pop()
            while batch.length:
                if batch.length > PART:
                    stack.append((at, batch.part(PART, batch.length)))
                    batch = batch.part(0, PART)
                if at == len(self._stages):
                    yield batch
                    break
                following = self._stages[at](batch, reads_after)
                if following is None:
                    half = batch.length // 2
                    stack.append((at, batch.part(half, batch.length)))
                    batch = batch.part(0, half)
                    continue
                batch = following
                at += 1

    def _stage(self, step: Step, needed: set[int]) -> Stage:
        match step:
            case Probe():
                return self._probe(step, needed)
            case Filter(condition=condition):
                return _filter(self.terms.truth(condition), needed)
            case Compute(term=term):
                slot = self._width
                self._width += 1
                return _compute(self.terms.value(term)[0], slot, needed)
            case Missing():
                return self._missing(step, needed)
        raise AssertionError("a plan that starts from a negation is entered with the keys that flipped")

    def _probe(self, step: Probe, needed: set[int]) -> Stage:
        table, literal, positions = self._tables[step.relation], step.literal, step.positions
        keys = self._keys(table, positions, step.keys)
        taken = [(at, slot) for at, slot in self._taken(step) if slot in needed]
        is_key = table.is_key(positions)

        def stage(batch: Batch, reads_after: ReadsAfter) -> Batch | None:
            is_after = reads_after.get(literal, False)
            most = None if batch.length == 1 else MOST_BINDINGS
            if positions:
                values, possible = keys(batch)
                matches = table.probe(positions, values, batch.length, is_after=is_after, most=most)
                if matches is not None and possible is not None:
                    chosen = possible[matches.keys]
                    matches = Matches(*[each[chosen] for each in matches])
            else:
                matches = _everything(table, batch.length, is_after=is_after)
            if matches is None:
                return None
            if not len(matches.rows):
                return NONE
            batch = _kept(batch, needed)
            # Where every key has its one row, the keys are in their places already.
            if not (is_key and len(matches.keys) == batch.length):
                batch = batch.at(matches.keys)
            columns = {**batch.columns, **{slot: table.column(at, matches.rows) for at, slot in taken}}
            return Batch(columns, batch.weights * matches.weights)

        return stage

    def _missing(self, step: Missing, needed: set[int]) -> Stage:
        table, literal, positions = self._tables[step.pattern.relation], step.literal, _positions(step.pattern)
        keys = self._keys(table, positions, step.keys)

        def stage(batch: Batch, reads_after: ReadsAfter) -> Batch:
            values, possible = keys(batch)
            held = table.holds(positions, values, batch.length, is_after=reads_after.get(literal, False))
            if possible is not None:
                held &= possible
            return _kept(batch, needed).where(~held)

        return stage

    def _flipped(self, pattern: Pattern, delta: ColumnDelta) -> Batch:
        """The keys for which a negation comes to hold, and those for which it no longer does."""
        table, positions = self._tables[pattern.relation], _positions(pattern)
        first = _first_of_each([delta.encoded[at] for at in positions], len(delta))
        keys = [delta.encoded[at][first] for at in positions]
        was = table.holds(positions, keys, len(first), is_after=False)
        will = table.holds(positions, keys, len(first), is_after=True)
        differ = np.flatnonzero(was != will)
        columns = dict(zip(range(1, 1 + len(positions)), [key[differ] for key in keys], strict=True))
        return Batch(columns, np.where(will[differ], -1, 1))

    def _keys(
        self, table: ColumnTable, positions: Sequence[int], terms: Sequence[Term]
    ) -> Callable[[Batch], tuple[list[Array], Array | None]]:
        """The values of terms as the table's columns have them, and for which bindings they can be there at all."""
        computed = [self.terms.value(term) for term in terms]
        wanted = [table.encodings[at] for at in positions]
        if all(is_same_key(given, encoding) for (_, given), encoding in zip(computed, wanted, strict=True)):
            as_they_are = [value for value, _ in computed]
            return lambda batch: ([value(batch) for value in as_they_are], None)

        def keys(batch: Batch) -> tuple[list[Array], Array | None]:
            values, possible = [], None
            for (value, given), encoding in zip(computed, wanted, strict=True):
                found, fits = as_keys(value(batch), given, encoding)
                values.append(found)
                if fits is not None:
                    possible = fits if possible is None else possible & fits
            return values, possible

        return keys


def _everything(table: ColumnTable, length: int, *, is_after: bool) -> Matches | None:
    rows = table.live(is_after=is_after)
    if length * len(rows) > MOST_BINDINGS and length > 1:
        return None
    weights = table.counts(rows, is_after=is_after)
    return Matches(np.repeat(np.arange(length), len(rows)), np.tile(rows, length), np.tile(weights, length))


def _positions(pattern: Pattern) -> tuple[int, ...]:
    if pattern.widened:
        raise NotInColumnsError("a negation compares columns of different types")
    return pattern.positions


def _first_of_each(columns: Sequence[Array], length: int) -> Array:
    """The places of the first row of each combination of values."""
    if not columns:
        return np.arange(min(length, 1))
    words = np.stack([column.view(INTEGER) for column in columns], axis=1)
    return np.unique(words, axis=0, return_index=True)[1]


def _filter(condition: Callable[[Batch], Array], needed: set[int]) -> Stage:
    def stage(batch: Batch, _: ReadsAfter) -> Batch:
        places = condition(batch).nonzero()[0]
        if not len(places):
            return NONE
        kept = _kept(batch, needed)
        return kept if len(places) == len(batch.weights) else kept.at(places)

    return stage


def _compute(term: VectorTerm, slot: int, needed: set[int]) -> Stage:
    def stage(batch: Batch, _: ReadsAfter) -> Batch:
        kept = _kept(batch, needed)
        return Batch({**kept.columns, slot: term(batch)}, batch.weights)

    return stage


def _kept(batch: Batch, needed: set[int]) -> Batch:
    if batch.columns.keys() <= needed:
        return batch
    return Batch({slot: column for slot, column in batch.columns.items() if slot in needed}, batch.weights)


def _terms(step: Step) -> tuple[Term, ...]:
    match step:
        case Probe(keys=keys) | Missing(keys=keys):
            return keys
        case Compute(term=term) | Filter(condition=term):
            return (term,)
        case Flip():
            return ()
