"""Rules for the kernels: computed terms taken out of atoms, heads and conditions, and made functions or sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from whence.analysis.order import Define
from whence.analysis.typed_rules import Scope, TypedRule
from whence.analysis.typing import condition_term
from whence.engines.local.forest import layout
from whence.engines.local.forest.cost_terms import CostGuard, CostTerms
from whence.engines.local.forest.values import NotCompiledError, ValueColumn
from whence.functions.types import Typed
from whence.model import types
from whence.model.program import Functions
from whence.model.rules import Atom, Comparison, Condition, Negation, Rule
from whence.model.schema import Column, Relation
from whence.model.terms import Aggregate, Call, Constant, Term, Variable, Wildcard, variables
from whence.model.types import Row, Type, Value

_OPERATORS = {
    "=": layout.EQUAL,
    "!=": layout.UNEQUAL,
    "<": layout.LESS,
    "<=": layout.LESS_EQUAL,
    ">": layout.GREATER,
    ">=": layout.GREATER_EQUAL,
}
_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_STEPS = {"+": layout.ADD, "-": layout.SUBTRACT, "*": layout.MULTIPLY}
_TRUE = Constant(True, types.BOOLEAN)
# What a rule without an atom rests on: one row without columns, which is always there.
ALWAYS = Relation("$always", (), distinct=True)


@dataclass(frozen=True)
class ComputedTerm:
    """A computed term of a rule: its relation has one column for each of its variables, and one for its value."""

    relation: Relation
    rule: Rule
    # The value from a tuple of those of the variables.
    compute: Callable[[Row], Value]


@dataclass(frozen=True)
class Absence:
    """What a negated atom asks a relation for: a key, in some of its columns, that no row has."""

    # With those columns only.
    relation: Relation
    negated: str
    positions: tuple[int, ...]


@dataclass(frozen=True)
class Sum:
    """Operands one after the other, each added to, taken from or multiplied with what is there so far."""

    parts: tuple[tuple[int, Variable | Constant], ...]


@dataclass(frozen=True)
class FlatTest:
    """A comparison of two terms, or of a term with a sum."""

    operator: int
    left: Variable | Constant
    right: Variable | Constant | Sum

    @property
    def names(self) -> set[str]:
        right = [part for _, part in self.right.parts] if isinstance(self.right, Sum) else [self.right]
        return {term.name for term in (self.left, *right) if isinstance(term, Variable)}


@dataclass
class FlatRule:
    """Atoms in the order of the body, then those of functions. All their terms are variables, constants, wildcards.

    Those of absences have the terms of a key, and no wildcards.
    """

    rule: Rule
    atoms: list[Atom] = field(default_factory=list)
    calls: list[Atom] = field(default_factory=list)
    tests: list[FlatTest] = field(default_factory=list)
    head: list[Term] = field(default_factory=list)
    # Functions whose values are costs, and what is required of costs.
    costs: list[Atom] = field(default_factory=list)
    guards: list[CostGuard] = field(default_factory=list)
    absences: list[Atom] = field(default_factory=list)


class Flattening:
    """The rule as `flat`, and its functions and absences added to those that are found.

    `values` are the costs of the component; in `claimed` are the columns of costs of the relations below.
    """

    def __init__(
        self,
        typed: TypedRule,
        functions: Functions,
        found: list[ComputedTerm],
        absences: list[Absence],
        values: Mapping[str, ValueColumn],
        claimed: dict[str, int],
    ) -> None:
        rule, relations = typed.rule, typed.relations
        self.flat = FlatRule(rule)
        self._relations = relations
        self._scope = Scope(typed, functions)
        self._found = found
        self._moving: set[str] = set()
        atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
        self._in_atoms = [{v.name for term in atom.terms for v in variables(term)} for atom in atoms]
        for at, atom in enumerate(atoms):
            self.flat.atoms.append(self._atom(at, atom))
        if not atoms:
            self.flat.atoms.append(Atom(ALWAYS.name, (), span=rule.span))
        defined = {step.variable.name: step.term for step in typed.steps if isinstance(step, Define)}
        self._moving = {
            term.name
            for atom in atoms
            if atom.relation in values and isinstance(term := atom.terms[values[atom.relation].position], Variable)
        }
        for name, term in defined.items():
            if self._moves(term):
                self._moving.add(name)
            else:
                self._call(term, Variable(name), self._scope.types[name].type)
        value, columns = values.get(rule.head.relation), relations[rule.head.relation].columns
        self._costs = (
            None
            if value is None
            else CostTerms(
                atoms,
                values,
                frozenset(self._moving),
                {name: term for name, term in defined.items() if name in self._moving},
                claimed,
                value.type,
                self._scope.type_of,
                self._cost_call,
            )
        )
        for at, literal in enumerate(rule.body):
            if isinstance(literal, Negation):
                self.flat.absences.append(self._absence(at, literal.atom, absences))
            elif isinstance(literal, Comparison | Condition) and not _defines(literal, defined):
                if self._costs is not None and self._moves(condition_term(literal)):
                    self.flat.guards.append(self._costs.guard(literal))
                else:
                    self._condition(literal)
        self.flat.head = [self._head(term, column) for term, column in zip(rule.head.terms, columns, strict=True)]

    def _moves(self, term: Term) -> bool:
        """Whether there is a cost of the component in it."""
        return any(variable.name in self._moving for variable in variables(term))

    def _atom(self, at: int, atom: Atom) -> Atom:
        terms: list[Term] = []
        for position, (term, column) in enumerate(zip(atom.terms, self._relations[atom.relation].columns, strict=True)):
            if isinstance(term, Variable | Constant | Wildcard):
                terms.append(term)
                continue
            total = self._sum(term) if self._is_found_without(at, position, atom) else None
            if total is None or self._kind(term) != column.type.family:
                terms.append(self._computed(f"${at}.{position}", term, column))
            else:
                terms.append(Variable(f"${at}.{position}"))
                self._compare(layout.EQUAL, terms[-1], total)
        return Atom(atom.relation, tuple(terms), span=atom.span)

    def _computed(self, name: str, term: Term, column: Column) -> Variable:
        """A variable for the value of a term that a row is looked for with."""
        if self._kind(term) != column.type.family:
            raise NotCompiledError("a computed term is of another type than its column")
        value = Variable(name)
        self._call(term, value, column.type)
        return value

    def _absence(self, at: int, atom: Atom, absences: list[Absence]) -> Atom:
        columns = self._relations[atom.relation].columns
        asked = tuple(at for at, term in enumerate(atom.terms) if not isinstance(term, Wildcard))
        terms = [
            term
            if isinstance(term := atom.terms[place], Variable | Constant)
            else self._computed(f"$!{at}.{place}", term, columns[place])
            for place in asked
        ]
        if any(map(self._moves, terms)):
            raise NotCompiledError("a rule reads the value that min or max is taken of")
        # Rules share them, but atoms of one rule do not: a match is found once for each absence that comes.
        taken = {other.relation for other in self.flat.absences}
        for found in absences:
            is_free = found.relation.name not in taken
            if is_free and (found.negated, found.positions) == (atom.relation, asked):
                break
        else:
            relation = Relation(f"!{len(absences)}", tuple(columns[place] for place in asked), distinct=True)
            found = Absence(relation, atom.relation, asked)
            absences.append(found)
        return Atom(found.relation.name, tuple(terms), span=atom.span)

    def _is_found_without(self, at: int, position: int, atom: Atom) -> bool:
        """Whether joins find the atom's rows by other columns, so that it is enough to look at this one then."""
        elsewhere = {name for other, names in enumerate(self._in_atoms) if other != at for name in names}
        others = [term for place, term in enumerate(atom.terms) if place != position]
        return any(
            isinstance(term, Constant) or (isinstance(term, Variable) and term.name in elsewhere) for term in others
        )

    def _condition(self, literal: Comparison | Condition) -> None:
        match literal:
            case Comparison(op=op, left=left, right=right) if op in _OPERATORS:
                for operator, one, other in ((op, left, right), (_MIRRORED[op], right, left)):
                    if self._is_plain(one, operator):
                        if self._is_plain(other, operator) and self._kind(one) == self._kind(other):
                            return self._compare(_OPERATORS[operator], one, other)
                        total = self._sum(other) if self._kind(one) == types.INT.family else None
                        if total is not None:
                            return self._compare(_OPERATORS[operator], one, total)
            case Condition(term=Call(function="isnotnull", arguments=(Variable() as variable,))):
                return self._compare(layout.NOT_NULL, variable, variable)
        return self._call(condition_term(literal), _TRUE, types.BOOLEAN)

    def _is_plain(self, term: Term, operator: str) -> bool:
        if not isinstance(term, Variable | Constant) or (isinstance(term, Constant) and term.value is None):
            return False
        return operator in ("=", "!=") or self._scope.type_of(term).has_ordinal

    def _kind(self, term: Term) -> str:
        return self._scope.type_of(term).family

    def _compare(self, operator: int, left: Term, right: Term | Sum) -> None:
        assert isinstance(left, Variable | Constant) and isinstance(right, Variable | Constant | Sum)
        if isinstance(right, Sum):
            # As soon as its parts are known, whether or not there is something to compare it with.
            self.flat.tests.append(FlatTest(layout.IN_RANGE, right.parts[0][1], right))
        self.flat.tests.append(FlatTest(operator, left, right))

    def _sum(self, term: Term) -> Sum | None:
        """Sums and products of INT, as long as each step has a column or a constant on its right."""
        parts: list[tuple[int, Variable | Constant]] = []
        while isinstance(term, Call) and term.function in _STEPS and len(term.arguments) == 2:
            step = _STEPS[term.function]
            term, last = term.arguments
            if not self._is_int(last):
                return None
            assert isinstance(last, Variable | Constant)
            parts.append((step, last))
        if not parts or not self._is_int(term):
            return None
        assert isinstance(term, Variable | Constant)
        return Sum(((layout.ADD, term), *reversed(parts)))

    def _is_int(self, term: Term) -> bool:
        match term:
            case Variable(name=name):
                return self._scope.types[name] == Typed(types.INT, nullable=False)
            case Constant(value=value, type=types.INT):
                return value is not None
        return False

    def _head(self, term: Term, column: Column) -> Term:
        if isinstance(term, Aggregate):
            assert self._costs is not None and term.argument is not None
            return replace(term, argument=self._costs.cost(term.argument))
        if isinstance(term, Constant) and term.value is None:
            return term
        if isinstance(term, Variable | Constant) and self._kind(term) == column.type.family:
            return term
        value = Variable(f"${column.name}")
        self._call(term, value, column.type)
        return value

    def _cost_call(self, term: Term, type_: Type) -> Variable:
        """A variable for the value of a term that is a cost."""
        value = Variable(f"$cost{len(self._found)}")
        self._call(term, value, type_)
        self.flat.costs.append(self.flat.calls.pop())
        return value

    def _call(self, term: Term, value: Variable | Constant, type_: Type) -> None:
        """The value is that of the term."""
        if self._moves(term):
            raise NotCompiledError("a rule reads the value that min or max is taken of")
        names = list(dict.fromkeys(variable.name for variable in variables(term)))
        if not names:
            raise NotCompiledError("a rule computes a value from constants alone")
        columns = [*(Column(name, self._scope.types[name].type) for name in names), Column("$value", type_)]
        relation = Relation(f"${len(self._found)}", tuple(columns), distinct=True)
        self._found.append(ComputedTerm(relation, self.flat.rule, self._scope.compute_row(term, type_, names)))
        self.flat.calls.append(Atom(relation.name, (*map(Variable, names), value), span=term.span))


def _defines(literal: Comparison | Condition, defined: Mapping[str, Term]) -> bool:
    """Whether the literal is what gives one of the variables its value."""
    if not isinstance(literal, Comparison) or literal.op != "=":
        return False
    sides = ((literal.left, literal.right), (literal.right, literal.left))
    return any(isinstance(one, Variable) and defined.get(one.name) is other for one, other in sides)
