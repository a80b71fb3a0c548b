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
    """Lets relations grow to their end. A round is one job for each relation that gets candidates."""

    def __init__(
        self,
        spark: SparkSession,
        rules: Sequence[RecursiveRule],
        inputs: Inputs,
        brake: Brake,
        progress: Progress | None,
    ) -> None:
        self.spark = spark
        self._rules = rules
        self._inputs = inputs
        self._brake = brake
        self._progress = progress

    def run(self, growing: Mapping[str, Growing], known: Mapping[str, DataFrame]) -> None:
        """Over the inputs, and over relations of the component that are known already."""
        offering = _Offering(
            self.spark, [rule for rule in self._rules if rule.relation in growing], self._inputs, growing, known
        )
        offers = _by_relation(offering.from_outside())
        for number in count(1):
            news = {name: _news(growing[name], offered) for name, offered in offers.items()}
            if self._progress is not None:
                self._progress(number, {name: piece.rows for name, piece in news.items()})
            deltas = {name: piece for name, piece in news.items() if piece.rows}
            if not deltas:
                return
            if number > self._brake.depth:
                name, delta = next(iter(deltas.items()))
                raise _endless(self._brake, growing[name], offers[name], delta)
            for name, piece in deltas.items():
                growing[name].pieces.add(piece)
                self._brake.check_size(growing[name].pieces.rows, offers[name][-1][0])
            offers = _by_relation(offering.from_rows(deltas))


class _Offering:
    """What the rules make of rows."""

    def __init__(
        self,
        spark: SparkSession,
        rules: Sequence[RecursiveRule],
        inputs: Inputs,
        growing: Mapping[str, Growing],
        known: Mapping[str, DataFrame],
    ) -> None:
        self._spark = spark
        self._rules = rules
        self._inputs = inputs
        self._growing = growing
        self._known = known

    def from_outside(self) -> Iterator[Offer]:
        """What follows without any row of the relations that grow."""
        for rule in self._rules:
            if self._known.keys() >= set(rule.own.values()):
                yield rule.rule, self._candidates(rule, {at: self._known[name] for at, name in rule.own.items()}, None)
        for rule in self._rules:
            growing = self._growing[rule.relation]
            if isinstance(growing, Bests) and not growing.keys:
                yield rule.rule, growing.empty_group(self._spark)

    def from_rows(self, deltas: Mapping[str, Checkpoint]) -> Iterator[Offer]:
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


def _news(growing: Growing, offered: Sequence[Offer]) -> Checkpoint:
    rules = {id(rule) for rule, _ in offered}
    # An error that may come from several rules has no place.
    span = offered[0][0].span if len(rules) == 1 else None
    return checkpoint(growing.news(growing.numbered(union([frame for _, frame in offered]))), span)


def _endless(brake: Brake, growing: Growing, offered: Sequence[Offer], delta: Checkpoint) -> ConvergenceError:
    some = delta.frame.limit(1).toArrow()
    (row,) = rows_from_arrow(some, growing.relation)
    (number,) = some.column("id").to_pylist()
    guilty = (rule for rule, frame in offered if not growing.numbered(frame).where(F.col("id") == number).isEmpty())
    return brake.too_deep(row, next(guilty))


def _by_relation(offers: Iterator[Offer]) -> dict[str, list[Offer]]:
    found: dict[str, list[Offer]] = {}
    for rule, frame in offers:
        found.setdefault(rule.head.relation, []).append((rule, frame))
    return found
