"""How close each rule of a view comes to a row: what holds, what is missing, what is in the way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal as OneOf
from typing import TypeAlias

from whence.analysis.order import Absent, Define, Match, Test
from whence.engines.evidence import RowsMissingError
from whence.engines.reference.terms import as_term
from whence.errors import UnsupportedError
from whence.explain.changes.cells import Environment
from whence.explain.changes.contents import LimitReachedError
from whence.explain.changes.rules import ReadyRule, Rules
from whence.explain.changes.world import World
from whence.explain.proofs.words import Pattern, fact_text, is_made, place, rule_words, words_of
from whence.functions.text import shown
from whence.lang.datalog.write_terms import term_text
from whence.model.rules import Atom
from whence.model.terms import Aggregate, Call, Term, Variable, Wildcard, variables

Kind: TypeAlias = OneOf["missing", "blocked", "false", "differs", "open"]

# So many rows of an atom are tried, and views below views so many times.
_ROWS_TRIED = 50
_DEEPEST = 4
_NUMBERED = re.compile(r"_[0-9]+$")


@dataclass(frozen=True)
class Lack:
    """What keeps a rule from giving the row. `attempts` are those at a row of a view that is missing."""

    kind: Kind
    text: str
    relation: str | None = None
    row: Pattern | None = None
    attempts: tuple[Attempt, ...] = ()


@dataclass(frozen=True)
class Attempt:
    """The closest that a rule comes: `rule` in the user's words, what holds, and what does not."""

    rule: str | None
    place: str | None
    holds: tuple[str, ...]
    lacks: tuple[Lack, ...]


@dataclass(frozen=True, slots=True)
class _Way:
    values: Environment
    waiting: tuple[int, ...]
    held: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()


class Attempts:
    """Where rows have to be fetched first, what comes out does not count, and is to be made again then."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._rules = Rules(world)
        # How many ways could not be followed because rows were missing.
        self._left = 0

    def at(self, relation: str, row: Pattern, above: frozenset[str] = frozenset()) -> tuple[Attempt, ...]:
        """One for each rule. Views in `above` are not looked into again."""
        if self._world.is_table(relation):
            return ()
        return tuple(self._attempt(rule, row, above | {relation}) for rule in self._rules.of(relation))

    def _attempt(self, rule: ReadyRule, row: Pattern, above: frozenset[str]) -> Attempt:
        words = rule_words(rule.rule), place(rule.rule.span)
        start = rule.begin(row)
        if start is None:
            return Attempt(*words, (), (self._other_head(rule),))
        try:
            return self._begun(rule, row, start, above)
        except RowsMissingError:
            return Attempt(*words, (), ())

    def _begun(self, rule: ReadyRule, row: Pattern, start: Environment, above: frozenset[str]) -> Attempt:
        words = rule_words(rule.rule), place(rule.rule.span)
        try:
            way = self._closest(rule, row, start)
        except (LimitReachedError, UnsupportedError):
            return Attempt(*words, (), (Lack("open", "there was too much to look at"),))
        lacks = tuple(self._lack(rule, at, way, above) for at in sorted(way.failed))
        if not lacks:
            lacks = (self._differs(rule, row, way.values),)
        return Attempt(*words, tuple(self._held(rule, way)), lacks)

    def _closest(self, rule: ReadyRule, row: Pattern, start: Environment) -> _Way:
        """The way with the fewest steps that fail, and of these the first."""
        begin = _Way(start, tuple(range(len(rule.steps))))
        for failures in range(len(rule.steps) + 1):
            left = self._left
            ways = list(islice(self._ways(rule, begin, failures), _ROWS_TRIED))
            if self._left > left:
                raise RowsMissingError
            if ways:
                return next((way for way in ways if way.failed or rule.gives(row, way.values)), ways[0])
        return begin

    def _ways(self, rule: ReadyRule, way: _Way, failures: int) -> Iterator[_Way]:
        self._world.step()
        try:
            yield from self._followed(rule, way, failures)
        except RowsMissingError:
            self._left += 1

    def _followed(self, rule: ReadyRule, way: _Way, failures: int) -> Iterator[_Way]:
        for at in way.waiting:
            holds = rule.holds(at, way.values)
            if holds is not None:
                values, is_true = holds
                rest = tuple(each for each in way.waiting if each != at)
                if is_true:
                    yield from self._ways(rule, replace(way, values=values, waiting=rest), failures)
                elif failures:
                    failed = replace(way, values=values, waiting=rest, failed=(*way.failed, at))
                    yield from self._ways(rule, failed, failures - 1)
                return
        for at in way.waiting:
            solved = rule.solved(at, way.values)
            if solved is not None and len(solved) > len(way.values):
                yield from self._ways(rule, replace(way, values=solved), failures)
                return
        atoms = [at for at in way.waiting if isinstance(rule.steps[at], Match)]
        if not atoms:
            yield way
            return
        at = min(atoms, key=lambda each: rule.unbound(each, way.values))
        rest = tuple(each for each in way.waiting if each != at)
        for values in islice(rule.matches(at, way.values), _ROWS_TRIED):
            yield from self._ways(rule, replace(way, values=values, waiting=rest, held=(*way.held, at)), failures)
        if failures:
            yield from self._ways(rule, replace(way, waiting=rest, failed=(*way.failed, at)), failures - 1)

    def _held(self, rule: ReadyRule, way: _Way) -> Iterator[str]:
        for at in sorted(way.held):
            step = rule.steps[at]
            assert isinstance(step, Match)
            if not is_made(step.atom.relation):
                yield fact_text(step.atom.relation, rule.atom(at).pattern(way.values))

    def _lack(self, rule: ReadyRule, at: int, way: _Way, above: frozenset[str]) -> Lack:
        match rule.steps[at]:
            case Match(atom):
                return self._missing(atom.relation, rule.atom(at).pattern(way.values), above)
            case Absent(atom):
                return self._blocked(rule, atom, way.values)
            case Test(literal):
                term = as_term(literal)
                words = words_of(literal.span) or _condition(term)
                return Lack("false", f"{words}{_given(term, way.values, words)}")
            case Define(variable, term):
                wanted = way.values[variable.name]
                return Lack("false", f"{variable.name} = {term_text(term, 0)} is not {shown(wanted)}")

    def _missing(self, relation: str, row: Pattern, above: frozenset[str]) -> Lack:
        deeper: tuple[Attempt, ...] = ()
        if relation not in above and len(above) < _DEEPEST:
            deeper = self.at(relation, row, above)
        if is_made(relation):
            words = next((rule_words(rule) for rule in self._world.rules[relation]), None)
            return Lack("missing", words or fact_text(relation, row), relation, row, deeper)
        return Lack("missing", fact_text(relation, row), relation, row, deeper)

    def _blocked(self, rule: ReadyRule, atom: Atom, values: Environment) -> Lack:
        columns = self._world.relations[atom.relation].columns
        wanted = [
            None if isinstance(term, Wildcard) else rule.scope.compute(term, column.type)(values)
            for term, column in zip(atom.terms, columns, strict=True)
        ]
        positions = tuple(at for at, term in enumerate(atom.terms) if not isinstance(term, Wildcard))
        key = tuple(wanted[position] for position in positions)
        row = next(iter(self._world.contents.matching(atom.relation, positions, key)), None)
        found: Pattern = tuple(wanted) if row is None else row
        facts = self._behind(atom.relation, found) if is_made(atom.relation) else (fact_text(atom.relation, found),)
        return Lack("blocked", " and ".join(facts), atom.relation, found)

    def _behind(self, relation: str, row: Pattern) -> tuple[str, ...]:
        """What a user knows of the rows that make a row of a relation without a name."""
        for rule in self._rules.of(relation):
            start = rule.begin(row)
            if start is not None:
                way = next(self._ways(rule, _Way(start, tuple(range(len(rule.steps)))), 0), None)
                if way is not None and way.held:
                    return tuple(self._held(rule, way))
        return (fact_text(relation, row),)

    def _differs(self, rule: ReadyRule, row: Pattern, values: Environment) -> Lack:
        """Everything holds, and what comes out is another row."""
        relation = rule.rule.head.relation
        if not rule.rule.aggregates and (given := rule.head_row(values)) is not None:
            return Lack("differs", fact_text(relation, given), relation, given)
        fixed = {at: value for at, value in enumerate(row) if value is not ... and at not in rule.rule.aggregates}
        found = next(iter(self._world.contents.matching(relation, tuple(fixed), tuple(fixed.values()))), None)
        if found is None:
            return Lack("false", "there is no such group")
        return Lack("differs", fact_text(relation, found), relation, found)

    def _other_head(self, rule: ReadyRule) -> Lack:
        gives = tuple(
            rule.scope.compute(term, column.type)({}) if _is_fixed(term) else ...
            for term, column in zip(rule.head, rule.columns, strict=True)
        )
        return Lack("false", f"it only gives {fact_text(rule.rule.head.relation, gives)}")


def _is_fixed(term: Term) -> bool:
    return not isinstance(term, Aggregate | Variable) and not any(variables(term))


def _condition(term: Term) -> str:
    """A condition that nobody wrote: SQL joins no NULL."""
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
