"""A plan as functions: every step takes a batch of bindings and gives the batches that follow from it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias, cast

from whence.engines.engine import Functions
from whence.engines.local.counting.bundles import FULL, Batch, Binding, split
from whence.engines.local.counting.sources import Absence, Presence, Source
from whence.engines.local.counting.terms import Terms, columns
from whence.incremental.plan import Compute, Filter, Flip, Missing, Plan, Probe, Step
from whence.model.schema import Relation
from whence.model.terms import Term
from whence.model.types import Row
from whence.patience import check


@dataclass(frozen=True, slots=True)
class Reading:
    """What the literals of a body read: where each atom finds its rows, and where each negation must find none."""

    atoms: Mapping[int, Source]
    negations: Mapping[int, Absence]


# What follows from a batch: the one batch of a list, if it is not empty, or as many as an iterator gives.
Stage: TypeAlias = Callable[[Batch, Reading], list[Batch] | Iterator[Batch]]


class Pipeline:
    """A plan, ready to run. Its trigger, if it has one, is run by others."""

    def __init__(self, plan: Plan, relations: Mapping[str, Relation], functions: Functions) -> None:
        self.terms = Terms(plan, functions)
        self._stages = [_stage(step, self.terms, relations) for step in plan.steps]

    def run(self, reading: Reading, start: Iterable[Row] = ((),), done: int = 0) -> Iterator[Batch]:
        """All bindings of the body that begin with those of `start`, for which so many steps are `done`.

        Depth first, on a stack of its own: a body can be long.
        """
        stages = self._stages
        stack: list[tuple[int, Iterator[Batch]]] = [(done, _pieces(start))]
        while stack:
            check()
            depth, batches = stack[-1]
            batch = next(batches, None)
            if batch is None:
                stack.pop()
                continue
            while depth < len(stages):
                following = stages[depth](batch, reading)
                depth += 1
                if not isinstance(following, list):
                    stack.append((depth, following))
                    break
                if not following:
                    break
                (batch,) = following
            else:
                yield batch


def _stage(step: Step, terms: Terms, relations: Mapping[str, Relation]) -> Stage:
    match step:
        case Probe(counted=True):
            return _probe_counted(step, terms)
        case Probe():
            return _probe(step, terms)
        case Filter(condition=condition):
            return _filter(condition, terms)
        case Compute(term=term):
            return _compute(term, terms)
        case Missing(literal=literal, pattern=pattern, keys=keys):
            return _missing(literal, Presence(pattern, relations[pattern.relation]), keys, terms)
        case Flip():
            return _begun


def _probe(step: Probe, terms: Terms) -> Stage:
    literal, positions = step.literal, step.positions
    key, found = terms.key(step.keys), columns(step.binds)

    def stage(batch: Batch, reading: Reading) -> list[Batch] | Iterator[Batch]:
        source = reading.atoms[literal]
        keys = list(map(key, batch))
        holder = source.holder(positions, keys)
        if holder is not None:
            following = [
                binding + found(row) for binding, row in zip(batch, map(holder, keys), strict=True) if row is not None
            ]
            return [following] if following else []
        batch, matches = source.match(positions, batch, keys)
        if sum(map(len, matches)) > FULL:
            return many(batch, matches)
        following = [binding + found(row) for binding, rows in zip(batch, matches, strict=True) for row in rows]
        return [following] if following else []

    def many(batch: Batch, matches: Sequence[Collection[Row]]) -> Iterator[Batch]:
        following: Batch = []
        for binding, rows in zip(batch, matches, strict=True):
            for piece in _pieces(rows):
                following += [binding + found(row) for row in piece]
                if len(following) >= FULL:
                    yield following
                    following = []
        if following:
            yield following

    return stage


def _probe_counted(step: Probe, terms: Terms) -> Stage:
    literal, positions = step.literal, step.positions
    key, found = terms.key(step.keys), columns(step.binds)

    def stage(batch: Batch, reading: Reading) -> list[Batch] | Iterator[Batch]:
        batch, rows_of = reading.atoms[literal].match(positions, batch, list(map(key, batch)))
        matches = cast("list[Mapping[Row, int]]", rows_of)
        if sum(map(len, matches)) > FULL:
            return many(batch, matches)
        following = [
            (*binding, *found(row), count)
            for binding, rows in zip(batch, matches, strict=True)
            for row, count in rows.items()
        ]
        return [following] if following else []

    def many(batch: Batch, matches: Sequence[Mapping[Row, int]]) -> Iterator[Batch]:
        following: Batch = []
        for binding, rows in zip(batch, matches, strict=True):
            for piece in _pieces(rows):
                following += [(*binding, *found(row), rows[row]) for row in piece]
                if len(following) >= FULL:
                    yield following
                    following = []
        if following:
            yield following

    return stage


def _pieces(rows: Iterable[Row]) -> Iterator[Batch]:
    remaining = iter(rows)
    while piece := list(islice(remaining, FULL)):
        yield piece


def _filter(condition: Term, terms: Terms) -> Stage:
    is_true = terms.value(condition)

    def stage(batch: Batch, _: Reading) -> list[Batch]:
        following = [binding for binding in batch if is_true(binding) is True]
        return [following] if following else []

    return stage


def _compute(term: Term, terms: Terms) -> Stage:
    value = terms.value(term)
    return lambda batch, _: [[(*binding, value(binding)) for binding in batch]]


def _missing(literal: int, presence: Presence, keys: Sequence[Term], terms: Terms) -> Stage:
    key = terms.row(keys)

    def stage(batch: Batch, reading: Reading) -> list[Batch]:
        absence = reading.negations[literal]
        if absence.is_same:
            following = [binding for binding in batch if not presence.fits(absence.going, key(binding))]
        else:
            following = [left for binding in batch for left in remaining(binding, absence)]
        return [following] if following else []

    def remaining(binding: Binding, absence: Absence) -> Iterator[Binding]:
        wanted = key(binding)
        for side, findings in zip(split(binding), (absence.going, absence.coming), strict=True):
            if side is not None and not presence.fits(findings, wanted):
                yield side

    return stage


def _begun(_batch: Batch, _reading: Reading) -> list[Batch]:
    raise AssertionError("a plan that starts from a negation is entered with the keys that flipped")
