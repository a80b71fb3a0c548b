"""A plan as functions: every step takes a batch of bindings and gives the batches that follow from it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias, cast

from whence.engines.engine import Functions
from whence.engines.local.counting.sources import Finding, Presence, Source
from whence.engines.local.counting.terms import Terms, columns
from whence.engines.local.store import Key
from whence.incremental.plan import Compute, Filter, Flip, Missing, Plan, Probe, Step
from whence.model.schema import Relation
from whence.model.terms import Term
from whence.model.types import Row

Batch: TypeAlias = list[Row]
# Bindings in a batch, about: enough to make the steps between them cheap, few enough to stay small.
FULL = 10_000


@dataclass(frozen=True, slots=True)
class Reading:
    """What the literals of a body read: where each atom finds its rows, and where each negation must find none.

    A negation can have to hold in two states. `flipped` gives the keys that a Flip starts from.
    """

    atoms: Mapping[int, Source]
    negations: Mapping[int, tuple[Finding, ...]]
    flipped: Callable[[Presence], Iterable[Row]] | None = None


# What follows from a batch: the one batch of a list, if it is not empty, or as many as an iterator gives.
Stage: TypeAlias = Callable[[Batch, Reading], list[Batch] | Iterator[Batch]]


class Pipeline:
    """A plan, ready to run."""

    def __init__(self, plan: Plan, relations: Mapping[str, Relation], functions: Functions) -> None:
        self.terms = Terms(plan, functions)
        self._stages = [_stage(step, self.terms, relations) for step in plan.steps]

    def run(self, reading: Reading, start: Sequence[Row] = ((),), done: int = 0) -> Iterator[Batch]:
        """All bindings of the body that begin with those of `start`, for which so many steps are `done`.

        Depth first, on a stack of its own: a body can be long.
        """
        stages = self._stages
        stack: list[tuple[int, Iterator[Batch]]] = [(done, _pieces(start))]
        while stack:
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
        case Flip(pattern=pattern):
            return _flip(Presence(pattern, relations[pattern.relation]))


def _probe(step: Probe, terms: Terms) -> Stage:
    literal, positions = step.literal, step.positions
    key, found = terms.key(step.keys), columns(step.binds)

    def stage(batch: Batch, reading: Reading) -> list[Batch] | Iterator[Batch]:
        look_up = reading.atoms[literal](positions)
        matches = [look_up(key(binding)) for binding in batch]
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
        look_up = cast("Callable[[Key], Mapping[Row, int]]", reading.atoms[literal](positions))
        matches = [look_up(key(binding)) for binding in batch]
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
        following = batch
        for finding in reading.negations[literal]:
            following = [binding for binding in following if not presence.fits(finding, key(binding))]
        return [following] if following else []

    return stage


def _flip(presence: Presence) -> Stage:
    def stage(batch: Batch, reading: Reading) -> list[Batch]:
        assert reading.flipped is not None, "a Flip is a trigger"
        following = [binding + key for binding in batch for key in reading.flipped(presence)]
        return [following] if following else []

    return stage
