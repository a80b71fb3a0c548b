"""The rounds of a recursion: what follows from the rows that the round before brought, until nothing new does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import TypeAlias

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from whence.engines.local.recursive.endless import Brake
from whence.engines.spark.recursion.checkpoints import Checkpoint, checkpoint
from whence.engines.spark.recursion.growing import Bests, Growing
from whence.engines.spark.recursion.inputs import SMALL, Inputs
from whence.engines.spark.recursion.pieces import union
from whence.engines.spark.recursion.rules import RecursiveRule
from whence.engines.spark.types import rows_from_arrow
from whence.errors import ConvergenceError
from whence.model.rules import Rule

# Told after every round: its number, and how many rows it brought to each relation.
Progress: TypeAlias = Callable[[int, Mapping[str, int]], None]
# A rule and rows that it derives, with `support`.
Offer: TypeAlias = tuple[Rule, DataFrame]


class Rounds:
    """Relations that grow to their end, over inputs and over relations of the component that are known already.

    A round is one job for each relation that gets candidates.
    """

    def __init__(
        self,
        spark: SparkSession,
        rules: Sequence[RecursiveRule],
        growing: Mapping[str, Growing],
        known: Mapping[str, DataFrame],
        inputs: Inputs,
    ) -> None:
        self._spark = spark
        self._rules = [rule for rule in rules if rule.relation in growing]
        self._growing = growing
        self._known = known
        self._inputs = inputs

    def run(self, brake: Brake, progress: Progress | None) -> None:
        offers = _by_relation(self._from_outside())
        for number in count(1):
            news = {name: self._news(name, offered) for name, offered in offers.items()}
            if progress is not None:
                progress(number, {name: piece.rows for name, piece in news.items()})
            deltas = {name: piece for name, piece in news.items() if piece.rows}
            if not deltas:
                return
            for name, piece in deltas.items():
                pieces = self._growing[name].pieces
                pieces.add(piece)
                brake.check_size(pieces.rows, offers[name][-1][0])
            if number > brake.depth:
                raise self._endless(brake, offers, deltas)
            offers = _by_relation(self._from(deltas))

    def _news(self, name: str, offered: Sequence[Offer]) -> Checkpoint:
        growing = self._growing[name]
        rules = {id(rule): rule for rule, _ in offered}
        # An error that may come from several rules has no place.
        span = offered[0][0].span if len(rules) == 1 else None
        return checkpoint(growing.news(growing.numbered(union([frame for _, frame in offered]))), span)

    def _from_outside(self) -> Iterator[Offer]:
        """What follows without any row of the relations that grow."""
        for rule in self._rules:
            if self._known.keys() >= set(rule.own.values()):
                yield rule.rule, self._candidates(rule, {at: self._known[name] for at, name in rule.own.items()}, None)
        for rule in self._rules:
            growing = self._growing[rule.relation]
            if isinstance(growing, Bests) and not growing.keys:
                yield rule.rule, growing.empty_group(self._spark)

    def _from(self, deltas: Mapping[str, Checkpoint]) -> Iterator[Offer]:
        """What follows from the rows of the last round, each in turn at every place where its relation is read."""
        for rule in self._rules:
            everything = {at: rows for at, name in rule.own.items() if (rows := self._rows(name)) is not None}
            if len(everything) == len(rule.own):
                for at, name in rule.own.items():
                    if name in deltas:
                        delta = self._delta(rule, name, deltas[name])
                        yield rule.rule, self._candidates(rule, {**everything, at: delta}, at)

    def _delta(self, rule: RecursiveRule, name: str, delta: Checkpoint) -> DataFrame:
        rows = self._growing[name].readable(delta.frame)
        is_sent = len(rule.own) > 1 or not all(map(self._inputs.is_small, rule.inputs.values()))
        return F.broadcast(rows) if is_sent and delta.rows <= SMALL else rows

    def _rows(self, name: str) -> DataFrame | None:
        """All rows of a relation of the component so far; None if there are none."""
        if name in self._known:
            return self._known[name]
        growing = self._growing[name]
        rows = growing.pieces.frame
        return None if rows is None else growing.readable(rows)

    def _candidates(self, rule: RecursiveRule, own: Mapping[int, DataFrame], first: int | None) -> DataFrame:
        inputs = {at: self._inputs[name] for at, name in rule.inputs.items()}
        negations = {at: self._inputs[name].drop("id") for at, name in rule.negated.items()}
        return rule.candidates({**own, **inputs}, negations, first)

    def _endless(
        self, brake: Brake, offers: Mapping[str, Sequence[Offer]], deltas: Mapping[str, Checkpoint]
    ) -> ConvergenceError:
        name, delta = next(iter(deltas.items()))
        growing = self._growing[name]
        some = delta.frame.limit(1).toArrow()
        (row,) = rows_from_arrow(some, growing.relation)
        (identity,) = some.column("id").to_pylist()
        guilty = [
            rule for rule, frame in offers[name] if not growing.numbered(frame).where(F.col("id") == identity).isEmpty()
        ]
        return brake.too_deep(row, guilty[0])


def _by_relation(offers: Iterator[Offer]) -> dict[str, list[Offer]]:
    found: dict[str, list[Offer]] = {}
    for rule, frame in offers:
        found.setdefault(rule.head.relation, []).append((rule, frame))
    return found
