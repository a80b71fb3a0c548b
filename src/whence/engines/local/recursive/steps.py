"""The steps of a plan as generators over bindings, which carry the rows of the body along."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol, TypeAlias

from whence.engines.local.counting.terms import Terms, columns
from whence.engines.local.store import Key
from whence.functions.cast import converter
from whence.incremental.plan import Compute, Filter, Flip, Missing, Pattern, Probe, Step
from whence.model.schema import Relation
from whence.model.types import Row, Value


class Source(Protocol):
    """A relation in some state."""

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        """The rows that hold the key at the positions."""


Sources: TypeAlias = Mapping[str, Source]
# The slots, and the rows of the atoms so far in the order of the plan.
Binding: TypeAlias = tuple[Row, tuple[Row, ...]]
Extend: TypeAlias = Callable[[Iterable[Binding], Sources], Iterator[Binding]]


def extension(step: Step, terms: Terms, relations: Mapping[str, Relation]) -> Extend:
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


def _probe(step: Probe, terms: Terms) -> Extend:
    relation, positions, counted = step.relation, step.positions, step.counted
    key, pick = terms.key(step.keys), columns(step.binds)

    def extend(bindings: Iterable[Binding], sources: Sources) -> Iterator[Binding]:
        matching = sources[relation].matching
        for slots, rows in bindings:
            for row in matching(positions, key(slots)):
                yield slots + pick(row), (*rows, row)

    def extend_counted(bindings: Iterable[Binding], sources: Sources) -> Iterator[Binding]:
        # A set does not ask how often a row is there, but the plan has a slot for it.
        for slots, rows in extend(bindings, sources):
            yield (*slots, 1), rows

    return extend_counted if counted else extend


def _missing(pattern: Pattern, relation: Relation, keys: Callable[[Row], Row]) -> Extend:
    name, fits = pattern.relation, _fits(pattern, relation)

    def extend(bindings: Iterable[Binding], sources: Sources) -> Iterator[Binding]:
        source = sources[name]
        for binding in bindings:
            if not fits(source, keys(binding[0])):
                yield binding

    return extend


def _fits(pattern: Pattern, relation: Relation) -> Callable[[Source, Row], bool]:
    """Whether some row fits the pattern with these keys."""
    positions, width = pattern.positions, len(pattern.positions)
    key_of = pattern_key(pattern, relation)

    def fits(source: Source, keys: Row) -> bool:
        rows = source.matching(positions, keys[0] if width == 1 else keys[:width])
        return any(key_of(row) == keys for row in rows) if pattern.widened else bool(rows)

    return fits


def pattern_key(pattern: Pattern, relation: Relation) -> Callable[[Row], Row]:
    """The keys with which a row fits the pattern."""
    as_stored = columns(pattern.positions)
    if not pattern.widened:
        return as_stored
    widened = [(position, converter(relation.columns[position].type, kind)) for position, kind in pattern.widened]
    return lambda row: (
        as_stored(row)
        + tuple([None if row[position] is None else convert(row[position]) for position, convert in widened])
    )


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
