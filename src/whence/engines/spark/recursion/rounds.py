"""The rounds of a recursion: what follows from the rows that the round before brought, until nothing new does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import TypeAlias

import pyspark.sql.functions as F

from whence.engines.local.recursive.endless import Brake
from whence.engines.spark.recursion.checkpoints import Checkpoint, checkpoint
from whence.engines.spark.recursion.growing import Growing
from whence.engines.spark.recursion.offering import Offer, Offering
from whence.engines.spark.recursion.pieces import union
from whence.engines.spark.types import rows_from_arrow
from whence.errors import ConvergenceError

# Told after every round: its number, and how many rows it brought to each relation.
Progress: TypeAlias = Callable[[int, Mapping[str, int]], None]


class Rounds:
    """Lets relations grow to their end. A round is one job for each relation that gets candidates."""

    def __init__(self, brake: Brake, progress: Progress | None = None) -> None:
        self._brake = brake
        self._progress = progress

    def run(self, growing: Mapping[str, Growing], offering: Offering, first: Iterable[Offer]) -> None:
        """Beginning with the first offers, until no new ones follow."""
        offers = _by_relation(first)
        for number in count(1):
            news = {name: _news(growing[name], offered) for name, offered in offers.items()}
            if self._progress is not None:
                self._progress(number, {name: piece.rows for name, piece in news.items()})
            deltas = {name: piece for name, piece in news.items() if piece.rows}
            if deltas and number > self._brake.depth:
                name, delta = next(iter(deltas.items()))
                raise _endless(self._brake, growing[name], offers[name], delta)
            offering.release()
            if not deltas:
                return
            for name, piece in deltas.items():
                growing[name].pieces.add(piece)
                self._brake.check_size(growing[name].count, offers[name][-1][0])
            offers = _by_relation(offering.from_rows(deltas))


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


def _by_relation(offers: Iterable[Offer]) -> dict[str, list[Offer]]:
    found: dict[str, list[Offer]] = {}
    for rule, frame in offers:
        found.setdefault(rule.head.relation, []).append((rule, frame))
    return found
