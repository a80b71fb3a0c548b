"""Rules that are tried on rows: bound by a row of the head, and then step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from whence.analysis.order import Absent, Define, Match, Step, Test, needs
from whence.analysis.typed_rules import Computed, Scope, typed_rule
from whence.analysis.typing import condition_term
from whence.errors import EvaluationError
from whence.explain.hypothetical.atoms import AtomCells, Environment, Lookup, lookup, only
from whence.explain.hypothetical.world import Hypothesis
from whence.explain.proofs.backwards import EXTREMES
from whence.explain.proofs.text import Pattern
from whence.model.rules import Comparison, Rule
from whence.model.terms import Aggregate, Term, Variable, variable_names, variables
from whence.model.types import Row
from whence.rewriting.substitution import with_names


class Equation(NamedTuple):
    """A variable that has the value of a term, once other variables have theirs."""

    name: str
    needs: frozenset[str]
    compute: Computed


class ReadyRules:
    """The rules of a world that add rows, each made ready when it is first needed."""

    def __init__(self, world: Hypothesis) -> None:
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

    def __init__(self, rule: Rule, world: Hypothesis) -> None:
        self.rule = rule
        self._world = world
        signatures = {name: function.signature for name, function in world.functions.items()}
        # An atom that is left open needs a value for every column.
        typed = typed_rule(with_names(rule), world.relations, signatures)
        self.scope = Scope(typed, world.functions)
        self.columns = world.relations[rule.head.relation].columns
        self.head = typed.rule.head.terms
        self.of_head = frozenset(variable_names(self.head))
        self.steps = typed.steps
        self.needs = [frozenset(needs(step)) for step in self.steps]
        self.cells = [AtomCells(step.atom, self.scope) if isinstance(step, Match) else None for step in self.steps]
        self._solutions = [list(_equations(step, self.scope)) for step in self.steps]
        # How often the rule mentions each variable.
        terms = (*self.head, *(term for step in self.steps for term in _terms(step)))
        self.uses = Counter(variable.name for term in terms for variable in variables(term))
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

    def matches(self, at: int, values: Environment, row: Row | None = None) -> Iterator[Environment]:
        """The values after every row of the world that fits an atom, or after this one if it does."""
        if not self.can_match(at, values):
            return iter(())
        find = partial(self._world.matching, self.atom(at).relation) if row is None else only(row)
        return self._lookup(at, values).extend(values, find)

    def unbound(self, at: int, values: Environment) -> int:
        """How many variables of an atom have no value."""
        return len(self.atom(at).names - values.keys())

    def atom(self, at: int) -> AtomCells:
        cells = self.cells[at]
        assert cells is not None, "the step is no atom"
        return cells

    def _output(self, at: int) -> Computed | None:
        term = self.head[at]
        if not isinstance(term, Aggregate):
            return self.scope.compute(term, self.columns[at].type)
        if term.function in EXTREMES and term.argument is not None:
            return self.scope.compute(term.argument, self.columns[at].type)
        # Of a count or sum, one member says nothing: whether it comes to the value is seen when all is there.
        return None

    def _lookup(self, at: int, values: Environment) -> Lookup:
        step = self.steps[at]
        assert isinstance(step, Match | Absent)
        bound = frozenset(variable_names(step.atom.terms) & values.keys())
        found = self._lookups.get((at, bound))
        if found is None:
            found = self._lookups[at, bound] = lookup(step.atom, bound, self.scope)
        return found

    def _test(self, at: int, step: Step) -> Callable[[Environment], bool] | None:
        match step:
            case Test(literal):
                condition = self.scope.compute(condition_term(literal))
                return lambda values: _is_true(condition, values)
            case Define(variable, term):
                compute = self.scope.compute(term, self.scope.types[variable.name].type)
                return lambda values: _defines(variable.name, compute, values)
            case Absent(atom):
                find = partial(self._world.matching, atom.relation)
                return lambda values: not any(True for _ in self._lookup(at, values).extend(values, find))
        return None


def _equations(step: Step, scope: Scope) -> Iterator[Equation]:
    match step:
        case Test(Comparison(op="=", left=left, right=right)):
            for one, other in ((left, right), (right, left)):
                if isinstance(one, Variable):
                    needed = frozenset(variable_names([other]))
                    yield Equation(one.name, needed, scope.compute(other, scope.types[one.name].type))


def _terms(step: Step) -> tuple[Term, ...]:
    match step:
        case Match(atom) | Absent(atom):
            return atom.terms
        case Define(variable, term):
            return variable, term
        case Test(literal):
            return (condition_term(literal),)


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
