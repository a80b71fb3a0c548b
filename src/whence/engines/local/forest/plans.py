"""The plans of a rule: from each of its body atoms, and backwards from the head, to all that is joined with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from whence.engines.local.forest import layout
from whence.engines.local.forest.cost_terms import plan_value
from whence.engines.local.forest.flat_rules import FlatRule, FlatTest, Sum
from whence.engines.local.forest.layout import BIND, CONSTANT, IGNORE, REGISTER
from whence.engines.local.forest.values import Interner, NotCompiledError, ValueColumn, ValuePlan
from whence.model.rules import Atom
from whence.model.schema import Relation
from whence.model.terms import Aggregate, Constant, Term, Variable, Wildcard
from whence.planning.join_order import Definition, JoinAtom, join_order
from whence.planning.statistics import Statistics


class PlanRow(NamedTuple):
    """A plan: its trigger, and the first of its steps and tests, with how many there are."""

    rule: int
    atom: int
    steps: tuple[int, int]
    tests: tuple[int, int]
    # Whether an atom other than the trigger is of the component itself.
    recurs: bool
    terms: list[tuple[int, int]]


class StepRow(NamedTuple):
    """A step of a plan, which probes an index."""

    atom: int
    probed: int
    tests: tuple[int, int]
    # The relation of a function, where the step looks its value up.
    function: int
    terms: list[tuple[int, int]]
    keys: list[tuple[int, int]]


@dataclass
class PlanTables:
    """Rows of the tables of Rules, as they are found."""

    plans: list[PlanRow] = field(default_factory=list)
    steps: list[StepRow] = field(default_factory=list)
    tests: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    indexes: dict[tuple[int, tuple[int, ...]], int] = field(default_factory=dict)

    def is_loop(self, first: int, count: int) -> bool:
        """Whether the last of these steps is a look-up in a relation, after which there is nothing to test."""
        last = self.steps[first + count - 1] if count else None
        return last is not None and last.tests[1] == 0 and last.function == layout.NOTHING


@dataclass
class PlanContext:
    """What the plans of all rules have in common."""

    own: frozenset[str]
    relations: Mapping[str, Relation]
    interner: Interner
    values: dict[str, ValueColumn]
    keep_spares: bool
    ids: Mapping[str, int]
    # The positions of the columns that make a tuple what it is, per relation.
    positions: Mapping[str, tuple[int, ...]]
    statistics: Statistics
    tables: PlanTables = field(default_factory=PlanTables)


class CompiledRule:
    """A rule without computed terms, with a register for each variable."""

    def __init__(self, around: PlanContext, flat: FlatRule) -> None:
        self._around = around
        self._flat = flat
        self.relation = flat.rule.head.relation
        if flat.rule.sign < 0:
            raise NotCompiledError("a rule is differential")
        # What a derivation rests on comes first. Functions do not change.
        self.length = len(flat.atoms)
        self.rests_on = self.length + len(flat.costs) + len(flat.absences)
        self.atoms = [*flat.atoms, *flat.costs, *flat.absences, *flat.calls]
        self.absences = range(self.rests_on - len(flat.absences), self.rests_on)
        self._functions = [at for at in range(self.length, len(self.atoms)) if at not in self.absences]
        recursive = sum(atom.relation in around.own for atom in flat.atoms)
        # The derivations of a rule with two recursive atoms outnumber its tuples by far: those are looked up again.
        self.stored = recursive <= 1 and around.keep_spares
        self.value: ValuePlan | None = None
        self.hidden: set[str] = set()
        if any(isinstance(term, Aggregate) for term in flat.head):
            self.value, self.hidden = plan_value(flat, around.own, around.relations, around.values)
        self.registers: dict[str, int] = {}
        self._types: dict[str, str] = {}
        for atom in self.atoms:
            self._check_types(atom)
        self._check_hidden()

    def _check_types(self, atom: Atom) -> None:
        for term, column in zip(atom.terms, self._around.relations[atom.relation].columns, strict=True):
            match term:
                case Variable(name=name):
                    if self._types.setdefault(name, column.type.family) != column.type.family:
                        raise NotCompiledError(f"{name!r} joins columns of different types")
                    self.registers.setdefault(name, len(self.registers))
                case Constant(type=type_, value=value) if value is not None and type_.family != column.type.family:
                    raise NotCompiledError("a constant is of another type than its column")
                case _:
                    assert isinstance(term, Constant | Wildcard)

    def _check_hidden(self) -> None:
        """The cost of a tuple of the component is no column that could be read."""
        read = {
            term.name
            for call in (*self._flat.costs, *self._flat.calls, *self._flat.absences)
            for term in call.terms
            if isinstance(term, Variable)
        }
        read.update(term.name for term in self._flat.head if isinstance(term, Variable))
        if self.hidden & read.union(*(test.names for test in self._flat.tests)):
            raise NotCompiledError("a rule reads the value that min or max is taken of")

    @property
    def sign(self) -> int:
        """1 where a smaller value of the head is better, -1 where a larger one is, 0 where it has none."""
        value = self._around.values.get(self.relation)
        return 0 if value is None else value.sign

    def reads(self, name: str) -> int:
        """How often a variable is read for more than a cost, or stands in an atom."""
        terms = [*(term for atom in self.atoms for term in atom.terms), *self._flat.head]
        tests = sum(name in test.names for test in self._flat.tests)
        return tests + sum(isinstance(term, Variable) and term.name == name for term in terms)

    def head(self) -> list[tuple[int, int]]:
        columns = self._around.relations[self.relation].columns
        found = []
        for position in self._around.positions[self.relation]:
            term = self._flat.head[position]
            if isinstance(term, Constant):
                found.append((CONSTANT, self._around.interner.id(term.value, columns[position].type)))
            else:
                assert isinstance(term, Variable)
                if term.name not in self.registers:
                    # It is computed from a cost, which has no register.
                    raise NotCompiledError("a rule reads the value that min or max is taken of")
                found.append((REGISTER, self.registers[term.name]))
        return found

    def plan(self, number: int, trigger: int | None) -> None:
        """One plan: from a body atom, or backwards from the head."""
        tables = self._around.tables
        bound: set[str] = set()
        terms = self._head_pattern(bound) if trigger is None else self._pattern(self.atoms[trigger], bound, frozenset())
        waiting: list[FlatTest | int] = [*self._flat.tests, *(at for at in self.absences if at != trigger)]
        tests = self._ready(waiting, bound)
        start = len(tables.steps)
        # Functions come as soon as they can, so that values are there to look rows up by.
        functions = list(self._functions)
        for at in (None, *self._order(trigger, bound)):
            if at is not None:
                self._step(at, bound, waiting)
            while found := next((each for each in functions if self._is_known(each, bound)), None):
                functions.remove(found)
                self._step(found, bound, waiting)
        atom = layout.NOTHING if trigger is None else trigger
        recurs = any(each.relation in self._around.own for at, each in enumerate(self.atoms) if at != trigger)
        tables.plans.append(PlanRow(number, atom, (start, len(tables.steps) - start), tests, recurs, terms))

    def _order(self, trigger: int | None, bound: set[str]) -> list[int]:
        """The other atoms of relations, as they should be joined."""
        rest = [at for at in range(self.length) if at != trigger]
        definitions = [
            Definition(term.name, _names(function.terms[:-1]))
            for at in self._functions
            if isinstance(term := (function := self.atoms[at]).terms[-1], Variable)
        ]
        joins = [self._join_atom(self.atoms[at]) for at in rest]
        return [rest[at] for at in join_order(joins, self._around.statistics, bound, definitions)]

    def _join_atom(self, atom: Atom) -> JoinAtom:
        identity = self._around.positions[atom.relation]
        columns = tuple(
            (_names([term]),)
            if position in identity and not isinstance(term, Wildcard) and not self.hidden & _names([term])
            else ()
            for position, term in enumerate(atom.terms)
        )
        return JoinAtom(self._around.relations[atom.relation], columns, _names(atom.terms))

    def _is_known(self, function: int, bound: set[str]) -> bool:
        """Whether a function can be computed now: only from its arguments to its value."""
        return _names(self.atoms[function].terms[:-1]) <= bound

    def _step(self, at: int, bound: set[str], waiting: list[FlatTest | int]) -> None:
        around, tables, atom = self._around, self._around.tables, self.atoms[at]
        is_function = at >= self.length
        keys: list[tuple[int, int]] = []
        positions: list[int] = []
        for column, position in enumerate(around.positions[atom.relation]):
            if is_function and position == len(atom.terms) - 1:
                # There is one row for the arguments, which is missed if it is looked up by another value.
                break
            match atom.terms[position]:
                case Variable(name=name) if name in bound and name not in self.hidden:
                    keys.append((REGISTER, self.registers[name]))
                    positions.append(column)
                case Constant(value=value):
                    type_ = around.relations[atom.relation].columns[position].type
                    keys.append((CONSTANT, around.interner.id(value, type_)))
                    positions.append(column)
        index = (around.ids[atom.relation], tuple(positions))
        number = tables.indexes.setdefault(index, len(tables.indexes))
        terms = self._pattern(atom, bound, frozenset(positions))
        function = around.ids[atom.relation] if is_function else layout.NOTHING
        tables.steps.append(StepRow(at, number, self._ready(waiting, bound), function, terms, keys))

    def _pattern(self, atom: Atom, bound: set[str], keyed: frozenset[int]) -> list[tuple[int, int]]:
        """What each column must be, or binds; columns in the key are right already."""
        pattern = []
        for column, position in enumerate(self._around.positions[atom.relation]):
            term = atom.terms[position]
            match term:
                case Variable(name=name) if column not in keyed and name not in self.hidden:
                    pattern.append((REGISTER if name in bound else BIND, self.registers[name]))
                    bound.add(name)
                case Constant(value=value) if column not in keyed:
                    type_ = self._around.relations[atom.relation].columns[position].type
                    pattern.append((CONSTANT, self._around.interner.id(value, type_)))
                case _:
                    pattern.append((IGNORE, 0))
        return pattern

    def _head_pattern(self, bound: set[str]) -> list[tuple[int, int]]:
        pattern = []
        for kind, argument in self.head():
            if kind == REGISTER:
                name = next(n for n, r in self.registers.items() if r == argument)
                pattern.append((REGISTER if name in bound else BIND, argument))
                bound.add(name)
            else:
                pattern.append((kind, argument))
        return pattern

    def absence_tests(self) -> tuple[int, int]:
        """Write down the tests of all absences, in their order; returns where, and how many absences there are."""
        start = len(self._around.tables.tests)
        for at in self.absences:
            self._test_absence(at)
        return start, len(self.absences)

    def _test_absence(self, at: int) -> None:
        atom, columns = self.atoms[at], self._around.relations[self.atoms[at].relation].columns
        tests = self._around.tables.tests
        tests.append((layout.ABSENT, CONSTANT, self._around.ids[atom.relation], CONSTANT, len(atom.terms)))
        for term, column in zip(atom.terms, columns, strict=True):
            known = (
                (CONSTANT, self._around.interner.id(term.value, column.type))
                if isinstance(term, Constant)
                else self._operand(term)
            )
            tests.append((0, *known, 0, 0))

    def _ready(self, waiting: list[FlatTest | int], bound: set[str]) -> tuple[int, int]:
        """Write down the tests whose variables are all bound now; an absence is there by its place."""
        tests = self._around.tables.tests
        start = len(tests)
        # A row is looked up for an absence, so that comparisons come first.
        for test in [test for test in waiting if self._names_in(test) <= bound]:
            waiting.remove(test)
            if isinstance(test, int):
                self._test_absence(test)
                continue
            left = self._operand(test.left)
            if isinstance(test.right, Sum):
                tests.append((test.operator, *left, layout.SUM, len(test.right.parts)))
                tests.extend((step, *self._operand(part), 0, 0) for step, part in test.right.parts)
            else:
                tests.append((test.operator, *left, *self._operand(test.right)))
        return start, len(tests) - start

    def _names_in(self, test: FlatTest | int) -> set[str]:
        return set(_names(self.atoms[test].terms)) if isinstance(test, int) else test.names

    def _operand(self, term: Term) -> tuple[int, int]:
        if isinstance(term, Variable):
            return REGISTER, self.registers[term.name]
        assert isinstance(term, Constant)
        return CONSTANT, self._around.interner.id(term.value, term.type)


def _names(terms: Iterable[Term]) -> frozenset[str]:
    return frozenset(term.name for term in terms if isinstance(term, Variable))


def fixed_cost(relation: Relation, value: ValueColumn, rules: Sequence[CompiledRule]) -> ValueColumn:
    """The same column with a sign, if it is fixed by the others and all rules agree on what is better."""
    key = [relation.column_names.index(name) for name in relation.key]
    if not key or value.position in key:
        return value
    signs = {sign for rule in rules for sign in _signs(rule, relation.name, value.position, value.nullable)}
    return replace(value, sign=signs.pop()) if len(signs) == 1 else value


def _signs(rule: CompiledRule, relation: str, position: int, nullable: bool) -> Iterator[int]:
    """What is better for the rule, wherever it reads the column; 0 where that is more than a cost, or not certain."""
    # With NULL, least and greatest may get better by what is the worst of costs.
    trends = {} if rule.value is None or (nullable and rule.value.passes_over_null) else rule.value.trends()
    for at, atom in enumerate(rule.atoms):
        if atom.relation == relation and not isinstance(term := atom.terms[position], Wildcard):
            is_cost = isinstance(term, Variable) and rule.reads(term.name) == 1
            yield rule.sign * trends.get(at, 0) if is_cost else 0
