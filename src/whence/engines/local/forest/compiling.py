"""A component's rules as tables of integers, where they have a shape that the kernels know.

Atoms hold variables, constants and wildcards; conditions compare those; heads hold variables and constants, and at most
one min or max over a sum or product of costs. Everything else is left to the general strategy, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from whence.analysis.components import Component
from whence.engines.local.forest import layout
from whence.engines.local.forest.interning import ORDERED, Interner, family
from whence.engines.local.forest.layout import BIND, CONSTANT, IGNORE, REGISTER, Array, Rules
from whence.engines.local.forest.values import NotCompiledError, ValueColumn, ValuePlan, plan_value, value_columns
from whence.model.rules import Atom, Comparison, Condition, Negation, Rule
from whence.model.schema import Relation
from whence.model.terms import Aggregate, Call, Constant, Term, Variable, Wildcard

_TESTS = {
    "=": layout.EQUAL,
    "!=": layout.UNEQUAL,
    "<": layout.LESS,
    "<=": layout.LESS_EQUAL,
    ">": layout.GREATER,
    ">=": layout.GREATER_EQUAL,
}


@dataclass
class _Tables:
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
    tests: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    indexes: dict[tuple[int, tuple[int, ...]], int] = field(default_factory=dict)


@dataclass(frozen=True)
class Compiled:
    """The tables, and how the relations' columns map to them."""

    rules: Rules
    names: tuple[str, ...]
    inputs: tuple[str, ...]
    # The positions of the columns that make a tuple what it is, per relation.
    positions: Mapping[str, tuple[int, ...]]
    # The column that holds a cost, or min or max, per relation that has one.
    values: Mapping[str, ValueColumn]
    # How many indexes the relation with most of them has.
    links: int
    registers: int


def compile_component(
    component: Component, relations: Mapping[str, Relation], interner: Interner, *, keep_spares: bool = True
) -> Compiled:
    """Raises NotCompiledError, with the reason, for rules of another shape."""
    return _Compiler(component, relations, interner, keep_spares).compile()


class _Compiler:
    def __init__(
        self, component: Component, relations: Mapping[str, Relation], interner: Interner, keep_spares: bool
    ) -> None:
        self.component = component
        self.keep_spares = keep_spares
        self.relations = relations
        self.interner = interner
        self.own = set(component.relations)
        self.tables = _Tables()
        self.values = value_columns(component, relations)
        names = [*component.relations]
        for rule in component.rules:
            for literal in rule.body:
                if isinstance(literal, Negation):
                    raise NotCompiledError("a rule negates")
                if isinstance(literal, Atom) and literal.relation not in names:
                    names.append(literal.relation)
        if any(not relations[name].columns for name in names):
            raise NotCompiledError("a relation has no columns")
        self.names = tuple(names)
        self.ids = {name: i for i, name in enumerate(names)}
        self.positions = {name: self._identity(name) for name in names}

    def _identity(self, name: str) -> tuple[int, ...]:
        """Of a relation with min or max, only the groups make a tuple what it is."""
        value = self.values.get(name)
        skipped = value.position if value is not None and name in self.own else None
        return tuple(i for i in range(self.relations[name].arity) if i != skipped)

    def compile(self) -> Compiled:
        rules = [_CompiledRule(self, rule) for rule in self.component.rules]
        tables = self.tables
        forward: list[tuple[int, int]] = []
        for name in self.names:
            start = len(tables.plan_rule)
            for number, rule in enumerate(rules):
                for at, atom in enumerate(rule.atoms):
                    if atom.relation == name:
                        rule.plan(number, at)
            forward.append((start, len(tables.plan_rule) - start))
        backward: list[tuple[int, int]] = []
        for name in self.names:
            start = len(tables.plan_rule)
            for number, rule in enumerate(rules):
                if rule.rule.head.relation == name and not rule.stored:
                    rule.plan(number, None)
            backward.append((start, len(tables.plan_rule) - start))
        registers = max((len(r.registers) for r in rules), default=0)
        width = max(1, *(len(p) for p in self.positions.values()))
        return Compiled(
            self._rules(rules, forward, backward, width),
            self.names,
            tuple(n for n in self.names if n not in self.own),
            self.positions,
            self.values,
            max((sum(key[0] == r for key in tables.indexes) for r in range(len(self.names))), default=0),
            max(1, registers),
        )

    def _rules(
        self,
        rules: Sequence[_CompiledRule],
        forward: list[tuple[int, int]],
        backward: list[tuple[int, int]],
        width: int,
    ) -> Rules:
        tables = self.tables
        # Indexes of one relation stand together, each with a link of its own in the relation's nodes.
        order = sorted(tables.indexes, key=lambda k: k[0])
        renumbered = {tables.indexes[key]: at for at, key in enumerate(order)}
        spans = [
            (next((i for i, k in enumerate(order) if k[0] == r), 0), sum(k[0] == r for k in order))
            for r in range(len(self.names))
        ]
        floating = any(v.floating for v in self.values.values())
        number_type = np.float64 if floating else np.int64
        constants: list[float] = []
        costs = [rule.value.steps(constants) if rule.value is not None else [] for rule in rules]
        own_values = [self.values.get(name) if name in self.own else None for name in self.names]
        return Rules(
            plans=_table(
                [
                    [rule, atom, *steps, *tests, *_flat(terms, width)]
                    for rule, atom, steps, tests, terms in zip(
                        tables.plan_rule,
                        tables.plan_atom,
                        tables.plan_steps,
                        tables.plan_tests,
                        tables.plan_terms,
                        strict=True,
                    )
                ],
                layout.PLAN_TERMS + 2 * width,
            ),
            steps=_table(
                [
                    [atom, renumbered[index], *tests, *_flat(terms, width), *_flat(keys, width)]
                    for atom, index, tests, terms, keys in zip(
                        tables.step_atom,
                        tables.step_index,
                        tables.step_tests,
                        tables.step_terms,
                        tables.step_keys,
                        strict=True,
                    )
                ],
                layout.STEP_TERMS + 4 * width,
            ),
            tests=_table(tables.tests, 5),
            heads=_table(
                [[self.ids[r.rule.head.relation], int(r.stored), len(r.atoms), *_flat(r.head(), width)] for r in rules],
                layout.HEAD_TERMS + 2 * width,
            ),
            relations=_table(
                [
                    [len(self.positions[name]), *forward[i], *backward[i], *spans[i], 0 if v is None else v.sign]
                    for i, (name, v) in enumerate(zip(self.names, own_values, strict=True))
                ],
                layout.SIGN + 1,
            ),
            indexes=_table(
                [
                    [layout.COLUMNS + width + at - spans[relation][0], len(columns), *columns]
                    for at, (relation, columns) in enumerate(order)
                ],
                layout.INDEX_COLUMNS + width,
            ),
            numbers=self.interner.numbers(),
            costs=_operations(costs),
            constants=np.array(constants or [0], number_type),
            limit=np.array([np.inf if floating else 2.0**63 - 1024]),
            bounds=np.array([(0, 0) if v is None else v.bounds for v in own_values], number_type).reshape(-1, 2),
            shape=np.array([width, max(1, *(len(r.atoms) for r in rules))], np.int32),
        )

    def index(self, relation: str, positions: tuple[int, ...]) -> int:
        return self.tables.indexes.setdefault((self.ids[relation], positions), len(self.tables.indexes))


class _CompiledRule:
    def __init__(self, compiler: _Compiler, rule: Rule) -> None:
        self.compiler = compiler
        self.rule = rule
        if rule.sign < 0:
            raise NotCompiledError("a rule is differential")
        self.atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
        if not self.atoms:
            raise NotCompiledError("a rule has no atom in its body")
        recursive = sum(atom.relation in compiler.own for atom in self.atoms)
        aggregated = any(isinstance(t, Aggregate) for t in rule.head.terms)
        # The derivations of a rule with two recursive atoms outnumber its tuples by far: those are looked up again.
        self.stored = (recursive <= 1 and compiler.keep_spares) or bool(compiler.values)
        self.value: ValuePlan | None = None
        used_in_value: set[str] = set()
        if aggregated:
            if recursive > 1:
                raise NotCompiledError("min or max in a rule with two recursive atoms")
            self.value, used_in_value = plan_value(rule, compiler.own, compiler.relations, compiler.values)
        self.hidden = used_in_value
        self.registers: dict[str, int] = {}
        self.types: dict[str, str] = {}
        for atom in self.atoms:
            self._check_types(atom)
        self.tests = [test for literal in rule.body if (test := self._test(literal)) is not None]

    def _check_types(self, atom: Atom) -> None:
        columns = self.compiler.relations[atom.relation].columns
        for term, column in zip(atom.terms, columns, strict=True):
            match term:
                case Variable(name=name):
                    if self.types.setdefault(name, family(column.type)) != family(column.type):
                        raise NotCompiledError(f"{name!r} joins columns of different types")
                    self.registers.setdefault(name, len(self.registers))
                case Constant(type=type_) if family(type_) != family(column.type):
                    raise NotCompiledError("a constant is of another type than its column")
                case Constant() | Wildcard():
                    pass
                case _:
                    raise NotCompiledError("a body atom holds a computed term")

    def _test(self, literal: object) -> tuple[int, Term, Term] | None:
        match literal:
            case Atom():
                return None
            case Comparison(op=op, left=left, right=right) if op in _TESTS:
                self._check_comparable(op, left, right)
                return _TESTS[op], left, right
            case Condition(term=Call(function="isnotnull", arguments=(Variable(name=name) as variable,))):
                if name in self.registers:
                    return layout.NOT_NULL, variable, variable
        raise NotCompiledError("a rule has a condition that is more than a comparison of columns")

    def _check_comparable(self, op: str, left: Term, right: Term) -> None:
        kinds = set()
        for term in (left, right):
            match term:
                case Variable(name=name) if name in self.hidden:
                    raise NotCompiledError("a condition reads the value that min or max is taken of")
                case Variable(name=name) if name in self.types:
                    kinds.add(self.types[name])
                case Constant(type=type_, value=value) if value is not None:
                    kinds.add(family(type_))
                case _:
                    raise NotCompiledError("a rule computes a value")
        ordered = {family(t) for t in ORDERED}
        if len(kinds) != 1 or (op not in ("=", "!=") and not kinds <= ordered):
            raise NotCompiledError("a comparison of values that have no order as integers")

    def head(self) -> list[tuple[int, int]]:
        terms = self.rule.head.terms
        columns = self.compiler.relations[self.rule.head.relation].columns
        found = []
        for position in self.compiler.positions[self.rule.head.relation]:
            match terms[position]:
                case Variable(name=name) if name in self.types:
                    if self.types[name] != family(columns[position].type) or name in self.hidden:
                        raise NotCompiledError("a head column has another type than its value")
                    found.append((REGISTER, self.registers[name]))
                case Constant(type=type_, value=value) if value is None or family(type_) == family(
                    columns[position].type
                ):
                    found.append((CONSTANT, self.compiler.interner.id(value, columns[position].type)))
                case _:
                    raise NotCompiledError("a head column is computed")
        return found

    # Plans

    def plan(self, number: int, trigger: int | None) -> None:
        """One plan: from a body atom, or backwards from the head."""
        tables = self.compiler.tables
        bound: set[str] = set()
        tables.plan_rule.append(number)
        tables.plan_atom.append(layout.NOTHING if trigger is None else trigger)
        if trigger is None:
            tables.plan_terms.append(self._head_pattern(bound))
        else:
            tables.plan_terms.append(self._pattern(self.atoms[trigger], bound, frozenset()))
        waiting = list(self.tests)
        tables.plan_tests.append(self._ready(waiting, bound))
        rest = [at for at in range(len(self.atoms)) if at != trigger]
        start = len(tables.step_atom)
        while rest:
            at = max(rest, key=lambda a: (self._bound_columns(self.atoms[a], bound), -a))
            rest.remove(at)
            self._step(at, bound)
            tables.step_tests.append(self._ready(waiting, bound))
        tables.plan_steps.append((start, len(tables.step_atom) - start))

    def _step(self, at: int, bound: set[str]) -> None:
        tables, atom = self.compiler.tables, self.atoms[at]
        places = self.compiler.positions[atom.relation]
        keys: list[tuple[int, int]] = []
        positions: list[int] = []
        for column, position in enumerate(places):
            match atom.terms[position]:
                case Variable(name=name) if name in bound and name not in self.hidden:
                    keys.append((REGISTER, self.registers[name]))
                    positions.append(column)
                case Constant(value=value):
                    type_ = self.compiler.relations[atom.relation].columns[position].type
                    keys.append((CONSTANT, self.compiler.interner.id(value, type_)))
                    positions.append(column)
        tables.step_atom.append(at)
        tables.step_index.append(self.compiler.index(atom.relation, tuple(positions)))
        tables.step_keys.append(keys)
        tables.step_terms.append(self._pattern(atom, bound, frozenset(positions)))

    def _pattern(self, atom: Atom, bound: set[str], keyed: frozenset[int]) -> list[tuple[int, int]]:
        """What each column must be, or binds; columns in the key are right already."""
        pattern = []
        for column, position in enumerate(self.compiler.positions[atom.relation]):
            term = atom.terms[position]
            match term:
                case Variable(name=name) if column not in keyed and name not in self.hidden:
                    pattern.append((REGISTER if name in bound else BIND, self.registers[name]))
                    bound.add(name)
                case Constant(value=value) if column not in keyed:
                    type_ = self.compiler.relations[atom.relation].columns[position].type
                    pattern.append((CONSTANT, self.compiler.interner.id(value, type_)))
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

    def _bound_columns(self, atom: Atom, bound: set[str]) -> int:
        return sum(isinstance(t, Constant) or (isinstance(t, Variable) and t.name in bound) for t in atom.terms)

    def _ready(self, waiting: list[tuple[int, Term, Term]], bound: set[str]) -> tuple[int, int]:
        """Write down the tests whose variables are all bound now."""
        tables = self.compiler.tables
        start = len(tables.tests)
        for test in list(waiting):
            operator, left, right = test
            if all(not isinstance(t, Variable) or t.name in bound for t in (left, right)):
                tables.tests.append((operator, *self._operand(left), *self._operand(right)))
                waiting.remove(test)
        return start, len(tables.tests) - start

    def _operand(self, term: Term) -> tuple[int, int]:
        if isinstance(term, Variable):
            return REGISTER, self.registers[term.name]
        assert isinstance(term, Constant)
        return CONSTANT, self.compiler.interner.id(term.value, term.type)


def _table(rows: Sequence[Sequence[int]], width: int) -> Array:
    table = np.zeros((len(rows), width), np.int32)
    for at, row in enumerate(rows):
        table[at, : len(row)] = row
    return table


def _flat(terms: Sequence[tuple[int, int]], width: int) -> list[int]:
    """Terms one after the other, padded with ones that are ignored."""
    flat = [part for term in terms for part in term]
    return flat + [IGNORE, 0] * (width - len(terms))


def _operations(costs: Sequence[Sequence[tuple[int, int]]]) -> Array:
    table = np.zeros((len(costs), max((len(c) for c in costs), default=0) + 1, 2), np.int32)
    for at, operations in enumerate(costs):
        for place, operation in enumerate(operations):
            table[at, place] = operation
    return table
