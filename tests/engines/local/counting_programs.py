"""Random non-recursive programs, and random changes to their base tables."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from operator import itemgetter
from random import Random

from whence.analysis.analyze import Analysis, analyze
from whence.errors import WhenceError
from whence.incremental.keyed import KeyedDelta, key_positions
from whence.lang.datalog.parse import parse_datalog
from whence.model.program import Program
from whence.model.schema import Column, Relation
from whence.model.types import Row, Value
from whence.model.updates import Delta

BASE = """
.decl a(x: INT nullable, y: INT)
.decl b(x: INT, y: DOUBLE nullable) bag
.decl c(x: DECIMAL(6,2), y: STRING nullable) bag
.decl d(x: BIGINT, y: DATE, z: DOUBLE)
.decl e(x: INT, y: INT, z: DOUBLE nullable) key(x)
.decl f(x: INT nullable, y: INT, z: STRING) key(z, y)
"""
VALUES: dict[str, Sequence[Value]] = {
    "INT": (0, 1, 2, 3),
    "BIGINT": (0, 1, 2, 2**53, 2**53 + 1),
    "DOUBLE": (0.0, 0.1, 0.5, 1.0, 2.0, 2.0**53),
    "DECIMAL(6,2)": (Decimal("0.50"), Decimal("1.00"), Decimal("2.00")),
    "STRING": ("a", "b", "ab"),
    "DATE": (datetime.date(2024, 1, 31), datetime.date(2024, 2, 1)),
}
CONSTANTS = ("0", "1", "2", "1.0", "0.5", '"a"', "null")
NAMES = ("p", "q", "r", "s")
AGGREGATES = (
    "count<*>",
    "count<{0}>",
    "sum<{0}>",
    "avg<{0}>",
    "min<{0}>",
    "max<{0}>",
    "count<distinct {0}>",
    "sum<distinct {0}>",
    "avg<distinct {0}>",
    "max<{0} + {0}>",
)


class Generator:
    """Rules over the base tables and the views made so far; many are wrong and refused by analysis."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.arities = {"a": 2, "b": 2, "c": 2, "d": 3, "e": 3, "f": 3}

    def program(self) -> Analysis:
        text = BASE
        analysis = analyze(parse_datalog(text))
        for number in range(self.chance.randint(1, 4)):
            while True:
                arity, rules = self.view(f"v{number}")
                try:
                    analysis = analyze(parse_datalog(text + rules))
                except WhenceError:
                    continue
                text += rules
                self.arities[f"v{number}"] = arity
                break
        relations = tuple(
            replace(relation, distinct=self.chance.random() < 0.5) if relation.name.startswith("v") else relation
            for relation in analysis.relations.values()
        )
        return analyze(Program(relations, analysis.program.rules))

    def view(self, name: str) -> tuple[int, str]:
        arity = self.chance.randint(1, 3)
        aggregates: dict[int, str] = {}
        if self.chance.random() < 0.4:
            positions = self.chance.sample(range(arity), self.chance.randint(1, arity))
            aggregates = {position: self.chance.choice(AGGREGATES) for position in positions}
        rules = ""
        for number in range(self.chance.choice((1, 1, 2, 3))):
            bound, body = self.body()
            head = [
                aggregates[position].format(self.chance.choice(bound)) if position in aggregates else self.term(bound)
                for position in range(arity)
            ]
            sign = "-" if number and self.chance.random() < 0.4 else ""
            rules += f"{sign}{name}({', '.join(head)}) :- {', '.join(body)}.\n"
        return arity, rules

    def body(self) -> tuple[list[str], list[str]]:
        atoms = [self.atom(self.column) for _ in range(self.chance.choice((1, 1, 2, 2, 3)))]
        bound = [name for name in NAMES if any(name in terms.split(", ") for _, terms in atoms)] or ["p"]
        literals = [f"{relation}({terms})" for relation, terms in atoms]
        if self.chance.random() < 0.3:
            bound.append("t")
            literals.append(f"t = {self.chance.choice(bound[:-1])} + 1")
        for _ in range(self.chance.choice((0, 0, 1, 2))):
            relation, terms = self.atom(lambda: self.chance.choice((*bound, *bound, "_", "0", "1", f"{bound[0]} + 1")))
            literals.append(f"!{relation}({terms})")
        for _ in range(self.chance.choice((0, 0, 1, 2))):
            left, right = self.chance.choice(bound), self.chance.choice((*bound, *CONSTANTS))
            literals.append(
                self.chance.choice(
                    (
                        f"{left} = {right}",
                        f"{left} <=> {right}",
                        f"{left} != {right}",
                        f"{left} < {right}",
                        f"isnotnull({left})",
                        f"({left} = {right} or {right} <= 1)",
                        f"{right} != 0, {left} / {right} > 0.5",
                    )
                )
            )
        self.chance.shuffle(literals)
        return bound, literals

    def atom(self, term: Callable[[], str]) -> tuple[str, str]:
        relation = self.chance.choice(list(self.arities))
        return relation, ", ".join(term() for _ in range(self.arities[relation]))

    def column(self) -> str:
        name = self.chance.choice(NAMES)
        return self.chance.choices((name, "_", self.chance.choice(CONSTANTS), f"{name} + 1"), (70, 15, 8, 7))[0]

    def term(self, bound: Sequence[str]) -> str:
        name = self.chance.choice(list(bound))
        return self.chance.choices((name, "1", f"{name} + 1"), (80, 8, 12))[0]


def random_value(chance: Random, column: Column) -> Value:
    if column.nullable and chance.random() < 0.25:
        return None
    return chance.choice(VALUES[str(column.type)])


def random_delta(chance: Random, relation: Relation, there: Mapping[Row, int]) -> Delta:
    if relation.key:
        return random_keyed_delta(chance, relation, there)
    delta: dict[Row, int] = {}
    for _ in range(chance.choice((1, 1, 2, 5))):
        if there and chance.random() < 0.5:
            row = chance.choice(list(there))
            delta[row] = -1 if chance.random() < 0.7 else -there[row]
        else:
            row = tuple(random_value(chance, column) for column in relation.columns)
            if not relation.distinct:
                delta[row] = chance.randint(1, 2)
            elif row not in there:
                delta[row] = 1
    return delta


def random_keyed_delta(chance: Random, relation: Relation, there: Mapping[Row, int]) -> Delta:
    """Rows come, go, and change in some columns; no key changes twice."""
    key = itemgetter(*(relation.column_names.index(name) for name in relation.key))
    holders = {key(row): row for row in there}
    taken = set()
    steps: list[tuple[Row, int]] = []
    for _ in range(chance.choice((1, 1, 2, 5))):
        row = tuple(random_value(chance, column) for column in relation.columns)
        if key(row) in taken:
            continue
        taken.add(key(row))
        holder = holders.get(key(row))
        if holder is None:
            steps.append((row, 1))
        elif chance.random() < 0.3:
            steps.append((holder, -1))
        else:
            changed = tuple(chance.choice(pair) for pair in zip(holder, row, strict=True))
            if changed != holder:
                steps += [(holder, -1), (changed, 1)]
    chance.shuffle(steps)
    # A session says what becomes of each key; others say which rows come and go.
    return keyed_delta(relation, dict(steps)) if chance.random() < 0.7 else dict(steps)


def keyed_delta(relation: Relation, delta: Delta) -> KeyedDelta:
    positions = key_positions(relation)
    key = itemgetter(*positions)
    gone = {key(row): row for row, change in delta.items() if change < 0}
    came = {key(row): row for row, change in delta.items() if change > 0}
    changed = [*dict.fromkeys(map(key, delta))]
    return KeyedDelta(positions, changed, list(map(gone.get, changed)), list(map(came.get, changed)))
