"""Random recursions that compute along the steps of an acyclic graph, with numbers of every type."""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from whence.model.types import Row, Value

TYPES = ("INT", "BIGINT", "DOUBLE", "DECIMAL(10,2)", "DECIMAL(38,4)", "DECIMAL(5,0)")
NODES = 5
EDGES = 6
_FORMS = (
    *("{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} % {}", "-{}", "abs({})", "round({})", "round({}, 1)"),
    *("greatest({}, {})", "least({}, {})", "coalesce({}, {})"),
)
_LARGEST = {"INT": 2**31 - 1, "BIGINT": 2**63 - 1}


@dataclass(frozen=True)
class Recursion:
    """`t` starts from the rows of `seed`, and each of `step` makes another value from one."""

    seed_type: str
    step_type: str
    value: str
    seed: Sequence[Row]
    step: Sequence[Row]
    best: bool = False

    @property
    def tables(self) -> str:
        return (
            f"CREATE TABLE seed(n INT NOT NULL, x {self.seed_type});"
            f"CREATE TABLE step(a INT NOT NULL, b INT NOT NULL, w {self.step_type});"
        )

    def query(self, union: str = "UNION") -> str:
        value, groups = (f"min({self.value})", " GROUP BY s.b") if self.best else (self.value, "")
        return (
            f"WITH RECURSIVE t(n, x) AS (SELECT n, x FROM seed {union} "
            f"SELECT s.b, {value} FROM t JOIN step s ON t.n = s.a{groups}) SELECT DISTINCT n, x FROM t"
        )


def random_recursion(rng: Random, best: bool = False) -> Recursion:
    seed_type, step_type = rng.choice(TYPES), rng.choice(TYPES)
    seed = [(rng.randrange(2), random_number(rng, seed_type)) for _ in range(2)]
    ends = [sorted(rng.sample(range(NODES), 2)) for _ in range(EDGES)]
    step = [(a, b, random_number(rng, step_type)) for a, b in ends]
    value = _sum(rng) if best else _expression(rng, seed_type, 2)
    if rng.random() < 0.6:
        value = f"CAST({value} AS {seed_type})"
    return Recursion(seed_type, step_type, value, list(dict.fromkeys(seed)), list(dict.fromkeys(step)), best)


def random_number(rng: Random, kind: str) -> Value:
    if rng.random() < 0.1:
        return None
    if kind == "DOUBLE":
        return rng.choice((0.1, -2.5, 3.0, 1e15 + 0.5))
    if kind.startswith("DECIMAL"):
        precision, scale = map(int, kind[8:-1].split(","))
        digits = rng.choice((1, 2, precision // 2, precision))
        return decimal.Decimal(rng.randrange(-(10**digits) + 1, 10**digits)).scaleb(
            -scale, decimal.Context(prec=precision)
        )
    largest = _LARGEST[kind]
    return rng.choice((0, 1, -3, 7, 1000, largest // 3, largest // 2 + 1, largest - 1, -largest))


def _sum(rng: Random) -> str:
    return rng.choice(("t.x + s.w", "t.x + 1", "t.x + s.w + s.w", "s.w + t.x"))


def _expression(rng: Random, kind: str, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(("t.x", "t.x", "t.x", "s.w", "2", "1.5", "CAST(3 AS BIGINT)", "CAST(0.5 AS DOUBLE)"))
    inner = _expression(rng, kind, depth - 1)
    other = _expression(rng, kind, depth - 1)
    form = rng.choice((*_FORMS, f"CAST({{}} AS {kind})"))
    return "(" + form.format(inner, other) + ")"
