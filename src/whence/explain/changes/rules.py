"""Rules that are tried on rows: bound by a row of the head, and then step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from whence.analysis.order import Absent, Define, Match, Step, Test, order_body
from whence.engines.reference.body import Lookup, lookup
from whence.engines.reference.joins import needs
from whence.engines.reference.tables import Table
from whence.engines.reference.terms import Computed, Scope, as_term
from whence.errors import EvaluationError
from whence.explain.changes.cells import Cells, Environment, names_in
from whence.explain.changes.world import World
from whence.explain.proofs.words import Pattern
from whence.model.rules import Atom, Comparison, Literal, Rule
from whence.model.terms import Aggregate, Term, Variable, Wildcard, variables
from whence.model.types import Row

_EXTREMES = ("min", "max")


class Equation(NamedTuple):
    """A variable that has the value of a term, once other variables have theirs."""

    name: str
    needs: frozenset[str]
    compute: Computed


class Rules:
    """The rules of a world that add rows, each made ready when it is first needed."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._rules: dict[str, list[ReadyRule]] = {}

    def of(self, relation: str) -> list[ReadyRule]:
        known = self._rules.get(relation)
        if known is None:
            rules = (rule for rule in self._world.rules[relation] if rule.sign > 0)
            known = self._rules[relation] = [ReadyRule(rule, self._world) for rule in rules]
        return known


class ReadyRule:
    """A rule and its steps. `cells` are the rows of those that are atoms, and None for others."""

    def __init__(self, rule: Rule, world: World) -> None:
        self.rule = rule
        self._world = world
        named = _with_names(rule)
        self.scope = Scope(named, world.relations, world.functions)
        self.columns = world.relations[rule.head.relation].columns
        self.head = named.head.terms
        self.of_head = frozenset(variable.name for term in self.head for variable in variables(term))
        self.steps: tuple[Step, ...] = order_body(named)
        self.needs = [frozenset(needs(step)) for step in self.steps]
        self.cells = [Cells(step.atom, self.scope) if isinstance(step, Match) else None for step in self.steps]
        self._solutions = [list(_equations(step, self.scope)) for step in self.steps]
        # How often the rule mentions each variable.
        self.uses = Counter(_mentioned(self.head, self.steps))
        self._tests = [self._test(at, step) for at, step in enumerate(self.steps)]
        self._lookups: dict[tuple[int, frozenset[str]], Lookup] = {}
        self._outputs = [self._output(at) for at in range(len(self.head))]

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
        outputs = zip(self._outputs, row, strict=True)
        with suppress(EvaluationError):
            return all(value is ... or compute is None or compute(values) == value for compute, value in outputs)
        return False

    def head_row(self, values: Environment) -> Row | None:
        """The row of the head, which has no aggregates; None if it cannot be computed."""
        with suppress(EvaluationError):
            return tuple([compute(values) for compute in self._outputs if compute is not None])
        return None

    def holds(self, at: int, values: Environment) -> tuple[Environment, bool] | None:
        """Whether a step that is no atom holds, and the values after it; None if that cannot be told yet."""
        test = self._tests[at]
        if test is None or not self.needs[at] <= values.keys():
            return None
        after = dict(values)
        return after, test(after)

    def solved(self, at: int, values: Environment) -> Environment | None:
        """With the value that an equation leaves for a variable, if it is one; None if it leaves none."""
        for name, needed, compute in self._solutions[at]:
            if name not in values and needed <= values.keys():
                try:
                    value = compute(values)
                except EvaluationError:
                    return None
                return None if value is None else {**values, name: value}
        return values

    def can_match(self, at: int, values: Environment) -> bool:
        """Whether the step is an atom, and what it computes can be computed."""
        return self.cells[at] is not None and self.needs[at] <= values.keys()

    def matches(self, at: int, values: Environment, table: Table | None = None) -> Iterator[Environment]:
        """The values after every row that fits an atom, of the world or of a table of its own."""
        if self.can_match(at, values):
            found = self._lookup(at, values)
            if table is not None:
                found = replace(found, table=table)
            yield from (dict(after) for after, _ in found.extend(values, 1))

    def unbound(self, at: int, values: Environment) -> int:
        """How many variables of an atom have no value."""
        return len(self.atom(at).names - values.keys())

    def atom(self, at: int) -> Cells:
        cells = self.cells[at]
        assert cells is not None, "the step is no atom"
        return cells

    def _output(self, at: int) -> Computed | None:
        term = self.head[at]
        if not isinstance(term, Aggregate):
            return self.scope.compute(term, self.columns[at].type)
        if term.function in _EXTREMES and term.argument is not None:
            return self.scope.compute(term.argument, self.columns[at].type)
        # Of a count or sum, one member says nothing: whether it comes to the value is seen when all is there.
        return None

    def _lookup(self, at: int, values: Environment) -> Lookup:
        step = self.steps[at]
        assert isinstance(step, Match | Absent)
        bound = frozenset(name for name in names_in(step.atom) if name in values)
        found = self._lookups.get((at, bound))
        if found is None:
            table = self._world.table(step.atom.relation)
            found = self._lookups[at, bound] = lookup(step.atom, set(bound), table, self.scope)
        return found

    def _test(self, at: int, step: Step) -> Callable[[Environment], bool] | None:
        match step:
            case Test(literal):
                condition = self.scope.compute(as_term(literal))
                return lambda values: _is_true(condition, values)
            case Define(variable, term):
                compute = self.scope.compute(term, self.scope.types[variable.name].type)
                return lambda values: _defines(variable.name, compute, values)
            case Absent():
                return lambda values: not any(True for _ in self._lookup(at, values).extend(values, 1))
        return None


def _equations(step: Step, scope: Scope) -> Iterator[Equation]:
    match step:
        case Test(Comparison(op="=", left=left, right=right)):
            for one, other in ((left, right), (right, left)):
                if isinstance(one, Variable):
                    needed = frozenset(variable.name for variable in variables(other))
                    yield Equation(one.name, needed, scope.compute(other, scope.types[one.name].type))


def _mentioned(head: Sequence[Term], steps: Sequence[Step]) -> Iterator[str]:
    terms = [*head]
    for step in steps:
        match step:
            case Match(atom) | Absent(atom):
                terms += atom.terms
            case Define(variable, term):
                terms += (variable, term)
            case Test(literal):
                terms.append(as_term(literal))
    return (variable.name for term in terms for variable in variables(term))


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
