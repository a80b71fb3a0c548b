"""A component's rules as tables of integers, where they have a shape that the kernels know.

Rules may join, compare and compute, and have one min or max over a sum or product of costs in their heads. Everything
else is left to the general strategy, with the reason.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whence.analysis.components import Component
from whence.engines.local.forest import layout
from whence.engines.local.forest.flat_rules import ALWAYS, Absence, ComputedTerm, Flattening
from whence.engines.local.forest.layout import IGNORE, Array, RuleTables
from whence.engines.local.forest.plans import CompiledRule, PlanContext, fixed_cost
from whence.engines.local.forest.values import Interner, NotCompiledError, ValueColumn, null_cost, value_columns
from whence.model import types
from whence.model.program import Functions
from whence.model.rules import Atom, Rule
from whence.model.schema import Relation
from whence.model.terms import Variable
from whence.planning.statistics import Statistics


@dataclass(frozen=True)
class Compiled:
    """The tables, and how the relations' columns map to them."""

    rules: RuleTables
    names: tuple[str, ...]
    inputs: tuple[str, ...]
    # The positions of the columns that make a tuple what it is, per relation.
    positions: Mapping[str, tuple[int, ...]]
    # The column that holds a cost, or min or max, per relation that has one.
    values: Mapping[str, ValueColumn]
    # How many indexes the relation with most of them has.
    links: int
    # How many integers a walk's working memory must hold of a kind.
    memory: int
    # What rules compute. Their relations are the last ones, in this order.
    functions: tuple[ComputedTerm, ...]
    # What rules negate.
    absences: tuple[Absence, ...]
    # How many atoms each rule has. Derivations rest on those, and after them on functions.
    lengths: tuple[int, ...]

    @property
    def has_choice(self) -> bool:
        """Whether some joins have more than one order: there are two atoms to go on to."""
        backwards = self.rules.plans[:, layout.PLAN_ATOM] == layout.NOTHING
        return max(self.lengths) - (not self.absences and not backwards.any()) > 1

    @property
    def reads(self) -> tuple[str, ...]:
        """The relations below, also those that are only negated."""
        return tuple(dict.fromkeys([*self.inputs, *(absence.negated for absence in self.absences)]))

    def joins_like(self, other: Compiled) -> bool:
        """Whether joins have the same order."""
        return np.array_equal(self.rules.steps, other.rules.steps)


def compile_component(
    component: Component,
    relations: Mapping[str, Relation],
    functions: Functions,
    interner: Interner,
    statistics: Statistics,
    *,
    keep_spares: bool = True,
) -> Compiled:
    """Raises NotCompiledError, with the reason, for rules of another shape."""
    return _Compiler(component, relations, functions, interner, statistics, keep_spares).compile()


class _Compiler:
    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        interner: Interner,
        statistics: Statistics,
        keep_spares: bool,
    ) -> None:
        self.functions: list[ComputedTerm] = []
        self.absences: list[Absence] = []
        self.own = frozenset(component.relations)
        self.values = value_columns(component, relations)
        costs, claimed = dict(self.values), dict[str, int]()
        found = self.functions, self.absences
        self.rules = [Flattening(rule, functions, *found, costs, claimed).flat for rule in component.typed]
        self.passed_on = passed_on(component, relations)
        below = dict.fromkeys(
            atom.relation for rule in self.rules for atom in rule.atoms if atom.relation not in self.own
        )
        called = {function.relation.name: function.relation for function in self.functions}
        absent = {absence.relation.name: absence.relation for absence in self.absences}
        self.names = (*component.relations, *below, *absent, *called)
        self.inputs = tuple(name for name in below if name != ALWAYS.name)
        self.relations = {**relations, ALWAYS.name: ALWAYS, **absent, **called}
        self.absent = frozenset(absent)
        if any(not self.relations[name].columns for name in (*self.own, *self.inputs)):
            raise NotCompiledError("a relation has no columns")
        self.interner = interner
        self.positions = {name: self._identity(name) for name in self.names}
        self.around = PlanContext(
            self.own,
            self.relations,
            interner,
            self.values,
            keep_spares,
            {name: number for number, name in enumerate(self.names)},
            self.positions,
            statistics,
        )

    def _identity(self, name: str) -> tuple[int, ...]:
        """Of a relation with min or max, only the groups make a tuple what it is."""
        value = self.values.get(name)
        skipped = value.position if value is not None and value.sign else None
        return tuple(i for i in range(self.relations[name].arity) if i != skipped)

    def _fixed(self, name: str) -> int:
        value = self.values.get(name) if name in self.inputs else None
        return 0 if value is None else value.sign

    def compile(self) -> Compiled:
        rules = [CompiledRule(self.around, rule) for rule in self.rules]
        for name in self.values.keys() & set(self.inputs):
            self.values[name] = fixed_cost(self.relations[name], self.values[name], rules)
            self.positions[name] = self._identity(name)
        tables = self.around.tables
        forward: list[tuple[int, int]] = []
        for name in self.names:
            start = len(tables.plans)
            for number, rule in enumerate(rules):
                # A new value of a function triggers nothing: those who wait for it are known.
                for at in (*range(rule.length), *rule.absences):
                    if rule.atoms[at].relation == name:
                        rule.plan(number, at)
            forward.append((start, len(tables.plans) - start))
        backward: list[tuple[int, int]] = []
        for name in self.names:
            start = len(tables.plans)
            for number, rule in enumerate(rules):
                if rule.relation == name and not rule.stored:
                    rule.plan(number, None)
            backward.append((start, len(tables.plans) - start))
        width = max(1, *(len(p) for p in self.positions.values()))
        return Compiled(
            self._rules(rules, forward, backward, width),
            self.names,
            self.inputs,
            self.positions,
            self.values,
            max((sum(key[0] == r for key in tables.indexes) for r in range(len(self.names))), default=0),
            max(1, width, *(max(len(rule.registers), len(rule.atoms)) for rule in rules)),
            tuple(self.functions),
            tuple(self.absences),
            tuple(sum(atom.relation != ALWAYS.name for atom in rule.atoms) for rule in self.rules),
        )

    def _rules(
        self,
        rules: Sequence[CompiledRule],
        forward: list[tuple[int, int]],
        backward: list[tuple[int, int]],
        width: int,
    ) -> RuleTables:
        tables = self.around.tables
        # Indexes of one relation stand together, each with a link of its own in the relation's nodes.
        order = sorted(tables.indexes, key=lambda k: k[0])
        renumbered = {tables.indexes[key]: at for at, key in enumerate(order)}
        spans = [
            (next((i for i, k in enumerate(order) if k[0] == r), 0), sum(k[0] == r for k in order))
            for r in range(len(self.names))
        ]
        absence_tests = [rule.absence_tests() for rule in rules]
        longest = max(1, *(rule.rests_on for rule in rules))
        floating = any(v.floating for v in self.values.values())
        number_type = np.float64 if floating else np.int64
        constants: list[float] = [null_cost(np.dtype(number_type))]
        costs = [rule.value.steps(constants) if rule.value is not None else [] for rule in rules]
        own_values = [self.values.get(name) if name in self.own else None for name in self.names]
        signs = {name: 0 if value is None else value.sign for name, value in zip(self.names, own_values, strict=True)}
        return RuleTables(
            plans=_table(
                [
                    [p.rule, p.atom, *p.steps, *p.tests, tables.is_loop(*p.steps), p.recurs, *_flat(p.terms, width)]
                    for p in tables.plans
                ],
                layout.PLAN_TERMS + 2 * width,
            ),
            steps=_table(
                [
                    [
                        s.atom,
                        renumbered[s.probed],
                        *s.tests,
                        s.function,
                        *_flat(s.terms, width),
                        *_flat(s.keys, width),
                    ]
                    for s in tables.steps
                ],
                layout.STEP_TERMS + 4 * width,
            ),
            tests=_table(tables.tests, 5),
            heads=_table(
                [
                    [self.around.ids[r.relation], int(r.stored), r.rests_on, *absences, *_flat(r.head(), width)]
                    for r, absences in zip(rules, absence_tests, strict=True)
                ],
                layout.HEAD_TERMS + 2 * width,
            ),
            relations=_table(
                [
                    [
                        len(self.positions[name]),
                        *forward[i],
                        *backward[i],
                        *spans[i],
                        signs[name],
                        self._fixed(name),
                        name in self.absent,
                    ]
                    for i, name in enumerate(self.names)
                ],
                layout.NEGATED + 1,
            ),
            indexes=_table(
                [
                    [layout.COLUMNS + width + at - spans[relation][0], len(columns), *columns]
                    for at, (relation, columns) in enumerate(order)
                ],
                layout.INDEX_COLUMNS + width,
            ),
            numbers=self.interner.numbers,
            signs=_table([[signs[atom.relation] for atom in r.atoms[: r.rests_on]] for r in rules], longest),
            costs=_operations(costs),
            constants=np.array(constants, number_type),
            limit=np.array([self._limit(own_values)]),
            bounds=np.array([(0, 0) if v is None else v.bounds for v in own_values], number_type).reshape(-1, 2),
            shape=np.array(
                [
                    width,
                    longest,
                    self.passed_on,
                    any(rule.guards for rule in self.rules),
                    1 + max(len(rule.absences) for rule in rules),
                ],
                np.int32,
            ),
        )

    def _limit(self, values: Sequence[ValueColumn | None]) -> float:
        """What no number on the way to a cost may be beyond, since it does not fit there. Who takes over knows more."""
        kinds = {value.type for value in values if value is not None}
        if types.DOUBLE in kinds:
            return sys.float_info.max
        return 2.0**31 - 1 if kinds <= {types.INT} else 2.0**63 - 1024


def passed_on(component: Component, relations: Mapping[str, Relation]) -> int:
    """The first column, the same in all relations of the component, that their rules pass on; NOTHING if none is.

    It divides the tuples into groups that never meet: what follows from those with one value in it has the same value.
    Groups can then be grown one after the other, each of them small enough to stay in the cache, and all with the same
    proofs as if they were grown together.
    """
    own = frozenset(component.relations)
    if not component.recursive:
        return layout.NOTHING
    for column in range(min(relations[name].arity for name in own)):
        if all(_passes_on(rule, own, column) for rule in component.rules):
            return column
    return layout.NOTHING


def _passes_on(rule: Rule, own: frozenset[str], column: int) -> bool:
    head = rule.head.terms[column]
    recursive = [literal for literal in rule.body if isinstance(literal, Atom) and literal.relation in own]
    return not recursive or (
        isinstance(head, Variable)
        and all(isinstance(term := atom.terms[column], Variable) and term.name == head.name for atom in recursive)
    )


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
