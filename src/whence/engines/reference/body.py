"""The body of a rule: a join order for its steps, and all bindings that satisfy them over tables of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from whence.analysis.order import Absent, Define, Match, Step, Test, binds, needs
from whence.analysis.typed_rules import Binding, Computed, Conversion, Environment, Scope, TypedRule, conversion
from whence.analysis.typing import condition_term
from whence.model.rules import Atom
from whence.model.terms import Term, Variable, Wildcard, variables
from whence.model.types import Row, Value

Counted: TypeAlias = tuple[Row, int]


class Table:
    """Rows and how often each is there. Never changed once made, so that indexes stay true."""

    def __init__(self, counts: Mapping[Row, int]) -> None:
        self.counts = counts
        self._indexes: dict[tuple[int, ...], dict[tuple[Value, ...], list[Counted]]] = {}

    def __len__(self) -> int:
        return len(self.counts)

    def matching(self, positions: tuple[int, ...], values: tuple[Value, ...]) -> Sequence[Counted]:
        """The rows that hold `values` at `positions`."""
        index = self._indexes.get(positions)
        if index is None:
            index = self._indexes[positions] = self._index(positions)
        return index.get(values, ())

    def _index(self, positions: tuple[int, ...]) -> dict[tuple[Value, ...], list[Counted]]:
        index: dict[tuple[Value, ...], list[Counted]] = {}
        for row, count in self.counts.items():
            index.setdefault(tuple(row[position] for position in positions), []).append((row, count))
        return index


EMPTY = Table({})


def join_order(steps: Sequence[Step], size: Callable[[str], int]) -> list[Step]:
    """Every filter as soon as it can be decided; of the joins, one that is connected to what is bound comes before one
    that is not, and then the one that should find the fewest rows. Ties keep the order of the text.
    """
    waiting = [(step, needs(step)) for step in steps]
    bound: set[str] = set()
    ordered: list[Step] = []
    while waiting:
        ready = [step for step, needed in waiting if needed <= bound]
        chosen: list[Step] = [step for step in ready if not isinstance(step, Match)]
        if not chosen:
            chosen = [
                min((step for step in ready if isinstance(step, Match)), key=lambda step: _rank(step, bound, size))
            ]
        ordered += chosen
        bound = bound.union(*map(binds, chosen))
        placed = set(map(id, chosen))
        waiting = [(step, needed) for step, needed in waiting if id(step) not in placed]
    return ordered


def is_known(term: Term, bound: set[str]) -> bool:
    return not isinstance(term, Wildcard) and all(v.name in bound for v in variables(term))


def _rank(step: Match, bound: set[str], size: Callable[[str], int]) -> tuple[bool, float]:
    known = sum(is_known(term, bound) for term in step.atom.terms)
    # A guess, and enough to tell a probe from a scan: each known column leaves one row in ten.
    return bool(bound) and not known, size(step.atom.relation) / 10.0**known


Extension: TypeAlias = Callable[[Environment, int], Iterable[Binding]]
Tally: TypeAlias = Callable[[Iterable[Binding]], Iterator[Binding]]


class Body:
    """The steps of a rule's body, ordered again for the tables of every evaluation."""

    def __init__(self, typed: TypedRule, scope: Scope) -> None:
        self.steps = typed.steps
        self.scope = scope
        self.of_head = {variable.name for term in typed.rule.head.terms for variable in variables(term)}

    def bindings(self, tables: Mapping[str, Table], tally: Tally | None = None) -> Iterator[Binding]:
        """Step by step, from the one binding of nothing. What matches a step passes through the tally."""
        steps = join_order(self.steps, lambda relation: len(tables[relation]))
        bound: set[str] = set()
        found: Iterable[Binding] = [({}, 1)]
        for step, awaited in zip(steps, self._awaited(steps), strict=True):
            extended = _extended(found, self._extension(step, bound, tables))
            if tally is not None:
                extended = tally(extended)
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
                return _test(self.scope.compute(condition_term(literal)))


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
class NaiveLookup:
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


def lookup(atom: Atom, bound: set[str], table: Table, scope: Scope) -> NaiveLookup:
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
    return NaiveLookup(table, tuple(known), tuple(known.values()), tuple(binds.values()), tuple(checks))
