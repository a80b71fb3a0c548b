"""How close each rule of a view comes to a row: what holds, what is missing, what blocks it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal as OneOf
from typing import TypeAlias

from whence.analysis.order import Absent, Define, Match, Test
from whence.analysis.typing import condition_term
from whence.engines.engine import RowsMissingError
from whence.errors import UnsupportedError, shown
from whence.explain.hypothetical.atoms import Environment
from whence.explain.hypothetical.contents import LimitReachedError
from whence.explain.hypothetical.rules import ReadyRule, ReadyRules
from whence.explain.hypothetical.world import Hypothesis
from whence.explain.proofs.text import Pattern, fact_text, is_made, place, words_of
from whence.lang.datalog.write import term_text
from whence.model.rules import Atom
from whence.model.terms import Aggregate, Call, Term, Variable, Wildcard, variables

Kind: TypeAlias = OneOf["missing", "blocked", "false", "differs", "open"]

# So many rows of an atom are tried, and views below views so many times.
_ROWS_TRIED = 50
_DEEPEST = 4
_NUMBERED = re.compile(r"_[0-9]+$")


@dataclass(frozen=True)
class MissingCondition:
    """What keeps a rule from giving the row. `attempts` are those at a row of a view that is missing."""

    kind: Kind
    text: str
    relation: str | None = None
    row: Pattern | None = None
    attempts: tuple[RuleAttempt, ...] = ()


@dataclass(frozen=True)
class RuleAttempt:
    """The closest that a rule comes: `rule` in the user's words, what holds, and what does not."""

    rule: str | None
    place: str | None
    holds: tuple[str, ...]
    lacks: tuple[MissingCondition, ...]


@dataclass(frozen=True, slots=True)
class _Trace:
    values: Environment
    waiting: tuple[int, ...]
    held: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()


class Attempts:
    """Where rows have to be fetched first, what comes out does not count, and is to be made again then."""

    def __init__(self, world: Hypothesis) -> None:
        self._world = world
        self._rules = ReadyRules(world)
        # How many traces could not be followed because rows were missing.
        self._left = 0

    def at(self, relation: str, row: Pattern, above: frozenset[str] = frozenset()) -> tuple[RuleAttempt, ...]:
        """One for each rule. Views in `above` are not looked into again."""
        if self._world.is_table(relation):
            return ()
        return tuple(self._attempt(rule, row, above | {relation}) for rule in self._rules.of(relation))

    def _attempt(self, rule: ReadyRule, row: Pattern, above: frozenset[str]) -> RuleAttempt:
        span = rule.rule.span
        holds: tuple[str, ...] = ()
        lacks: tuple[MissingCondition, ...] = ()
        start = rule.begin(row)
        if start is None:
            lacks = (self._other_head(rule),)
        else:
            with suppress(RowsMissingError):
                holds, lacks = self._outcome(rule, row, start, above)
        return RuleAttempt(words_of(span), place(span), holds, lacks)

    def _outcome(
        self, rule: ReadyRule, row: Pattern, start: Environment, above: frozenset[str]
    ) -> tuple[tuple[str, ...], tuple[MissingCondition, ...]]:
        """What holds and what is lacking where the rule comes closest."""
        try:
            trace = self._closest(rule, row, start)
        except (LimitReachedError, UnsupportedError):
            return (), (MissingCondition("open", "there was too much to look at"),)
        lacks = tuple(self._lack(rule, at, trace, above) for at in sorted(trace.failed))
        return tuple(self._held(rule, trace)), lacks or (self._differs(rule, row, trace.values),)

    def _closest(self, rule: ReadyRule, row: Pattern, start: Environment) -> _Trace:
        """The trace with the fewest steps that fail, and of these the first."""
        begin = _Trace(start, tuple(range(len(rule.steps))))
        for failures in range(len(rule.steps) + 1):
            left = self._left
            traces = list(islice(self._traces(rule, begin, failures), _ROWS_TRIED))
            if self._left > left:
                raise RowsMissingError
            if traces:
                return next((trace for trace in traces if trace.failed or rule.gives(row, trace.values)), traces[0])
        return begin

    def _traces(self, rule: ReadyRule, trace: _Trace, failures: int) -> Iterator[_Trace]:
        self._world.step()
        try:
            yield from self._followed(rule, trace, failures)
        except RowsMissingError:
            self._left += 1

    def _followed(self, rule: ReadyRule, trace: _Trace, failures: int) -> Iterator[_Trace]:
        for at in trace.waiting:
            holds = rule.holds(at, trace.values)
            if holds is not None:
                values, is_true = holds
                rest = tuple(each for each in trace.waiting if each != at)
                if is_true:
                    yield from self._traces(rule, replace(trace, values=values, waiting=rest), failures)
                elif failures:
                    failed = replace(trace, values=values, waiting=rest, failed=(*trace.failed, at))
                    yield from self._traces(rule, failed, failures - 1)
                return
        for at in trace.waiting:
            solved = rule.solved(at, trace.values)
            if solved is not None and len(solved) > len(trace.values):
                yield from self._traces(rule, replace(trace, values=solved), failures)
                return
        atoms = [at for at in trace.waiting if isinstance(rule.steps[at], Match)]
        if not atoms:
            yield trace
            return
        at = min(atoms, key=lambda each: rule.unbound(each, trace.values))
        rest = tuple(each for each in trace.waiting if each != at)
        for values in islice(rule.matches(at, trace.values), _ROWS_TRIED):
            yield from self._traces(rule, replace(trace, values=values, waiting=rest, held=(*trace.held, at)), failures)
        if failures:
            yield from self._traces(rule, replace(trace, waiting=rest, failed=(*trace.failed, at)), failures - 1)

    def _held(self, rule: ReadyRule, trace: _Trace) -> Iterator[str]:
        for at in sorted(trace.held):
            step = rule.steps[at]
            assert isinstance(step, Match)
            if not is_made(step.atom.relation):
                yield fact_text(step.atom.relation, rule.atom(at).pattern(trace.values))

    def _lack(self, rule: ReadyRule, at: int, trace: _Trace, above: frozenset[str]) -> MissingCondition:
        match rule.steps[at]:
            case Match(atom):
                return self._missing(atom.relation, rule.atom(at).pattern(trace.values), above)
            case Absent(atom):
                return self._blocked(rule, atom, trace.values)
            case Test(literal):
                term = condition_term(literal)
                words = words_of(literal.span) or _condition(term)
                return MissingCondition("false", f"{words}{_given(term, trace.values, words)}")
            case Define(variable, term):
                wanted = trace.values[variable.name]
                return MissingCondition("false", f"{variable.name} = {term_text(term, 0)} is not {shown(wanted)}")

    def _missing(self, relation: str, row: Pattern, above: frozenset[str]) -> MissingCondition:
        deeper: tuple[RuleAttempt, ...] = ()
        if relation not in above and len(above) < _DEEPEST:
            deeper = self.at(relation, row, above)
        words = words_of(self._world.rules[relation][0].span) if is_made(relation) else None
        return MissingCondition("missing", words or fact_text(relation, row), relation, row, deeper)

    def _blocked(self, rule: ReadyRule, atom: Atom, values: Environment) -> MissingCondition:
        columns = self._world.relations[atom.relation].columns
        wanted: Pattern = tuple(
            ... if isinstance(term, Wildcard) else rule.scope.compute(term, column.type)(values)
            for term, column in zip(atom.terms, columns, strict=True)
        )
        found = next(iter(self._world.contents.like(atom.relation, wanted)), wanted)
        facts = self._behind(atom.relation, found) if is_made(atom.relation) else (fact_text(atom.relation, found),)
        return MissingCondition("blocked", " and ".join(facts), atom.relation, found)

    def _behind(self, relation: str, row: Pattern) -> tuple[str, ...]:
        """What a user knows of the rows that make a row of a relation without a name."""
        for rule in self._rules.of(relation):
            start = rule.begin(row)
            if start is not None:
                trace = next(self._traces(rule, _Trace(start, tuple(range(len(rule.steps)))), 0), None)
                if trace is not None and trace.held:
                    return tuple(self._held(rule, trace))
        return (fact_text(relation, row),)

    def _differs(self, rule: ReadyRule, row: Pattern, values: Environment) -> MissingCondition:
        """Everything holds, and what comes out is another row."""
        relation = rule.rule.head.relation
        if not rule.rule.aggregates and (given := rule.head_row(values)) is not None:
            return MissingCondition("differs", fact_text(relation, given), relation, given)
        group = tuple(... if at in rule.rule.aggregates else value for at, value in enumerate(row))
        found = next(iter(self._world.contents.like(relation, group)), None)
        if found is None:
            return MissingCondition("false", "there is no such group")
        return MissingCondition("differs", fact_text(relation, found), relation, found)

    def _other_head(self, rule: ReadyRule) -> MissingCondition:
        gives = tuple(
            rule.scope.compute(term, column.type)({}) if _is_fixed(term) else ...
            for term, column in zip(rule.head, rule.columns, strict=True)
        )
        return MissingCondition("false", f"it only gives {fact_text(rule.rule.head.relation, gives)}")


def _is_fixed(term: Term) -> bool:
    return not isinstance(term, Aggregate | Variable) and not any(variables(term))


def _condition(term: Term) -> str:
    """A condition that is not in the text: SQL joins no NULL."""
    match term:
        case Call(function="isnotnull", arguments=(Variable(name=name),)):
            return f"{name} is not NULL"
    return term_text(term, 0)


def _given(term: Term, values: Environment, words: str) -> str:
    """`, with x = 1, y = 2`. Names in SQL get a number where several columns have them."""
    named = dict.fromkeys(variable.name for variable in variables(term))
    given = [
        f"{name if name in words else _NUMBERED.sub('', name)} = {shown(values[name])}"
        for name in named
        if name in values
    ]
    return f", with {', '.join(given)}" if given else ""
