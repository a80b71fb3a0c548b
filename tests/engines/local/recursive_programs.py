"""Random recursive components: linear, non-linear and mutual, with negation, conditions, functions, min and max."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tests.engines.local.recursive_driver import analysis_of
from whence.analysis.analyze import Analysis
from whence.errors import StratificationError, UnsafeRuleError
from whence.model.program import Function, Signature
from whence.model.types import INT, Row
from whence.model.updates import Delta

TABLES = {"link": 3, "edge": 2, "down": 1, "seen": 2}
DECLARATIONS = """
.decl link(x: number, y: number, c: number)
.decl edge(x: number, y: number)
.decl down(x: number)
.decl seen(x: number, y: number)
"""
FUNCTIONS = {"twist": Function(Signature("twist", INT), lambda x: None if x is None else (x * 3 + 1) % 5)}
NODES = 5


@dataclass
class Body:
    literals: list[str] = field(default_factory=list)
    # Variables that hold nodes, those that hold numbers from below, and those that hold a min or max.
    nodes: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    moving: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Head:
    """A relation of the component: two nodes, and perhaps values: aggregated, or just passed on."""

    name: str
    functions: tuple[str, ...] = ()
    values: int = 0


class Generator:
    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.fresh = 0

    def program(self) -> str:
        rng = self.rng
        shape = rng.choice(("plain", "plain", "mutual", "best", "best", "multi", "mixed", "both"))
        heads = {
            "plain": [Head("p")],
            "mutual": [Head("p"), Head("q")],
            "best": [self.best("b", 1)],
            "multi": [self.best("b", 2)],
            "mixed": [self.best("b", 1), Head("path", (), 1)],
            "both": [Head("p"), self.best("b", rng.choice((1, 2)))],
        }[shape]
        rules = []
        for head in heads:
            for _ in range(rng.choice((1, 1, 2))):
                rules += [self.rule(head, [])]
            for other in heads:
                if other is head and shape == "mixed":
                    continue
                for _ in range(rng.choice((1, 1, 2))):
                    own = [other] if rng.random() < 0.6 else [other, rng.choice(heads)]
                    rules.append(self.rule(head, own))
        if rng.random() < 0.15 and shape in ("plain", "mutual"):
            rules.append(f"p({rng.randrange(NODES)}, {rng.randrange(NODES)}).")
        return DECLARATIONS + "\n".join(rules)

    def best(self, name: str, aggregates: int) -> Head:
        return Head(name, tuple(self.rng.choice(("min", "min", "max")) for _ in range(aggregates)), aggregates)

    def variable(self) -> str:
        self.fresh += 1
        return f"v{self.fresh}"

    def nodes(self, body: Body) -> str:
        """Two columns of nodes, as a rule joined to what is there by one of them."""
        chance = self.rng.random()
        if not body.nodes or chance < 0.05:
            terms = [self.node(body), self.node(body)]
        elif chance < 0.15:
            terms = [self.rng.choice(body.nodes), self.rng.choice(body.nodes)]
        else:
            terms = [self.rng.choice(body.nodes), self.node(body)]
            self.rng.shuffle(terms)
        return ", ".join(terms)

    def node(self, body: Body) -> str:
        if self.rng.random() < 0.05:
            return str(self.rng.randrange(NODES))
        name = self.variable()
        body.nodes.append(name)
        return name

    def rule(self, head: Head, own: list[Head]) -> str:
        rng, body = self.rng, Body()
        for other in own:
            values = [self.variable() for _ in range(other.values)]
            body.literals.append(f"{other.name}({', '.join([self.nodes(body), *values])})")
            body.moving += values
        for _ in range(rng.choice((1, 1, 2)) if not own or rng.random() < 0.8 else 0):
            if rng.random() < 0.6:
                number = rng.choice(("_", self.variable()))
                body.literals.append(f"link({self.nodes(body)}, {number})")
                if number != "_":
                    body.numbers.append(number)
            else:
                body.literals.append(f"{rng.choice(('edge', 'seen'))}({self.nodes(body)})")
        self.filters(body)
        terms = [self.head_node(body), self.head_node(body)]
        terms += [f"{function}<{self.value(function, body)}>" for function in head.functions]
        if not head.functions:
            terms += [self.value("min", body) for _ in range(head.values)]
        rng.shuffle(body.literals)
        return f"{head.name}({', '.join(terms)}) :- {', '.join(body.literals)}."

    def filters(self, body: Body) -> None:
        rng = self.rng
        if body.nodes and rng.random() < 0.3:
            node = rng.choice(body.nodes)
            body.literals.append(
                rng.choice((f"!down({node})", f"!seen({node}, _)", f"!edge({rng.choice(body.nodes)}, {node})"))
            )
        if body.nodes and rng.random() < 0.2:
            node = rng.choice(body.nodes)
            body.literals.append(rng.choice((f"{node} != {rng.choice(body.nodes)}", f"{node} < 4", f"{node} >= 1")))
        if body.moving and rng.random() < 0.2:
            body.literals.append(f"{rng.choice(body.moving)} {rng.choice(('<', '>'))} {rng.randrange(2, 9)}")

    def head_node(self, body: Body) -> str:
        rng = self.rng
        if not body.nodes or rng.random() < 0.05:
            return str(rng.randrange(NODES))
        node = rng.choice(body.nodes)
        chance = rng.random()
        if chance < 0.05:
            return f"twist({node})"
        if chance < 0.1:
            return f"({node} + 1) % {NODES}"
        if chance < 0.15:
            name = self.variable()
            body.literals.append(f"{name} = ({node} * 2) % {NODES}")
            return name
        return node

    def value(self, function: str, body: Body) -> str:
        rng = self.rng
        number = rng.choice([*body.numbers, "1", "0", "2"])
        if not body.moving:
            return number
        moving = rng.choice(body.moving)
        if len(body.moving) > 1 and rng.random() < 0.4:
            return rng.choice((f"{body.moving[0]} + {body.moving[1]}", f"least({body.moving[0]}, {body.moving[1]})"))
        if function == "min":
            return rng.choice((f"{moving} + {number}", f"{moving} + {number}", moving, f"greatest({moving}, {number})"))
        return rng.choice((f"least({moving}, {number})", moving, f"{moving} - {number}", f"least({moving} + 1, 8)"))


def random_program(seed: int) -> tuple[str, Analysis]:
    """A program with a recursive component that analysis accepts."""
    rng = Random(seed)
    while True:
        text = Generator(rng).program()
        try:
            analysis = analysis_of(text, FUNCTIONS)
        except (StratificationError, UnsafeRuleError):
            continue
        if any(component.recursive for component in analysis.components):
            return text, analysis


def random_update(rng: Random, base: dict[str, dict[Row, int]], most: int, size: int) -> dict[str, Delta]:
    """Rows that come and go, in several tables at once, which have about half of `size` rows each."""
    update: dict[str, Delta] = {}
    for name, arity in TABLES.items():
        rows = base.get(name, {})
        delta: dict[Row, int] = {}
        for _ in range(rng.choice((0, 1, 1, 2, most)) if arity > 1 else rng.choice((0, 0, 1))):
            if rows and rng.random() < len(rows) / size:
                delta[rng.choice(sorted(rows))] = -1
            else:
                row = tuple(rng.randrange(NODES) for _ in range(arity))
                if row not in rows:
                    delta[row] = 1
        if delta:
            update[name] = delta
    return update
