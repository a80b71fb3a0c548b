"""What the rules of a recursive component make of rows: of none, of new ones, of changes below, or of heads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from whence.engines.spark.bodies import Start
from whence.engines.spark.recursion.checkpoints import Checkpoint, Counted, checkpoint
from whence.engines.spark.recursion.growing import SENT, Bests, Growing
from whence.engines.spark.recursion.inputs import SMALL, Inputs
from whence.engines.spark.recursion.rules import RecursiveRule
from whence.model.rules import Rule

# A rule and rows that it derives, with `support` if they are proved.
Offer: TypeAlias = tuple[Rule, DataFrame]


class Offering:
    """Over the inputs, over relations as they grow, and over relations of the component that are `known` already.

    If they `send`, bindings go to rows from before: these are many, and on storage.
    """

    def __init__(
        self,
        spark: SparkSession,
        rules: Sequence[RecursiveRule],
        inputs: Inputs,
        growing: Mapping[str, Growing],
        known: Mapping[str, Counted],
        *,
        send: bool = False,
    ) -> None:
        self._spark = spark
        self._known = known
        self._send = send
        self._rules = [rule for rule in rules if rule.relation in growing]
        self._inputs = inputs
        self._growing = growing
        self._sent: list[Checkpoint] = []

    def from_outside(self) -> Iterator[Offer]:
        """What follows without any row of the relations that grow."""
        for rule in self._rules:
            if self._known.keys() >= set(rule.own.values()):
                yield rule.rule, self._candidates(rule, {at: self._known[name].frame for at, name in rule.own.items()})
        for rule in self._rules:
            growing = self._growing[rule.relation]
            if isinstance(growing, Bests) and not growing.keys:
                yield rule.rule, growing.empty_group(self._spark)

    def from_rows(self, deltas: Mapping[str, Checkpoint]) -> Iterator[Offer]:
        """What follows from the rows of the last round, each in turn at every place where its relation is read."""
        for rule in self._rules:
            own = self._everything(rule)
            if own is not None:
                for at, name in rule.own.items():
                    if name in deltas:
                        delta = self._delta(rule, name, deltas[name])
                        yield rule.rule, self._candidates(rule, {**own, at: delta}, self._start(rule, first=at))

    def from_changes(self, rows: Mapping[str, DataFrame], absences: Mapping[str, DataFrame]) -> Iterator[Offer]:
        """What follows from rows of the inputs at every place where they are read, and from these no longer being
        there at every place where they are negated. Rows have their numbers, as the inputs do.
        """
        for rule in self._rules:
            own = self._everything(rule)
            if own is not None:
                for at, name in rule.inputs.items():
                    if name in rows:
                        start = self._start(rule, first=at)
                        yield rule.rule, self._candidates(rule, {**own, at: rows[name]}, start)
                for at, name in rule.negated.items():
                    if name in absences:
                        start = self._start(rule, first=at, given=absences[name])
                        yield rule.rule, self._candidates(rule, own, start)

    def for_heads(self, heads: Mapping[str, Counted]) -> Iterator[Offer]:
        """What derives one of these heads, and perhaps others."""
        for rule in self._rules:
            own = self._everything(rule)
            if own is not None and rule.relation in heads:
                wanted = heads[rule.relation]
                atoms = {**self._input_atoms(rule), **own}
                if wanted.rows <= max(map(self._size, (*rule.own.values(), *rule.inputs.values())), default=0):
                    start = self._start(rule)
                    yield rule.rule, rule.candidates_for(wanted.frame, atoms, self._negations(rule), start)
                else:
                    yield rule.rule, self._candidates(rule, own, self._start(rule))

    def release(self) -> None:
        """What was offered has been taken or left. Nobody may read it any more."""
        for sent in self._sent:
            sent.release()
        self._sent = []

    def _everything(self, rule: RecursiveRule) -> dict[int, DataFrame] | None:
        """All rows so far for the rule's atoms of the component; None if one of them has none."""
        found = {at: rows for at, name in rule.own.items() if (rows := self._all_rows(name)) is not None}
        return found if len(found) == len(rule.own) else None

    def _all_rows(self, name: str) -> DataFrame | None:
        return self._known[name].frame if name in self._known else self._growing[name].everything()

    def _candidates(self, rule: RecursiveRule, own: Mapping[int, DataFrame], start: Start | None = None) -> DataFrame:
        # Changed rows of an input stand among the own atoms, and go before.
        atoms = {**self._input_atoms(rule), **own}
        return rule.candidates(atoms, self._negations(rule), start or Start())

    def _input_atoms(self, rule: RecursiveRule) -> dict[int, DataFrame]:
        return {at: self._inputs[name] for at, name in rule.inputs.items()}

    def _negations(self, rule: RecursiveRule) -> dict[int, DataFrame]:
        return {at: self._inputs[name].drop("id") for at, name in rule.negated.items()}

    def _delta(self, rule: RecursiveRule, name: str, delta: Checkpoint) -> DataFrame:
        rows = self._growing[name].readable(delta.frame)
        is_sent = len(rule.own) > 1 or not all(map(self._inputs.is_small, rule.inputs.values()))
        return F.broadcast(rows) if is_sent and delta.rows <= SMALL else rows

    def _start(self, rule: RecursiveRule, first: int | None = None, given: DataFrame | None = None) -> Start:
        settled = [at for at in rule.own if at != first] if self._send else []
        return Start(first=first, given=given, size=self._size, settled=settled, settle=self._sending())

    def _sending(self) -> Callable[[DataFrame], DataFrame]:
        is_first = True

        def send(bindings: DataFrame) -> DataFrame:
            nonlocal is_first
            # Joined with one large relation they are too many to be counted before they are joined with another.
            if not is_first:
                return bindings
            is_first = False
            kept = checkpoint(bindings)
            self._sent.append(kept)
            return F.broadcast(kept.frame) if kept.rows <= SENT else kept.frame

        return send

    def _size(self, name: str) -> int:
        if name in self._known:
            return self._known[name].rows
        return self._growing[name].count if name in self._growing else self._inputs.rows(name)
