"""A plan as functions: every step takes a batch of bindings and gives the batches that follow from it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TypeAlias, cast

from whence.deadline import check
from whence.incremental.counting.bindings import FULL, Batch, Binding, SlotTerms, Take, columns, split
from whence.incremental.counting.sources import AtomSource, NegatedSource, PatternPresence
from whence.incremental.plan import Compute, Filter, Flip, Missing, Plan, Probe, Step
from whence.model.program import Functions
from whence.model.schema import Relation
from whence.model.terms import Term
from whence.model.types import Row


@dataclass(frozen=True, slots=True)
class BodySources:
    """What the literals of a body read: where each atom finds its rows, and where each negation must find none."""

    atoms: Mapping[int, AtomSource]
    negations: Mapping[int, NegatedSource]


# What follows from a batch: the one batch of a list, if it is not empty, or as many as an iterator gives.
Stage: TypeAlias = Callable[[Batch, BodySources], list[Batch] | Iterator[Batch]]


# Is told of so many matches more.
MatchCounter: TypeAlias = Callable[[int], None]


class PlanPipeline:
    """A plan, ready to run. Its trigger, if it has one, is run by others."""

    def __init__(
        self, plan: Plan, relations: Mapping[str, Relation], functions: Functions, counter: MatchCounter | None = None
    ) -> None:
        """The counter, if there is one, is told of partial matches with rows, and may raise."""
        self._count = counter or _ignore
        self.terms = SlotTerms(plan, functions)
        self._stages = [_stage(step, self.terms, relations) for step in plan.steps]
        self._following = self._stages[1:]

    def run(self, reading: BodySources, start: Iterable[Row] = ((),), done: int = 0) -> Iterator[Batch]:
        """All bindings of the body that begin with those of `start`, for which so many steps are `done`.

        Depth first, on a stack of its own: a body can be long.
        """
        stages, count = self._stages, self._count
        stack: list[tuple[int, Iterator[Batch]]] = [(done, _pieces(start))]
        while stack:
            check()
            depth, batches = stack[-1]
            batch = next(batches, None)
            if batch is None:
                stack.pop()
                continue
            count(len(batch))
            while depth < len(stages):
                following = stages[depth](batch, reading)
                depth += 1
                if not isinstance(following, list):
                    stack.append((depth, following))
                    break
                if not following:
                    break
                (batch,) = following
                count(len(batch))
            else:
                yield batch

    def follow(self, batch: Batch, reading: BodySources, take: Take) -> None:
        """Give away all bindings that begin with those of the trigger. No counter is told."""
        for done, stage in enumerate(self._following, 2):
            following = stage(batch, reading)
            if not isinstance(following, list):
                for each in self.run(reading, chain.from_iterable(following), done):
                    take(each)
                return
            if not following:
                return
            (batch,) = following
        take(batch)


def _ignore(_: int) -> None:
    pass


def _stage(step: Step, terms: SlotTerms, relations: Mapping[str, Relation]) -> Stage:
    match step:
        case Probe():
            return _probe(step, terms)
        case Filter(condition=condition):
            return _filter(condition, terms)
        case Compute(term=term):
            return _compute(term, terms)
        case Missing(literal=literal, pattern=pattern, keys=keys):
            return _missing(literal, PatternPresence(pattern, relations[pattern.relation]), keys, terms)
        case Flip():
            return _begun


def _probe(step: Probe, terms: SlotTerms) -> Stage:
    literal, positions, counted = step.literal, step.positions, step.counted
    key, found = terms.key(step.keys), columns(step.binds)

    def stage(batch: Batch, reading: BodySources) -> list[Batch] | Iterator[Batch]:
        source = reading.atoms[literal]
        keys = list(map(key, batch))
        holder = None if counted else source.holder(positions, keys)
        if holder is not None:
            following = [
                binding + found(row) for binding, row in zip(batch, map(holder, keys), strict=True) if row is not None
            ]
            return [following] if following else []
        batch, matches = source.match(positions, batch, keys)
        if sum(map(len, matches)) > FULL:
            return many(batch, matches)
        if counted:
            following = [
                (*binding, *found(row), count)
                for binding, rows in zip(batch, cast("list[Mapping[Row, int]]", matches), strict=True)
                for row, count in rows.items()
            ]
        else:
            following = [binding + found(row) for binding, rows in zip(batch, matches, strict=True) for row in rows]
        return [following] if following else []

    def many(batch: Batch, matches: Sequence[Collection[Row]]) -> Iterator[Batch]:
        following: Batch = []
        for binding, rows in zip(batch, matches, strict=True):
            for piece in _pieces(rows):
                if counted:
                    counts = cast("Mapping[Row, int]", rows)
                    following += [(*binding, *found(row), counts[row]) for row in piece]
                else:
                    following += [binding + found(row) for row in piece]
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


def _filter(condition: Term, terms: SlotTerms) -> Stage:
    is_true = terms.value(condition)

    def stage(batch: Batch, _: BodySources) -> list[Batch]:
        following = [binding for binding in batch if is_true(binding) is True]
        return [following] if following else []

    return stage


def _compute(term: Term, terms: SlotTerms) -> Stage:
    value = terms.value(term)
    return lambda batch, _: [[(*binding, value(binding)) for binding in batch]]


def _missing(literal: int, presence: PatternPresence, keys: Sequence[Term], terms: SlotTerms) -> Stage:
    key = terms.row(keys)

    def stage(batch: Batch, reading: BodySources) -> list[Batch]:
        absence = reading.negations[literal]
        if absence.is_same:
            following = [binding for binding in batch if not presence.fits(absence.going, key(binding))]
        else:
            following = [left for binding in batch for left in remaining(binding, absence)]
        return [following] if following else []

    def remaining(binding: Binding, absence: NegatedSource) -> Iterator[Binding]:
        wanted = key(binding)
        for side, findings in zip(split(binding), (absence.going, absence.coming), strict=True):
            if side is not None and not presence.fits(findings, wanted):
                yield side

    return stage


def _begun(_batch: Batch, _reading: BodySources) -> list[Batch]:
    raise AssertionError("a plan that starts from a negation is entered with the keys that flipped")
