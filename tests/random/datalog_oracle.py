"""What a Datalog program means, computed in the plainest way: every group again and again until nothing is new."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from tests.random.datalog_model import (
    Atom,
    Compare,
    Const,
    Count,
    DatalogProgram,
    Define,
    Fold,
    Group,
    Literal,
    Not,
    Rule,
    Sum,
    Term,
    Var,
)
from whence.model.types import Row, Value

Bag: TypeAlias = Mapping[Row, int]
Environment: TypeAlias = Mapping[str, Value]

_COMPARE: dict[str, Callable[..., bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[..., Value]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def contents(program: DatalogProgram) -> dict[str, Bag]:
    """Every relation's rows and how often each is there."""
    relations: dict[str, Bag] = {table.name: Counter(table.rows) for table in program.tables}
    for group in program.groups:
        relations.update({name: {} for name in group.relations})
        while True:
            found = {name: _relation(group, name, program, relations) for name in group.relations}
            settled = all(relations[name] == bag for name, bag in found.items())
            relations.update(found)
            if settled or not group.recursion:
                break
    return relations


def _relation(group: Group, name: str, program: DatalogProgram, relations: Mapping[str, Bag]) -> Bag:
    rules = [rule for rule in group.rules if rule.head.relation == name]
    if any(isinstance(term, Fold) for term in rules[0].head.terms):
        return _folded(rules, relations)
    rows: Counter[Row] = Counter()
    for rule in rules:
        for environment, count in _bindings(rule, relations):
            rows[tuple(_value(term, environment) for term in rule.head.terms)] += count
    return rows if name in program.bags else dict.fromkeys(rows, 1)


def _folded(rules: Sequence[Rule], relations: Mapping[str, Bag]) -> Bag:
    head = rules[0].head.terms
    groups: dict[Row, list[tuple[Row, int]]] = {}
    if all(isinstance(term, Fold) for term in head):
        groups[()] = []
    for rule in rules:
        terms = rule.head.terms
        for environment, count in _bindings(rule, relations):
            key = tuple(_value(term, environment) for term in terms if not isinstance(term, Fold))
            values = tuple(
                1 if term.argument is None else _value(term.argument, environment)
                for term in terms
                if isinstance(term, Fold)
            )
            groups.setdefault(key, []).append((values, count))
    folds = [term for term in head if isinstance(term, Fold)]
    rows = {}
    for key, members in groups.items():
        folded = iter(
            [_fold(fold, [v for values, n in members for v in [values[at]] * n]) for at, fold in enumerate(folds)]
        )
        plain = iter(key)
        rows[tuple(next(folded) if isinstance(term, Fold) else next(plain) for term in head)] = 1
    return rows


def _fold(fold: Fold, values: Sequence[Value]) -> Value:
    present: list[Any] = [value for value in values if value is not None]
    if fold.distinct:
        present = list(dict.fromkeys(present))
    match fold.function:
        case "count":
            return len(present)
        case "sum":
            return sum(present) if present else None
        case "avg":
            return sum(present) / len(present) if present else None
        case "min":
            return min(present, default=None)
    return max(present, default=None)


def _bindings(rule: Rule, relations: Mapping[str, Bag]) -> Iterator[tuple[Environment, int]]:
    return _extend(_ordered(rule.body), {}, 1, relations)


def _ordered(body: Sequence[Literal]) -> list[Literal]:
    """Atoms bind, definitions follow when they can, and the rest only asks."""
    ordered: list[Literal] = [part for part in body if isinstance(part, Atom)]
    known = {term.name for part in ordered if isinstance(part, Atom) for term in part.terms if isinstance(term, Var)}
    waiting = [part for part in body if isinstance(part, Define | Count)]
    while waiting:
        ready = next(part for part in waiting if _needs(part) <= known)
        waiting.remove(ready)
        known.add(ready.variable.name)
        ordered.append(ready)
    return ordered + [part for part in body if isinstance(part, Not | Compare)]


def _needs(part: Define | Count) -> set[str]:
    terms = part.atom.terms if isinstance(part, Count) else (part.term.left, part.term.right)
    return {term.name for term in terms if isinstance(term, Var)}


def _extend(
    body: Sequence[Literal], environment: Environment, count: int, relations: Mapping[str, Bag]
) -> Iterator[tuple[Environment, int]]:
    if not body:
        yield environment, count
        return
    first, rest = body[0], body[1:]
    match first:
        case Atom():
            for row, times in relations[first.relation].items():
                matched = _match(first, row, environment)
                if matched is not None:
                    yield from _extend(rest, matched, count * times, relations)
        case Define(variable, term):
            yield from _define(variable.name, _value(term, environment), rest, environment, count, relations)
        case Count(variable, atom):
            fitting = sum(
                n for row, n in relations[atom.relation].items() if _match(atom, row, environment) is not None
            )
            yield from _define(variable.name, fitting, rest, environment, count, relations)
        case Not(atom):
            if all(_match(atom, row, environment) is None for row in relations[atom.relation]):
                yield from _extend(rest, environment, count, relations)
        case Compare(op, left, right):
            a, b = _value(left, environment), _value(right, environment)
            if a is not None and b is not None and _COMPARE[op](a, b):
                yield from _extend(rest, environment, count, relations)


def _define(
    name: str, value: Value, rest: Sequence[Literal], environment: Environment, count: int, relations: Mapping[str, Bag]
) -> Iterator[tuple[Environment, int]]:
    """A variable that an atom has bound already is compared instead."""
    if name not in environment or (value is not None and environment[name] == value):
        yield from _extend(rest, {**environment, name: value}, count, relations)


def _match(atom: Atom, row: Row, environment: Environment) -> Environment | None:
    """The environment with what the row adds, or None. NULL is the same as NULL."""
    found = dict(environment)
    for term, value in zip(atom.terms, row, strict=True):
        match term:
            case Var(name):
                if name in found and found[name] != value:
                    return None
                found[name] = value
            case Const(constant) if constant != value:
                return None
    return found


def _value(term: Term, environment: Environment) -> Value:
    match term:
        case Var(name):
            return environment[name]
        case Const(value):
            return value
        case Sum(op, left, right):
            a, b = _value(left, environment), _value(right, environment)
            return None if a is None or b is None else _ARITHMETIC[op](a, b)
    raise AssertionError(term)
