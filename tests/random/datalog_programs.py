"""Random Datalog programs: joins, unions, negation, comparisons, aggregates and every kind of recursion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from tests.random import datalog_model as model
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
from tests.random.tables import Column, Table, random_rows
from whence.model.types import Value

KINDS = ("INT", "INT", "STRING", "DOUBLE")
RECURSIONS = ("", "", "", "", "linear", "linear", "nonlinear", "mutual", "best")
CONSTANTS: dict[str, tuple[Value, ...]] = {"INT": (-1, 0, 1, 2, 3), "STRING": ("a", "b", "ab", "")}
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")


def random_datalog(seed: int) -> DatalogProgram:
    builder = _Builder(Random(seed))
    tables = [builder.table(f"e{number}") for number in range(builder.rng.randint(2, 3))]
    groups = [builder.group(number) for number in range(builder.rng.randint(1, 4))]
    return DatalogProgram(
        seed, tables, groups, dict(builder.kinds), frozenset(builder.bags), frozenset(builder.declared)
    )


@dataclass
class _Body:
    """A body under way: what is bound, and to which kind."""

    literals: list[Literal] = field(default_factory=list)
    bound: dict[str, str] = field(default_factory=dict)

    def of(self, *kinds: str) -> list[Var]:
        return [Var(name) for name, kind in self.bound.items() if kind in kinds]


@dataclass
class _Builder:
    rng: Random
    kinds: dict[str, tuple[str, ...]] = field(default_factory=dict)
    bags: set[str] = field(default_factory=set)
    declared: set[str] = field(default_factory=set)

    def table(self, name: str) -> Table:
        kinds = tuple(self.rng.choice(KINDS) for _ in range(self.rng.randint(1, 3)))
        if name == "e0":
            # Something to walk along.
            kinds = ("INT", "INT", *kinds[:1])
        columns = tuple(Column(f"c{at}", kind, self.rng.random() < 0.4) for at, kind in enumerate(kinds))
        self.kinds[name] = kinds
        empty = Table(name, columns, (), ())
        rows = random_rows(self.rng, empty, self.rng.choice((0, 2, 4, 6, 8)))
        if self.rng.random() < 0.3:
            self.bags.add(name)
        else:
            rows = tuple(dict.fromkeys(rows))
        return Table(name, columns, (), rows)

    # Groups of relations

    def group(self, number: int) -> Group:
        recursion = self.rng.choice(RECURSIONS)
        below = list(self.kinds)
        names = [f"p{number}", f"q{number}"] if recursion == "mutual" else [f"p{number}"]
        kinds = tuple(self.rng.choice(("INT", "INT", "STRING")) for _ in range(self.rng.randint(1, 2)))
        if recursion == "best":
            return self.best(names[0])
        if not recursion and self.rng.random() < 0.4:
            return self.folded(names[0], below)
        rules = [self.rule(names[0], kinds, below) for _ in range(self.rng.randint(1, 2))]
        if recursion == "mutual":
            # Without a rule of its own one of the two would have no types.
            rules.append(self.rule(names[1], kinds, below))
        for name in names:
            self.kinds[name] = kinds
        if recursion:
            for name in names:
                other = names[-1] if name == names[0] else names[0]
                for _ in range(self.rng.randint(1, 2)):
                    recursive = [other, self.rng.choice(names)] if recursion == "nonlinear" else [other]
                    rules.append(self.rule(name, kinds, below, recursive))
        elif self.rng.random() < 0.15:
            self.bags.add(names[0])
        if self.rng.random() < 0.2 and not self.bags & set(names):
            self.declared.update(names)
        return Group(tuple(names), tuple(rules), recursion)

    def rule(self, head: str, kinds: Sequence[str], below: Sequence[str], recursive: Sequence[str] = ()) -> Rule:
        if not recursive and self.rng.random() < 0.08 and "DOUBLE" not in kinds:
            return Rule(Atom(head, tuple(Const(self.rng.choice(CONSTANTS[kind])) for kind in kinds)), ())
        body = self.body(below, recursive)
        return Rule(Atom(head, tuple(self.head_term(body, kind) for kind in kinds)), self.shuffled(body))

    def head_term(self, body: _Body, kind: str) -> Term:
        bound = body.of(kind)
        if bound and self.rng.random() < 0.95:
            return self.rng.choice(bound)
        return Const(self.rng.choice(CONSTANTS[kind]))

    def folded(self, name: str, below: Sequence[str]) -> Group:
        """Aggregates over the bodies of one or two rules."""
        groups = tuple(self.rng.choice(("INT", "STRING")) for _ in range(self.rng.choice((0, 1, 1, 2))))
        functions = [
            self.rng.choice(("count", "star", "sum", "avg", "min", "max")) for _ in range(self.rng.choice((1, 1, 2)))
        ]
        of = [
            self.rng.choice(("INT", "INT", "STRING") if f in ("min", "max", "count") else ("INT",)) for f in functions
        ]
        distinct = [self.rng.random() < 0.2 for _ in functions]
        rules = []
        for _ in range(self.rng.choice((1, 1, 2))):
            body = self.body(below)
            for kind in dict.fromkeys((*of, *groups)):
                if not body.of(kind):
                    self.add_atom(body, self.rng.choice([n for n in below if kind in self.kinds[n]] or below))
            if not all(body.of(kind) for kind in (*of, *groups)):
                continue
            folds: list[Term] = [
                Fold("count", None) if f == "star" else Fold(f, self.rng.choice(body.of(kind)), d)
                for f, kind, d in zip(functions, of, distinct, strict=True)
            ]
            rules.append(
                Rule(Atom(name, (*(self.rng.choice(body.of(k)) for k in groups), *folds)), self.shuffled(body))
            )
        if not rules:
            body = self.body(below)
            groups, functions, of = (), ["star"], ["INT"]
            rules = [Rule(Atom(name, (Fold("count", None),)), self.shuffled(body))]
        results = {"count": "INT", "star": "INT", "sum": "INT", "avg": "DOUBLE"}
        self.kinds[name] = (*groups, *(results.get(f, kind) for f, kind in zip(functions, of, strict=True)))
        return Group((name,), tuple(rules))

    def best(self, name: str) -> Group:
        """min and max in recursion: the cheapest way along e0, or the largest value that can be reached."""
        x, y, z, c, w = (Var(n) for n in "xyzcw")
        rest = tuple(model.Any() for _ in self.kinds["e0"][2:])
        link, onward = Atom("e0", (x, y, *rest)), Atom("e0", (y, z, *rest))
        self.kinds[name] = ("INT", "INT", "INT")
        if self.rng.random() < 0.5:
            first = Rule(Atom(name, (x, y, Fold("min", w))), (link, Define(w, Sum("+", y, Const(3)))))
            longer = Sum("+", c, Const(self.rng.choice((1, 2))))
            second = Rule(Atom(name, (x, z, Fold("min", longer))), (Atom(name, (x, y, c)), onward))
        else:
            function = self.rng.choice(("min", "max"))
            first = Rule(Atom(name, (x, y, Fold(function, y))), (link,))
            second = Rule(Atom(name, (x, z, Fold(function, c))), (Atom(name, (x, y, c)), onward, Compare("!=", x, z)))
        return Group((name,), (first, second), "best")

    # Bodies

    def body(self, below: Sequence[str], recursive: Sequence[str] = ()) -> _Body:
        body = _Body()
        for relation in recursive:
            self.add_atom(body, relation)
        for _ in range(self.rng.choice((0, 1, 1, 2) if recursive else (1, 1, 2, 2, 3))):
            self.add_atom(body, self.rng.choice(below))
        if self.rng.random() < 0.3:
            self.add_comparison(body)
        if self.rng.random() < 0.25:
            self.add_negation(body, self.rng.choice(below))
        if not recursive and self.rng.random() < 0.15 and body.of("INT"):
            fresh = Var(f"v{len(body.bound)}")
            operator = self.rng.choice("+-*")
            # A factor is a constant, so that no product of products leaves its type's range.
            operands: list[Var | Const] = [Const(2)] if operator == "*" else [Const(2), *body.of("INT")]
            body.literals.append(
                Define(fresh, Sum(operator, self.rng.choice(body.of("INT")), self.rng.choice(operands)))
            )
            body.bound[fresh.name] = "INT"
        if not recursive and self.rng.random() < 0.08:
            self.add_count(body, self.rng.choice(below))
        return body

    def add_atom(self, body: _Body, relation: str) -> None:
        terms: list[Term] = []
        fresh: dict[str, str] = {}
        for kind in self.kinds[relation]:
            chance = self.rng.random()
            known = [*body.of(kind), *(Var(n) for n, k in fresh.items() if k == kind and self.rng.random() < 0.2)]
            if known and chance < 0.4:
                terms.append(self.rng.choice(known))
            elif chance < 0.5:
                terms.append(model.Any())
            elif chance < 0.56 and kind in CONSTANTS:
                terms.append(Const(self.rng.choice(CONSTANTS[kind])))
            else:
                name = f"v{len(body.bound) + len(fresh)}"
                fresh[name] = kind
                terms.append(Var(name))
        body.bound.update(fresh)
        body.literals.append(Atom(relation, tuple(terms)))

    def add_comparison(self, body: _Body) -> None:
        left = self.rng.choice(body.of("INT", "STRING") or [None])
        if left is None:
            return
        kind = body.bound[left.name]
        others: list[Var | Const] = [Const(self.rng.choice(CONSTANTS[kind])), *body.of(kind)]
        body.literals.append(Compare(self.rng.choice(COMPARISONS), left, self.rng.choice(others)))

    def closed(self, body: _Body, relation: str) -> Atom:
        """An atom that binds nothing new."""
        terms: list[Term] = []
        for kind in self.kinds[relation]:
            known = body.of(kind)
            terms.append(self.rng.choice(known) if known and self.rng.random() < 0.7 else model.Any())
        return Atom(relation, tuple(terms))

    def add_negation(self, body: _Body, relation: str) -> None:
        body.literals.append(Not(self.closed(body, relation)))

    def add_count(self, body: _Body, relation: str) -> None:
        fresh = Var(f"v{len(body.bound)}")
        body.literals.append(Count(fresh, self.closed(body, relation)))
        body.bound[fresh.name] = "INT"

    def shuffled(self, body: _Body) -> tuple[Literal, ...]:
        """A body's order means nothing."""
        return tuple(self.rng.sample(body.literals, len(body.literals)))
