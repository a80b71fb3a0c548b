"""A rule of a recursive component: the rows that it derives, each with what it rests on."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeAlias

import pyspark.sql.functions as F
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession

from whence.analysis.limits import too_much_work
from whence.analysis.typed_rules import TypedRule
from whence.engines.spark.bodies import ANYWHERE, Bindings, JoinStart, bindings
from whence.engines.spark.errors import raised_fields
from whence.engines.spark.recursion.changes import SMALL, Inputs
from whence.engines.spark.recursion.checkpoints import Checkpoint, CountedFrame, checkpoint
from whence.engines.spark.recursion.relation import SENT, BestRows, Growing
from whence.engines.spark.tuple_ids import absence_id
from whence.incremental.plan import Missing, Pattern
from whence.incremental.planner import make_plan
from whence.incremental.recursive.convergence import ConvergenceLimit
from whence.model.program import Functions
from whence.model.rules import Atom, Negation, Rule
from whence.model.terms import Aggregate, Variable
from whence.planning.statistics import UNCOUNTED, Sizes


class RecursiveRule:
    """`own` and `inputs` are the positive atoms of the component and of relations below, `negated` the negated ones:
    relations by the number of the literal. `patterns` are what the negated ones ask for.

    Candidates are the head's columns and, where the rule is `proved`, the `support`.
    """

    def __init__(
        self,
        typed: TypedRule,
        functions: Functions,
        component: Collection[str],
        *,
        proved: bool,
    ) -> None:
        rule = self.rule = typed.rule
        self.relation = rule.head.relation
        self._columns = typed.relations[self.relation].columns
        self._functions = functions
        self._proved = proved
        self._typed = typed
        positive = {at: literal.relation for at, literal in enumerate(rule.body) if isinstance(literal, Atom)}
        self.own = {at: name for at, name in positive.items() if name in component}
        self.inputs = {at: name for at, name in positive.items() if name not in component}
        self.negated = {
            at: literal.atom.relation for at, literal in enumerate(rule.body) if isinstance(literal, Negation)
        }
        steps = make_plan(self._typed, UNCOUNTED).steps
        self._missing = [step for step in steps if isinstance(step, Missing)]
        self.patterns: dict[int, Pattern] = {step.literal: step.pattern for step in self._missing}
        # The columns of the head by which derivations of a row can be looked up: variables, whose values they hold as
        # they are.
        self._keys: dict[str, str] = {}
        for at, term in enumerate(rule.head.terms):
            if isinstance(term, Variable) and self._typed.types[term.name].type == self._columns[at].type:
                self._keys.setdefault(term.name, f"c{at}")

    def candidates(
        self, atoms: Mapping[int, DataFrame], negations: Mapping[int, DataFrame], start: JoinStart = ANYWHERE
    ) -> DataFrame:
        """What follows where literals read these frames.

        A frame of the component has `support`, one of a relation below has the number of each row as `id`.
        """
        return self._heads(bindings(self._typed, atoms, negations, self._functions, start))

    def candidates_for(
        self, heads: DataFrame, atoms: Mapping[int, DataFrame], negations: Mapping[int, DataFrame], start: JoinStart
    ) -> DataFrame:
        """The same beginning with heads, where that leaves out some of what is beside them."""
        if self._keys:
            given = heads.select(*self._keys.values())
            # Without all columns that tell them apart, several heads can look the same.
            is_unique = len(self._keys) == len(self._columns) - len(self.rule.aggregates)
            start = replace(start, bound=tuple(self._keys), given=given if is_unique else given.distinct())
        return self.candidates(atoms, negations, start)

    def _heads(self, found: Bindings) -> DataFrame:
        values = [
            found.column(
                term.argument if isinstance(term, Aggregate) and term.argument is not None else term, column.type
            )
            for term, column in zip(self.rule.head.terms, self._columns, strict=True)
        ]
        named = [value.alias(f"c{number}") for number, value in enumerate(values)]
        return found.frame.select(*named, *([self._support(found).alias("support")] if self._proved else []))

    def _support(self, found: Bindings) -> Column:
        """Not a set yet: most candidates are dropped, and sorting costs more than that."""
        numbers = [F.col(f"a{at}_id") for at in self.inputs]
        for step in self._missing:
            relation = self._typed.relations[step.pattern.relation]
            numbers.append(absence_id(step.pattern, relation, [found.column(key) for key in step.keys]))
        own = [F.col(f"a{at}_support") for at in self.own]
        return F.concat(*own, F.array(*numbers).cast("array<bigint>"))


# Spark numbers the rows of a task in so many bits.
_COUNTED = 33


class WorkLimit:
    """Stops a job in which a rule of one component is matched with rows too often.

    A round can take longer than all rounds before it: where a rule joins three atoms of its recursion, n rows have
    n * n * n matches. So tasks count while they join, each its own matches, and the first that has too many ends the
    job. To add up those of all tasks and rounds there is no need, because rounds are limited as well.
    """

    def __init__(self, limit: ConvergenceLimit) -> None:
        self._limit = limit
        self._rules: list[Rule] = []

    def counted(self, rule: Rule, rows: int) -> Callable[[DataFrame], DataFrame]:
        """What lets matches of the rule pass, until they are too many for a component with so many rows."""
        most = self._limit.most_matches(rows)
        # Numbers become part of the code that Spark compiles, so that they should not differ from round to round.
        bits = 0 if most is None else most.bit_length()
        if most is None or bits >= _COUNTED:
            return lambda matches: matches
        if rule not in self._rules:
            self._rules.append(rule)
        text = json.dumps({"rule": self._rules.index(rule), "matches": 1 << bits})
        number = F.monotonically_increasing_id().bitwiseAND((1 << _COUNTED) - 1)
        is_allowed = F.when(number < (1 << bits), F.lit(True)).otherwise(F.raise_error(F.lit(text)))
        return lambda matches: matches.where(is_allowed)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Around jobs whose matches are counted."""
        try:
            yield
        except PySparkException as error:
            found = raised_fields(error, "rule", "matches")
            if found is None:
                raise
            raise too_much_work(self._rules[found["rule"]], found["matches"]) from error


# A rule and rows that it derives, with `support` if they are proved.
Offer: TypeAlias = tuple[Rule, DataFrame]


class Offering:
    """Over the inputs, over relations as they grow, and over relations of the component that are `known` already.

    If they `send`, bindings go to rows from before: these are many, and on storage. `work` limits how many there are.
    """

    def __init__(
        self,
        spark: SparkSession,
        rules: Sequence[RecursiveRule],
        inputs: Inputs,
        growing: Mapping[str, Growing],
        known: Mapping[str, CountedFrame],
        work: WorkLimit,
        *,
        send: bool = False,
    ) -> None:
        self._spark = spark
        self._known = known
        self.work = work
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
            if isinstance(growing, BestRows) and not growing.keys:
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

    def for_heads(self, heads: Mapping[str, CountedFrame]) -> Iterator[Offer]:
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
        """What was offered has been taken or left. No one may read it any more."""
        for sent in self._sent:
            sent.release()
        self._sent = []

    def _everything(self, rule: RecursiveRule) -> dict[int, DataFrame] | None:
        """All rows so far for the rule's atoms of the component; None if one of them has none."""
        found = {at: rows for at, name in rule.own.items() if (rows := self._all_rows(name)) is not None}
        return found if len(found) == len(rule.own) else None

    def _all_rows(self, name: str) -> DataFrame | None:
        return self._known[name].frame if name in self._known else self._growing[name].everything()

    def _candidates(
        self, rule: RecursiveRule, own: Mapping[int, DataFrame], start: JoinStart | None = None
    ) -> DataFrame:
        # Changed rows of an input stand among the own atoms, and go before.
        atoms = {**self._input_atoms(rule), **own}
        return rule.candidates(atoms, self._negations(rule), start or JoinStart())

    def _input_atoms(self, rule: RecursiveRule) -> dict[int, DataFrame]:
        return {at: self._inputs[name] for at, name in rule.inputs.items()}

    def _negations(self, rule: RecursiveRule) -> dict[int, DataFrame]:
        return {at: self._inputs[name].drop("id") for at, name in rule.negated.items()}

    def _delta(self, rule: RecursiveRule, name: str, delta: Checkpoint) -> DataFrame:
        rows = self._growing[name].readable(delta.frame)
        is_sent = len(rule.own) > 1 or not all(map(self._inputs.is_small, rule.inputs.values()))
        return F.broadcast(rows) if is_sent and delta.rows <= SMALL else rows

    def _start(self, rule: RecursiveRule, first: int | None = None, given: DataFrame | None = None) -> JoinStart:
        settled = [at for at in rule.own if at != first] if self._send else []
        rows = sum(map(self._size, (*self._known, *self._growing)))
        counted = self.work.counted(rule.rule, rows)
        return JoinStart(
            first=first,
            given=given,
            statistics=Sizes(self._size),
            settled=settled,
            settle=self._sending(),
            counted=counted,
        )

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
