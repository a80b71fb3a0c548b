"""The terms of a min or max in a recursion, as far as the kernels can compute them.

A cost that changes during the recursion goes through + - * least and greatest, and may be compared. What it is combined
with can be any term over columns that do not change: that is computed like a function, and its value is a cost.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from whence.engines.local.forest import layout
from whence.engines.local.forest.values import NotCompiledError, ValueColumn, ValuePlan
from whence.model import types
from whence.model.rules import Atom, Comparison, Condition
from whence.model.schema import Relation
from whence.model.terms import Aggregate, Call, Cast, Constant, Term, Variable, variables
from whence.model.types import DecimalType, Type

if TYPE_CHECKING:
    from whence.engines.local.forest.flat_rules import FlatRule

_OPERATIONS = {
    "+": layout.ADD,
    "-": layout.SUBTRACT,
    "*": layout.MULTIPLY,
    "least": layout.LEAST,
    "greatest": layout.GREATEST,
}
_MIRRORED = {">": "<", ">=": "<="}
_REQUIREMENTS = {"<": layout.REQUIRE_LESS, "<=": layout.REQUIRE_LESS_EQUAL}
_WHOLE = (types.INT, types.BIGINT)


@dataclass(frozen=True)
class CostGuard:
    """A comparison of costs without which a derivation does not count."""

    operation: int
    left: Term
    right: Term


@dataclass
class CostTerms:
    """The costs of one rule. `call` makes a variable for the value of a term that is computed as a function."""

    atoms: Sequence[Atom]
    own: Collection[str]
    # Variables that stand for costs of the component, or are defined by terms that have such a cost in them.
    moving: frozenset[str]
    defined: Mapping[str, Term]
    # The column of each relation below that is its cost.
    claimed: dict[str, int]
    target: Type
    type_of: Callable[[Term], Type]
    call: Callable[[Term, Type], Variable]

    def cost(self, term: Term) -> Term:
        """The same value, of costs and constants and what the kernels can do with them."""
        return self._cost(self._written_out(term), is_whole_term=True)

    def guard(self, literal: Comparison | Condition) -> CostGuard:
        match literal:
            case Comparison(op=op, left=left, right=right) if op in _REQUIREMENTS:
                return CostGuard(_REQUIREMENTS[op], self._side(left), self._side(right))
            case Comparison(op=op, left=left, right=right) if op in _MIRRORED:
                return CostGuard(_REQUIREMENTS[_MIRRORED[op]], self._side(right), self._side(left))
            case Condition(term=Call(function="isnotnull", arguments=(term,))):
                # Nothing else is less than or equal to itself.
                side = self._side(term)
                return CostGuard(layout.REQUIRE_LESS_EQUAL, side, side)
        raise NotCompiledError("a rule reads the value that min or max is taken of")

    def _side(self, term: Term) -> Term:
        """One side of a comparison, where to compare it as a cost of this rule is to compare it."""
        term = self._written_out(term)
        is_exact = isinstance(term, Constant) and _number(term, self.target) is not None
        if not is_exact and not _is_kept(self.type_of(term), self.target):
            raise NotCompiledError("a cost is compared with a value of another type")
        return self._cost(term, is_whole_term=False)

    def _written_out(self, term: Term) -> Term:
        match term:
            case Variable(name=name) if name in self.defined:
                return self._written_out(self.defined[name])
            case Call(arguments=arguments):
                return replace(term, arguments=tuple(map(self._written_out, arguments)))
            case Cast(term=inner):
                return replace(term, term=self._written_out(inner))
        return term

    def _cost(self, term: Term, *, is_whole_term: bool) -> Term:
        if not any(variable.name in self.moving for variable in variables(term)):
            return term if self._is_plain(term) else self.call(term, self.target)
        match term:
            case Variable() if _is_kept(self.type_of(term), self.target):
                return term
            case Cast(term=inner, type=type_) if type_ == self.target:
                # What does not fit the column is found out by the column.
                if is_whole_term or _is_kept(self.type_of(inner), type_):
                    return self._cost(inner, is_whole_term=is_whole_term)
            case Call(function=function, arguments=(first, *rest)) if rest and self._can_do(term):
                combined = self._cost(first, is_whole_term=False)
                for argument in rest:
                    combined = Call(function, (combined, self._cost(argument, is_whole_term=False)), span=term.span)
                return combined
        raise NotCompiledError("a cost is computed by more than + - * least greatest, or changes its type")

    def _can_do(self, term: Call) -> bool:
        """Whether the kernels have the function, for numbers of this type."""
        type_, target = self.type_of(term), self.target
        if term.function == "*" and isinstance(target, DecimalType):
            return False
        is_same = type_ == target or (type_ == types.BIGINT and target == types.INT) or _same_unit(type_, target)
        return is_same and term.function in _OPERATIONS

    def _is_plain(self, term: Term) -> bool:
        """Whether a term is made of constants and of one column of each relation, by what the kernels can do."""
        match term:
            case Constant(value=value):
                return value is None or _number(term, self.target) is not None
            case Variable(name=name):
                return self._is_claimed(name) and _is_kept(self.type_of(term), self.target)
            case Cast(term=inner, type=type_):
                return type_ == self.target and _is_kept(self.type_of(inner), type_) and self._is_plain(inner)
            case Call(arguments=(left, right)):
                return self._can_do(term) and self._is_plain(left) and self._is_plain(right)
        return False

    def _is_claimed(self, name: str) -> bool:
        """Whether the variable is the cost of an atom from below. The first that is asked for is."""
        place = _place_of(name, self.atoms)
        if place is None or self.atoms[place[0]].relation in self.own:
            return False
        at, position = place
        return self.claimed.setdefault(self.atoms[at].relation, position) == position


def _place_of(name: str, atoms: Sequence[Atom]) -> tuple[int, int] | None:
    """The first atom that holds a variable, and the variable's position there."""
    for at, atom in enumerate(atoms):
        for position, term in enumerate(atom.terms):
            if isinstance(term, Variable) and term.name == name:
                return at, position
    return None


def _number(constant: Constant, target: Type) -> float | None:
    """A constant as costs of this type are numbers; None for NULL, and where there is no such number exactly."""
    value = constant.value
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    if target == types.DOUBLE:
        return float(value)
    if isinstance(value, float):
        return None
    scaled = Decimal(value).scaleb(target.scale if isinstance(target, DecimalType) else 0)
    return int(scaled) if scaled == int(scaled) and abs(scaled) < 2**62 else None


def _same_unit(one: Type, other: Type) -> bool:
    return isinstance(one, DecimalType) and isinstance(other, DecimalType) and one.scale == other.scale


def _is_kept(source: Type, target: Type) -> bool:
    """Whether every value of a type is a cost of the target's type as it is."""
    if target == types.DOUBLE:
        return source in (types.DOUBLE, *_WHOLE)
    return source == target or (source == types.INT and target == types.BIGINT) or _same_unit(source, target)


def plan_value(
    flat: FlatRule, own: Collection[str], relations: Mapping[str, Relation], values: dict[str, ValueColumn]
) -> tuple[ValuePlan, set[str]]:
    """The plan, and the variables that stand for costs of the component. Columns of other costs become values."""
    place = flat.rule.aggregates[0]
    aggregate = flat.head[place]
    assert isinstance(aggregate, Aggregate) and aggregate.argument is not None
    target = relations[flat.rule.head.relation].columns[place].type
    atoms = [*flat.atoms, *flat.costs]
    hidden: set[str] = set()
    operations: list[tuple[int, float | None]] = []

    def push(term: Term) -> None:
        match term:
            case Constant():
                operations.append((layout.PUSH_CONSTANT, _number(term, target)))
            case Variable(name=name):
                found = _place_of(name, atoms)
                assert found is not None
                at, position = found
                relation = atoms[at].relation
                if relation in own:
                    hidden.add(name)
                else:
                    column = relations[relation].columns[position]
                    values.setdefault(relation, ValueColumn(position, column.type, nullable=column.nullable))
                operations.append((layout.PUSH_BEST, at))
            case Cast(term=inner):
                push(inner)
            case Call(function=function, arguments=(left, right)):
                push(left)
                push(right)
                operations.append((_OPERATIONS[function], 0))

    for guard in flat.guards:
        push(guard.left)
        push(guard.right)
        operations.append((guard.operation, 0))
    push(aggregate.argument)
    _only_as_costs(flat, place, hidden)
    return ValuePlan(tuple(operations)), hidden


def _only_as_costs(flat: FlatRule, place: int, costs: set[str]) -> None:
    """A cost of the component may stand in one body column and in the value, nowhere else."""
    others = [term for at, term in enumerate(flat.head) if at != place]
    if any(variable.name in costs for term in others for variable in variables(term)):
        raise NotCompiledError("a cost is a group as well")
    for name in costs:
        if sum(isinstance(t, Variable) and t.name == name for atom in flat.atoms for t in atom.terms) != 1:
            raise NotCompiledError("a cost is joined")
