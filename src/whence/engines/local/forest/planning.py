"""The plans of a rule: from each of its body atoms, and backwards from the head, to all that is joined with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from whence.engines.local.forest import layout
from whence.engines.local.forest.flattening import FlatRule, Sum, Test
from whence.engines.local.forest.interning import Interner, family
from whence.engines.local.forest.layout import BIND, CONSTANT, IGNORE, REGISTER
from whence.engines.local.forest.values import NotCompiledError, ValueColumn, ValuePlan, plan_value
from whence.model.rules import Atom
from whence.model.schema import Relation
from whence.model.terms import Aggregate, Constant, Term, Variable, Wildcard


@dataclass
class Tables:
    """Rows of the tables of Rules, as they are found."""

    plan_rule: list[int] = field(default_factory=list)
    plan_atom: list[int] = field(default_factory=list)
    plan_terms: list[list[tuple[int, int]]] = field(default_factory=list)
    plan_steps: list[tuple[int, int]] = field(default_factory=list)
    plan_tests: list[tuple[int, int]] = field(default_factory=list)
    step_atom: list[int] = field(default_factory=list)
    step_index: list[int] = field(default_factory=list)
    step_keys: list[list[tuple[int, int]]] = field(default_factory=list)
    step_terms: list[list[tuple[int, int]]] = field(default_factory=list)
    step_tests: list[tuple[int, int]] = field(default_factory=list)
    # The relation of a function, where the step looks its value up.
    step_function: list[int] = field(default_factory=list)
    tests: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    indexes: dict[tuple[int, tuple[int, ...]], int] = field(default_factory=dict)

    def is_single(self, first: int, count: int) -> bool:
        """Whether these steps are one look-up in a relation, after which there is nothing to test."""
        return count == 1 and self.step_tests[first][1] == 0 and self.step_function[first] == layout.NOTHING


@dataclass
class Surroundings:
    """What the plans of all rules have in common."""

    own: frozenset[str]
    relations: Mapping[str, Relation]
    interner: Interner
    values: dict[str, ValueColumn]
    keep_spares: bool
    ids: Mapping[str, int]
    # The positions of the columns that make a tuple what it is, per relation.
    positions: Mapping[str, tuple[int, ...]]
    tables: Tables = field(default_factory=Tables)


class PlannedRule:
    """A rule without computed terms, with a register for each variable."""

    def __init__(self, around: Surroundings, flat: FlatRule) -> None:
        self._around = around
        self._flat = flat
        self.relation = flat.rule.head.relation
        if flat.rule.sign < 0:
            raise NotCompiledError("a rule is differential")
        if not flat.atoms:
            raise NotCompiledError("a rule has no atom in its body")
        # What a derivation rests on comes first. Functions do not change.
        self.length = len(flat.atoms)
        self.atoms = [*flat.atoms, *flat.calls]
        recursive = sum(atom.relation in around.own for atom in flat.atoms)
        # The derivations of a rule with two recursive atoms outnumber its tuples by far: those are looked up again.
        self.stored = (recursive <= 1 and around.keep_spares) or bool(around.values)
        self.value: ValuePlan | None = None
        self.hidden: set[str] = set()
        if any(isinstance(term, Aggregate) for term in flat.head):
            if recursive > 1:
                raise NotCompiledError("min or max in a rule with two recursive atoms")
            self.value, self.hidden = plan_value(flat.rule, around.own, around.relations, around.values)
        self.registers: dict[str, int] = {}
        self._types: dict[str, str] = {}
        for atom in self.atoms:
            self._check_types(atom)
        self._check_hidden()

    def _check_types(self, atom: Atom) -> None:
        for term, column in zip(atom.terms, self._around.relations[atom.relation].columns, strict=True):
            match term:
                case Variable(name=name):
                    if self._types.setdefault(name, family(column.type)) != family(column.type):
                        raise NotCompiledError(f"{name!r} joins columns of different types")
                    self.registers.setdefault(name, len(self.registers))
                case Constant(type=type_, value=value) if value is not None and family(type_) != family(column.type):
                    raise NotCompiledError("a constant is of another type than its column")
                case _:
                    assert isinstance(term, Constant | Wildcard)

    def _check_hidden(self) -> None:
        """The cost of a tuple of the component is no column that could be read."""
        read = {term.name for call in self._flat.calls for term in call.terms if isinstance(term, Variable)}
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
                found.append((REGISTER, self.registers[term.name]))
        return found

    def plan(self, number: int, trigger: int | None) -> None:
        """One plan: from a body atom, or backwards from the head."""
        tables = self._around.tables
        bound: set[str] = set()
        tables.plan_rule.append(number)
        tables.plan_atom.append(layout.NOTHING if trigger is None else trigger)
        if trigger is None:
            tables.plan_terms.append(self._head_pattern(bound))
        else:
            tables.plan_terms.append(self._pattern(self.atoms[trigger], bound, frozenset()))
        waiting = list(self._flat.tests)
        tables.plan_tests.append(self._ready(waiting, bound))
        rest = [at for at in range(len(self.atoms)) if at != trigger]
        start = len(tables.step_atom)
        while rest:
            at = max((at for at in rest if self._is_known(at, bound)), key=lambda at: (self._rank(at, bound), -at))
            rest.remove(at)
            self._step(at, bound)
            tables.step_tests.append(self._ready(waiting, bound))
        tables.plan_steps.append((start, len(tables.step_atom) - start))

    def _is_known(self, at: int, bound: set[str]) -> bool:
        """Whether the atom can be joined now; a function only from its arguments to its value."""
        return at < self.length or all(
            isinstance(term, Variable) and term.name in bound for term in self.atoms[at].terms[:-1]
        )

    def _rank(self, at: int, bound: set[str]) -> tuple[bool, int]:
        """Functions come as soon as they can, so that values are there to look rows up by; then what has most bound."""
        terms = self.atoms[at].terms
        known = sum(isinstance(t, Constant) or (isinstance(t, Variable) and t.name in bound) for t in terms)
        return at >= self.length, known

    def _step(self, at: int, bound: set[str]) -> None:
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
        tables.step_atom.append(at)
        tables.step_index.append(tables.indexes.setdefault(index, len(tables.indexes)))
        tables.step_keys.append(keys)
        tables.step_terms.append(self._pattern(atom, bound, frozenset(positions)))
        tables.step_function.append(around.ids[atom.relation] if is_function else layout.NOTHING)

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

    def _ready(self, waiting: list[Test], bound: set[str]) -> tuple[int, int]:
        """Write down the tests whose variables are all bound now."""
        tests = self._around.tables.tests
        start = len(tests)
        for test in [test for test in waiting if test.names <= bound]:
            waiting.remove(test)
            left = self._operand(test.left)
            if isinstance(test.right, Sum):
                tests.append((test.operator, *left, layout.SUM, len(test.right.parts)))
                tests.extend((step, *self._operand(part), 0, 0) for step, part in test.right.parts)
            else:
                tests.append((test.operator, *left, *self._operand(test.right)))
        return start, len(tests) - start

    def _operand(self, term: Term) -> tuple[int, int]:
        if isinstance(term, Variable):
            return REGISTER, self.registers[term.name]
        assert isinstance(term, Constant)
        return CONSTANT, self._around.interner.id(term.value, term.type)
