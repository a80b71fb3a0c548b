"""The ways to make a rule give a row, and what each of them still lacks.

Every atom of the body is either met by a row that is there, or left open: then its row is one that would be needed.
Variables that no row gives a value take those that the database knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from types import EllipsisType
from typing import NamedTuple, TypeAlias

from whence.analysis.order import Absent, Define, Match, Step, Test, order_body
from whence.engines.reference.body import Lookup, lookup
from whence.engines.reference.joins import binds, needs
from whence.engines.reference.tables import Table
from whence.engines.reference.terms import Computed, Scope, as_term, conversion
from whence.errors import EvaluationError
from whence.explain.changes.world import World
from whence.explain.proofs.reasons import Fact
from whence.explain.proofs.words import Pattern
from whence.model.rules import Atom, Literal, Rule
from whence.model.schema import Column
from whence.model.terms import Aggregate, Term, Variable, Wildcard, variables
from whence.model.types import Row, Value

Environment: TypeAlias = "dict[str, Value]"

_EXTREMES = ("min", "max")


class Opening(NamedTuple):
    """The rows that a way to use a rule lacks."""

    tables: frozenset[Fact]
    views: frozenset[Fact]


@dataclass(frozen=True, slots=True)
class _State:
    """How far a way has come: what has a value, which steps wait, which atoms will be left open, which are."""

    values: Environment
    waiting: tuple[int, ...]
    postponed: tuple[int, ...]
    tables: frozenset[Fact]
    views: frozenset[Fact]


class OpenRule:
    """A rule whose body need not hold."""

    def __init__(self, rule: Rule, world: World) -> None:
        self.rule = rule
        self._world = world
        named = _with_names(rule)
        self.scope = Scope(named, world.relations, world.functions)
        self.columns = world.relations[rule.head.relation].columns
        self.head = named.head.terms
        self.steps: tuple[Step, ...] = order_body(named)
        self._needs = [frozenset(needs(step)) for step in self.steps]
        self._tests = [self._test(step) for step in self.steps]
        self._cells = [_Cells(step.atom, self) if isinstance(step, Match) else None for step in self.steps]
        self._lookups: dict[tuple[int, frozenset[str]], Lookup] = {}
        self._of_head = [self._head_test(at) for at in range(len(self.head))]

    def openings(self, row: Pattern, budget: int) -> Iterator[Opening]:
        """The ways that lack up to `budget` rows of tables, beside those that the world assumes."""
        values = self.begin(row)
        if values is not None:
            start = _State(values, tuple(range(len(self.steps))), (), frozenset(), frozenset())
            for end in self._walk(start, budget):
                if self.gives(row, end.values):
                    yield Opening(end.tables, end.views)

    def begin(self, row: Pattern) -> Environment | None:
        """The values that the head gives variables; None if it can never be this row."""
        values: Environment = {}
        for term, value, column in zip(self.head, row, self.columns, strict=True):
            if value is ...:
                continue
            match term:
                case Variable(name=name) if self.scope.types[name].type == column.type:
                    if values.setdefault(name, value) != value:
                        return None
                case _ if not any(variables(term)) and not isinstance(term, Aggregate):
                    if self.scope.compute(term, column.type)({}) != value:
                        return None
        return values

    def gives(self, row: Pattern, values: Environment) -> bool:
        """Whether the head is the row, now that all variables have values."""
        tests = zip(self._of_head, row, strict=True)
        with suppress(EvaluationError):
            return all(value is ... or compute is None or compute(values) == value for compute, value in tests)
        return False

    def holds(self, at: int, values: Environment) -> tuple[Environment, bool] | None:
        """Whether a step that is no atom holds, and the values after it; None if that cannot be told yet."""
        test = self._tests[at]
        if test is None or not self._needs[at] <= values.keys():
            return None
        after = dict(values)
        return after, test(after)

    def matches(self, at: int, values: Environment) -> Iterator[Environment]:
        """The values after every row that fits an atom."""
        if self._needs[at] <= values.keys():
            yield from (dict(found) for found, _ in self.lookup(at, values).extend(values, 1))

    def can_match(self, at: int, values: Environment) -> bool:
        return self._cells[at] is not None and self._needs[at] <= values.keys()

    def given(self, at: int, table: Table) -> Iterator[Environment]:
        """The values that an atom takes from a table of its own."""
        for found, _ in replace(self.lookup(at, {}), table=table).extend({}, 1):
            yield dict(found)

    def unbound(self, at: int, values: Environment) -> int:
        """How many variables of an atom have no value."""
        cells = self._cells[at]
        assert cells is not None
        return len(cells.names - values.keys())

    def pattern(self, at: int, values: Environment) -> Pattern:
        """The row of an atom as far as it is known."""
        cells = self._cells[at]
        assert cells is not None
        return cells.pattern(values)

    def _head_test(self, at: int) -> Computed | None:
        term = self.head[at]
        if not isinstance(term, Aggregate):
            return self.scope.compute(term, self.columns[at].type)
        if term.function in _EXTREMES and term.argument is not None:
            return self.scope.compute(term.argument, self.columns[at].type)
        # Of a count or sum, one member says nothing: whether it comes to the value is seen when all is there.
        return None

    def _walk(self, state: _State, budget: int) -> Iterator[_State]:
        self._world.step()
        settled = self._settle(state)
        if settled is None or len(settled.tables - self._world.assumed) > budget:
            return
        atoms = [at for at in settled.waiting if self._cells[at] is not None]
        if atoms:
            yield from self._take(settled, min(atoms, key=lambda at: self._rank(at, settled)), budget)
        elif settled.postponed or settled.waiting:
            yield from self._guess(settled, budget)
        else:
            yield settled

    def _settle(self, state: _State) -> _State | None:
        """Everything that can be decided; None if it is decided against this way."""
        values = dict(state.values)
        waiting = list(state.waiting)
        progress = True
        while progress:
            progress = False
            for at in tuple(waiting):
                test = self._tests[at]
                if test is not None and self._needs[at] <= values.keys():
                    if not test(values):
                        return None
                    waiting.remove(at)
                    progress = True
        return self._opened(replace(state, values=values, waiting=tuple(waiting)))

    def _opened(self, state: _State) -> _State | None:
        """Atoms that were postponed and now have all their values are open."""
        tables, views, postponed = set(state.tables), set(state.views), []
        for at in state.postponed:
            cells = self._cells[at]
            assert cells is not None
            if not cells.names <= state.values.keys():
                postponed.append(at)
                continue
            row = cells.row(state.values)
            # A row that is there is found as such, and need not be left open.
            if row is None or self._world.has(cells.relation, row):
                return None
            (tables if self._world.is_table(cells.relation) else views).add((cells.relation, row))
        return replace(state, postponed=tuple(postponed), tables=frozenset(tables), views=frozenset(views))

    def _rank(self, at: int, state: _State) -> tuple[int, bool]:
        cells = self._cells[at]
        assert cells is not None
        return len(cells.names - state.values.keys()), not self._world.is_table(cells.relation)

    def _take(self, state: _State, at: int, budget: int) -> Iterator[_State]:
        """Go on with every row that fits an atom, and then without one."""
        cells = self._cells[at]
        assert cells is not None
        rest = replace(state, waiting=tuple(each for each in state.waiting if each != at))
        is_free = self._alone(at, rest)
        found = False
        if self._needs[at] <= state.values.keys():
            for values, _ in self.lookup(at, state.values).extend(state.values, 1):
                found = True
                yield from self._walk(replace(rest, values=dict(values)), budget)
                if is_free:
                    # What else the row holds is of no interest.
                    return
        is_known = found and cells.names <= state.values.keys()
        if not is_known and (budget or not self._world.is_table(cells.relation)):
            yield from self._walk(replace(rest, postponed=(*rest.postponed, at)), budget)

    def _alone(self, at: int, state: _State) -> bool:
        """Whether nobody else looks at what an atom would still give values."""
        cells = self._cells[at]
        assert cells is not None
        given = cells.names - state.values.keys()
        others = [self._needs[each] | binds(self.steps[each]) for each in (*state.waiting, *state.postponed)]
        of_head = {variable.name for term in self.head for variable in variables(term)}
        return given.isdisjoint(of_head.union(*others))

    def _guess(self, state: _State, budget: int) -> Iterator[_State]:
        """Give a variable without a value every one that is known."""
        name = self._unknown(state)
        if name is None:
            return
        for value in self._world.known.of(self.scope.types[name].type):
            yield from self._walk(replace(state, values={**state.values, name: value}), budget)

    def _unknown(self, state: _State) -> str | None:
        for at in (*state.postponed, *state.waiting):
            cells = self._cells[at]
            wanted = self._needs[at] if cells is None else cells.names
            missing = sorted(name for name in wanted - state.values.keys() if name in self.scope.types)
            if missing:
                return missing[0]
        return None

    def lookup(self, at: int, values: Environment) -> Lookup:
        step = self.steps[at]
        assert isinstance(step, Match | Absent)
        bound = frozenset(name for name in _names(step.atom) if name in values)
        found = self._lookups.get((at, bound))
        if found is None:
            table = self._world.table(step.atom.relation)
            found = self._lookups[at, bound] = lookup(step.atom, set(bound), table, self.scope)
        return found

    def _test(self, step: Step) -> Callable[[Environment], bool] | None:
        match step:
            case Test(literal):
                condition = self.scope.compute(as_term(literal))
                return lambda values: _is_true(condition, values)
            case Define(variable, term):
                compute = self.scope.compute(term, self.scope.types[variable.name].type)
                return lambda values: _defines(variable.name, compute, values)
            case Absent():
                at = self.steps.index(step)
                return lambda values: not any(True for _ in self.lookup(at, values).extend(values, 1))
        return None


class _Cells:
    """The columns of an atom as a row of its relation."""

    def __init__(self, atom: Atom, rule: OpenRule) -> None:
        self.relation = atom.relation
        columns = rule.scope.relations[atom.relation].columns
        self._columns = columns
        self._values = [_cell(term, column, rule.scope) for term, column in zip(atom.terms, columns, strict=True)]
        self._names = [frozenset(variable.name for variable in variables(term)) for term in atom.terms]
        self.names = frozenset(_names(atom))

    def pattern(self, values: Environment) -> Pattern:
        return tuple(
            cell(values) if names <= values.keys() else ...
            for names, cell in zip(self._names, self._values, strict=True)
        )

    def row(self, values: Environment) -> Row | None:
        """None if some value does not fit its column."""
        found: list[Value] = []
        for column, cell in zip(self._columns, self._values, strict=True):
            try:
                value = cell(values)
            except EvaluationError:
                return None
            if value is ... or (value is None and not column.nullable):
                return None
            found.append(value)
        return tuple(found)


def _cell(term: Term, column: Column, scope: Scope) -> Callable[[Environment], Value | EllipsisType]:
    """The value of a term as the column holds it, or `...` where it cannot hold it."""
    plain, fitted = scope.compute(term), scope.compute(term, column.type)
    back = conversion(column.type, scope.type_of(term))
    if back is None:
        return fitted

    def cell(values: Environment) -> Value | EllipsisType:
        value = fitted(values)
        return value if back(value) == plain(values) else ...

    return cell


def _defines(name: str, compute: Computed, values: Environment) -> bool:
    try:
        value = compute(values)
    except EvaluationError:
        return False
    return values.setdefault(name, value) == value


def _is_true(condition: Computed, values: Environment) -> bool:
    with suppress(EvaluationError):
        return condition(values) is True
    return False


def _names(atom: Atom) -> set[str]:
    return {variable.name for term in atom.terms for variable in variables(term)}


def _with_names(rule: Rule) -> Rule:
    """The rule with a variable for every wildcard in a positive atom, since an open atom needs a value there."""
    body: list[Literal] = []
    for at, literal in enumerate(rule.body):
        if isinstance(literal, Atom):
            terms = tuple(
                Variable(f"_{at}.{position}") if isinstance(term, Wildcard) else term
                for position, term in enumerate(literal.terms)
            )
            body.append(replace(literal, terms=terms))
        else:
            body.append(literal)
    return replace(rule, body=tuple(body))
