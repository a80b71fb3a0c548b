"""All the ways to satisfy a rule's body."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from whence.analysis.order import Absent, Define, Match, Step, Test, order_body
from whence.engines.reference.joins import binds, is_known, join_order, needs
from whence.engines.reference.tables import Table
from whence.engines.reference.terms import Binding, Computed, Conversion, Environment, Scope, as_term, conversion
from whence.model.rules import Atom, Rule
from whence.model.terms import Variable, Wildcard, variables
from whence.model.types import Value

Extension: TypeAlias = Callable[[Environment, int], Iterable[Binding]]


class Body:
    """The steps of a rule's body, ordered anew for the tables of every evaluation."""

    def __init__(self, rule: Rule, scope: Scope) -> None:
        self.steps = order_body(rule)
        self.scope = scope
        self.of_head = {variable.name for term in rule.head.terms for variable in variables(term)}

    def bindings(self, tables: Mapping[str, Table]) -> Iterator[Binding]:
        """Step by step, from the one way to satisfy nothing."""
        steps = join_order(self.steps, lambda relation: len(tables[relation]))
        bound: set[str] = set()
        found: Iterable[Binding] = [({}, 1)]
        for step, awaited in zip(steps, self._awaited(steps), strict=True):
            extended = _extended(found, self._extension(step, bound, tables))
            bound |= binds(step)
            if step is steps[-1]:
                return extended
            # What nothing needs any more would multiply with all that follows.
            found = list(extended) if bound <= awaited and not _skips(step) else _merged(extended, bound & awaited)
            bound &= awaited
        return iter(found)

    def _awaited(self, steps: Sequence[Step]) -> list[set[str]]:
        """For each step, the variables that the steps after it or the head need."""
        awaited: list[set[str]] = []
        later = self.of_head
        for step in reversed(steps):
            awaited.append(later)
            later = later | needs(step) | binds(step)
        return awaited[::-1]

    def _extension(self, step: Step, bound: set[str], tables: Mapping[str, Table]) -> Extension:
        match step:
            case Match(atom):
                return lookup(atom, bound, tables[atom.relation], self.scope).extend
            case Absent(atom):
                return lookup(atom, bound, tables[atom.relation], self.scope).extend_if_absent
            case Define(variable, term):
                return _define(variable.name, self.scope.compute(term, self.scope.types[variable.name].type))
            case Test(literal):
                return _test(self.scope.compute(as_term(literal)))


def _extended(bindings: Iterable[Binding], extend: Extension) -> Iterator[Binding]:
    return (each for binding in bindings for each in extend(*binding))


def _skips(step: Step) -> bool:
    """Whether rows that differ can give the same binding."""
    return isinstance(step, Match) and any(isinstance(term, Wildcard) for term in step.atom.terms)


def _merged(bindings: Iterable[Binding], needed: set[str]) -> list[Binding]:
    """The bindings as far as these variables go: those that differ in others only count together."""
    names = sorted(needed)
    sums: dict[tuple[Value, ...], int] = {}
    for environment, count in bindings:
        values = tuple([environment[name] for name in names])
        sums[values] = sums.get(values, 0) + count
    return [(dict(zip(names, values, strict=True)), count) for values, count in sums.items()]


def _define(name: str, value: Computed) -> Extension:
    return lambda environment, count: [({**environment, name: value(environment)}, count)]


def _test(condition: Computed) -> Extension:
    return lambda environment, count: [(environment, count)] if condition(environment) is True else []


@dataclass(frozen=True, slots=True)
class Lookup:
    """The rows of a table that fit an atom, where some variables are bound.

    The rows come from an index on `positions`, whose values are known before; `binds` are the columns that give
    variables their values, and `checks` compare what remains: variables that the atom itself repeats, and columns
    whose values must be widened before they compare.
    """

    table: Table
    positions: tuple[int, ...]
    values: tuple[Computed, ...]
    binds: tuple[tuple[int, str, Conversion | None], ...]
    checks: tuple[tuple[int, Computed, Conversion | None], ...]

    def extend(self, environment: Environment, count: int) -> Iterator[Binding]:
        key = tuple(value(environment) for value in self.values)
        for row, copies in self.table.matching(self.positions, key):
            extended = dict(environment)
            for position, name, convert in self.binds:
                extended[name] = row[position] if convert is None else convert(row[position])
            if all(
                value(extended) == (row[position] if convert is None else convert(row[position]))
                for position, value, convert in self.checks
            ):
                yield extended, count * copies

    def extend_if_absent(self, environment: Environment, count: int) -> list[Binding]:
        # A row whose count went below zero is owed, not there.
        present = any(copies > 0 for _, copies in self.extend(environment, 1))
        return [] if present else [(environment, count)]


def lookup(atom: Atom, bound: set[str], table: Table, scope: Scope) -> Lookup:
    columns = scope.relations[atom.relation].columns
    known: dict[int, Computed] = {}
    binds: dict[str, tuple[int, str, Conversion | None]] = {}
    checks: list[tuple[int, Computed, Conversion | None]] = []
    for position, (term, column) in enumerate(zip(atom.terms, columns, strict=True)):
        if isinstance(term, Wildcard):
            continue
        if isinstance(term, Variable) and term.name not in bound and term.name not in binds:
            binds[term.name] = (position, term.name, conversion(column.type, scope.types[term.name].type))
            continue
        key = scope.compute_for(term, column.type) if is_known(term, bound) else None
        if key is not None:
            known[position] = key
        else:
            checks.append((position, scope.compute(term), conversion(column.type, scope.type_of(term))))
    return Lookup(table, tuple(known), tuple(known.values()), tuple(binds.values()), tuple(checks))
