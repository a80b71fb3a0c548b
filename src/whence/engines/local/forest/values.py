"""Costs: the columns that min and max are taken of, and how a rule computes them from its body."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from whence.analysis.components import Component
from whence.engines.local.forest import layout
from whence.engines.local.forest.layout import Array
from whence.model import types
from whence.model.rules import Atom, Comparison, Rule
from whence.model.schema import Relation
from whence.model.terms import Aggregate, Call, Cast, Constant, Term, Variable, variables
from whence.model.types import DecimalType, Type, Value

_OPERATIONS = {
    "+": layout.ADD,
    "-": layout.SUBTRACT,
    "*": layout.MULTIPLY,
    "least": layout.LEAST,
    "greatest": layout.GREATEST,
}


class NotCompiledError(Exception):
    """The rules have a shape that the kernels do not know; the message says which."""


@dataclass(frozen=True)
class ValueColumn:
    """A column of numbers. `sign` is 1 where a smaller one is better, -1 where a larger one is.

    Such a number is no part of what a tuple is. With a sign of 0, it is a column like the others, which is also read.
    """

    position: int
    type: Type
    sign: int = 0

    @property
    def floating(self) -> bool:
        return self.type == types.DOUBLE

    def encode(self, values: Sequence[Value]) -> Sequence[Any]:
        """Costs as the kernels have them: DECIMAL as a whole number of its smallest unit."""
        if isinstance(self.type, DecimalType):
            scale = self.type.scale
            return [int(value.scaleb(scale)) for value in values if isinstance(value, Decimal)]
        return values

    def decode(self, costs: Array) -> list[Value]:
        if isinstance(self.type, DecimalType):
            scale = -self.type.scale
            return [Decimal(cost).scaleb(scale) for cost in costs.tolist()]
        decoded: list[Value] = (costs if self.floating else costs.astype(np.int64, copy=False)).tolist()
        return decoded

    @property
    def bounds(self) -> tuple[float, float]:
        match self.type:
            case types.INT:
                return -(2**31), 2**31 - 1
            case types.BIGINT:
                return -(2**63), 2**63 - 1
            case DecimalType(precision=precision):
                largest = 10 ** min(precision, 18) - 1
                return -largest, largest
        return -sys.float_info.max, sys.float_info.max


@dataclass(frozen=True)
class ValuePlan:
    """A value as operations in postfix. A body atom stands for the value of its tuple."""

    operations: tuple[tuple[int, float], ...]

    def steps(self, constants: list[float]) -> list[tuple[int, int]]:
        found = []
        for operation, argument in self.operations:
            if operation == layout.PUSH_CONSTANT:
                constants.append(argument)
                found.append((operation, len(constants) - 1))
            else:
                found.append((operation, int(argument)))
        return [*found, (layout.END, 0)]

    def trends(self) -> dict[int, int]:
        """Whether the value grows (1) or falls (-1) with that of a body atom; 0 where that is not certain."""
        stack: list[dict[int, int]] = []
        for operation, argument in self.operations:
            if operation in (layout.PUSH_BEST, layout.PUSH_CONSTANT):
                stack.append({int(argument): 1} if operation == layout.PUSH_BEST else {})
                continue
            right, left = stack.pop(), stack.pop()
            if operation == layout.MULTIPLY:
                left, right = dict.fromkeys(left, 0), dict.fromkeys(right, 0)
            elif operation == layout.SUBTRACT:
                right = {atom: -trend for atom, trend in right.items()}
            stack.append({**left, **right, **{atom: 0 for atom in left.keys() & right if left[atom] != right[atom]}})
        return stack[-1] if stack else {}


def value_columns(component: Component, relations: Mapping[str, Relation]) -> dict[str, ValueColumn]:
    """The column of min or max, per relation that has one; there can be one only."""
    found: dict[str, ValueColumn] = {}
    for rule in component.rules:
        places = rule.aggregates
        if not places:
            continue
        name = rule.head.relation
        aggregate = rule.head.terms[places[0]]
        assert isinstance(aggregate, Aggregate)
        if len(places) > 1:
            raise NotCompiledError("a head has several aggregates")
        if len(rule.head.terms) == 1:
            raise NotCompiledError("an aggregate has no groups")
        if aggregate.function not in ("min", "max"):
            raise NotCompiledError("an aggregate other than min and max")
        column = relations[name].columns[places[0]]
        if column.nullable or not (column.type in (types.INT, types.BIGINT, types.DOUBLE) or _short(column.type)):
            raise NotCompiledError("min or max of a column that can be NULL or is no short number")
        found[name] = ValueColumn(places[0], column.type, 1 if aggregate.function == "min" else -1)
    if len({v.floating for v in found.values()}) > 1:
        raise NotCompiledError("DOUBLE and whole costs in one recursion")
    return found


def _short(type_: Type) -> bool:
    return isinstance(type_, DecimalType) and type_.precision <= 18


def plan_value(
    rule: Rule, own: Collection[str], relations: Mapping[str, Relation], values: dict[str, ValueColumn]
) -> tuple[ValuePlan, set[str]]:
    """How the rule's min or max is computed, and the variables that stand for costs."""
    place = rule.aggregates[0]
    aggregate = rule.head.terms[place]
    assert isinstance(aggregate, Aggregate) and aggregate.argument is not None
    target = relations[rule.head.relation].columns[place].type
    definitions = {
        c.left.name: c.right
        for c in rule.body
        if isinstance(c, Comparison) and c.op == "=" and isinstance(c.left, Variable)
    }
    atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
    costs: set[str] = set()
    operations: list[tuple[int, float]] = []

    def push(term: Term) -> None:
        match term:
            case Constant(value=int() | float() as number) if not isinstance(number, bool):
                if isinstance(target, DecimalType):
                    raise NotCompiledError("a constant cost in a DECIMAL recursion")
                operations.append((layout.PUSH_CONSTANT, number))
            case Variable(name=name):
                operations.append((layout.PUSH_BEST, _atom_of(name, atoms, own, relations, values, target)))
                costs.add(name)
            case Cast(term=inner, type=type_) if type_ == target:
                push(inner)
            case Call(function=function, arguments=(left, right)) if function in _OPERATIONS:
                if function == "*" and (target not in (types.INT, types.DOUBLE) or layout.MULTIPLY in dict(operations)):
                    raise NotCompiledError("a product of costs that might not fit")
                push(left)
                push(right)
                operations.append((_OPERATIONS[function], 0))
            case _:
                raise NotCompiledError("a cost is computed by more than + - * least greatest")

    push(aggregate.argument)
    if definitions:
        raise NotCompiledError("a cost is defined by a comparison")
    hidden = {name for name in costs if _is_own(name, atoms, own)}
    _only_as_costs(rule, place, atoms, hidden)
    return ValuePlan(tuple(operations)), hidden


def _atom_of(
    name: str,
    atoms: list[Atom],
    own: Collection[str],
    relations: Mapping[str, Relation],
    values: dict[str, ValueColumn],
    target: Type,
) -> int:
    """The body atom whose value the variable is."""
    for at, atom in enumerate(atoms):
        for position, term in enumerate(atom.terms):
            if not isinstance(term, Variable) or term.name != name:
                continue
            column = relations[atom.relation].columns[position]
            if column.nullable or not _addable(column.type, target):
                raise NotCompiledError("a cost that can be NULL or is of another type")
            if atom.relation not in own:
                values.setdefault(atom.relation, ValueColumn(position, column.type))
            if values.get(atom.relation) is None or values[atom.relation].position != position:
                raise NotCompiledError("a relation has two columns of costs")
            return at
    raise NotCompiledError("a cost that no atom holds")


def _addable(type_: Type, target: Type) -> bool:
    if isinstance(target, DecimalType):
        return isinstance(type_, DecimalType) and type_.scale == target.scale and _short(type_)
    whole = (types.INT, types.BIGINT)
    return type_ in whole if target in whole else type_ in (types.DOUBLE, *whole)


def _only_as_costs(rule: Rule, place: int, atoms: list[Atom], costs: set[str]) -> None:
    """A cost of the component may stand in one body column and in the value, nowhere else."""
    others = [t for i, t in enumerate(rule.head.terms) if i != place]
    if any(v.name in costs for t in others for v in variables(t)):
        raise NotCompiledError("a cost is a group as well")
    for name in costs:
        if sum(isinstance(t, Variable) and t.name == name for atom in atoms for t in atom.terms) != 1:
            raise NotCompiledError("a cost is joined")


def _is_own(name: str, atoms: list[Atom], own: Collection[str]) -> bool:
    return any(isinstance(t, Variable) and t.name == name for atom in atoms if atom.relation in own for t in atom.terms)
