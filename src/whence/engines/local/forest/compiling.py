"""A component's rules as tables of integers, where they have a shape that the kernels know.

Rules may join, compare and compute, and have one min or max over a sum or product of costs in their heads. Everything
else is left to the general strategy, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.forest import layout
from whence.engines.local.forest.fixed import fixed_cost
from whence.engines.local.forest.flattening import Function, flatten
from whence.engines.local.forest.grouping import passed_on
from whence.engines.local.forest.interning import Interner
from whence.engines.local.forest.layout import IGNORE, Array, Rules
from whence.engines.local.forest.planning import PlannedRule, Surroundings
from whence.engines.local.forest.values import NotCompiledError, ValueColumn, value_columns
from whence.model.schema import Relation


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
    # How many integers a walk's working memory must hold of a kind.
    memory: int
    # What rules compute. Their relations are the last ones, in this order.
    functions: tuple[Function, ...]


def compile_component(
    component: Component,
    relations: Mapping[str, Relation],
    functions: Functions,
    interner: Interner,
    *,
    keep_spares: bool = True,
) -> Compiled:
    """Raises NotCompiledError, with the reason, for rules of another shape."""
    return _Compiler(component, relations, functions, interner, keep_spares).compile()


class _Compiler:
    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        interner: Interner,
        keep_spares: bool,
    ) -> None:
        self.functions: list[Function] = []
        self.rules = [flatten(rule, relations, functions, self.functions) for rule in component.rules]
        self.own = frozenset(component.relations)
        self.values = value_columns(component, relations)
        self.passed_on = passed_on(component, relations)
        below = dict.fromkeys(
            atom.relation for rule in self.rules for atom in rule.atoms if atom.relation not in self.own
        )
        called = {function.relation.name: function.relation for function in self.functions}
        self.names = (*component.relations, *below, *called)
        self.inputs = tuple(below)
        self.relations = {**relations, **called}
        if any(not self.relations[name].columns for name in self.names):
            raise NotCompiledError("a relation has no columns")
        self.interner = interner
        self.positions = {name: self._identity(name) for name in self.names}
        self.around = Surroundings(
            self.own,
            self.relations,
            interner,
            self.values,
            keep_spares,
            {name: number for number, name in enumerate(self.names)},
            self.positions,
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
        rules = [PlannedRule(self.around, rule) for rule in self.rules]
        for name in self.values.keys() & set(self.inputs):
            self.values[name] = fixed_cost(self.relations[name], self.values[name], rules)
            self.positions[name] = self._identity(name)
        tables = self.around.tables
        forward: list[tuple[int, int]] = []
        for name in self.names:
            start = len(tables.plan_rule)
            for number, rule in enumerate(rules):
                # A new value of a function triggers nothing: those who wait for it are known.
                for at, atom in enumerate(rule.atoms[: rule.length]):
                    if atom.relation == name:
                        rule.plan(number, at)
            forward.append((start, len(tables.plan_rule) - start))
        backward: list[tuple[int, int]] = []
        for name in self.names:
            start = len(tables.plan_rule)
            for number, rule in enumerate(rules):
                if rule.relation == name and not rule.stored:
                    rule.plan(number, None)
            backward.append((start, len(tables.plan_rule) - start))
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
        )

    def _rules(
        self,
        rules: Sequence[PlannedRule],
        forward: list[tuple[int, int]],
        backward: list[tuple[int, int]],
        width: int,
    ) -> Rules:
        tables = self.around.tables
        # Indexes of one relation stand together, each with a link of its own in the relation's nodes.
        order = sorted(tables.indexes, key=lambda k: k[0])
        renumbered = {tables.indexes[key]: at for at, key in enumerate(order)}
        spans = [
            (next((i for i, k in enumerate(order) if k[0] == r), 0), sum(k[0] == r for k in order))
            for r in range(len(self.names))
        ]
        longest = max(1, *(rule.length for rule in rules))
        floating = any(v.floating for v in self.values.values())
        number_type = np.float64 if floating else np.int64
        constants: list[float] = []
        costs = [rule.value.steps(constants) if rule.value is not None else [] for rule in rules]
        own_values = [self.values.get(name) if name in self.own else None for name in self.names]
        signs = {name: 0 if value is None else value.sign for name, value in zip(self.names, own_values, strict=True)}
        return Rules(
            plans=_table(
                [
                    [rule, atom, *steps, *tests, tables.is_single(*steps), *_flat(terms, width)]
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
                    [atom, renumbered[index], *tests, function, *_flat(terms, width), *_flat(keys, width)]
                    for atom, index, tests, function, terms, keys in zip(
                        tables.step_atom,
                        tables.step_index,
                        tables.step_tests,
                        tables.step_function,
                        tables.step_terms,
                        tables.step_keys,
                        strict=True,
                    )
                ],
                layout.STEP_TERMS + 4 * width,
            ),
            tests=_table(tables.tests, 5),
            heads=_table(
                [[self.around.ids[r.relation], int(r.stored), r.length, *_flat(r.head(), width)] for r in rules],
                layout.HEAD_TERMS + 2 * width,
            ),
            relations=_table(
                [
                    [len(self.positions[name]), *forward[i], *backward[i], *spans[i], signs[name], self._fixed(name)]
                    for i, name in enumerate(self.names)
                ],
                layout.FIXED + 1,
            ),
            indexes=_table(
                [
                    [layout.COLUMNS + width + at - spans[relation][0], len(columns), *columns]
                    for at, (relation, columns) in enumerate(order)
                ],
                layout.INDEX_COLUMNS + width,
            ),
            numbers=self.interner.numbers,
            signs=_table([[signs[atom.relation] for atom in r.atoms[: r.length]] for r in rules], longest),
            costs=_operations(costs),
            constants=np.array(constants or [0], number_type),
            limit=np.array([np.inf if floating else 2.0**63 - 1024]),
            bounds=np.array([(0, 0) if v is None else v.bounds for v in own_values], number_type).reshape(-1, 2),
            shape=np.array([width, longest, self.passed_on], np.int32),
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
