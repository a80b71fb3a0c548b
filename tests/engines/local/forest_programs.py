"""Random recursive programs of the shape that the compiled proof forest knows."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

# Columns that can be NULL, a bag, a set, one that is read for its order, and names beside numbers.
TABLES = """
CREATE TABLE e(a INT, b INT);
CREATE TABLE f(a INT NOT NULL, b INT NOT NULL);
CREATE TABLE d(a INT, day DATE, b INT);
CREATE TABLE s(name STRING, a INT);
CREATE TABLE w(a INT NOT NULL, b INT NOT NULL, cost INT NOT NULL);
CREATE TABLE start(a INT NOT NULL, cost INT NOT NULL)
"""
SETS = ".decl g(a: INT, b: BIGINT)"
INPUTS = {
    "e": ("INT", "INT"),
    "f": ("INT", "INT"),
    "d": ("INT", "DATE", "INT"),
    "s": ("STRING", "INT"),
    "g": ("INT", "INT"),
}
OWN: tuple[tuple[str, ...], ...] = (
    ("INT", "INT"),
    ("INT", "INT"),
    ("INT",),
    ("INT", "DATE", "INT"),
    ("STRING", "INT"),
    ("INT", "INT", "INT"),
)
KINDS = ("INT", "DATE", "STRING")
ORDERS = ("=", "!=", "!=", "<", "<=", ">", ">=")


@dataclass
class _Body:
    literals: list[str] = field(default_factory=list)
    bound: dict[str, list[str]] = field(default_factory=lambda: {kind: [] for kind in KINDS})


class PlainPrograms:
    def __init__(self, rng: Random, nodes: int) -> None:
        self.rng = rng
        self.nodes = nodes

    def program(self) -> tuple[str, dict[str, tuple[str, ...]]]:
        """Rules, and the kinds of the columns of the relations that they define."""
        own = {f"p{i}": self.rng.choice(OWN) for i in range(self.rng.choice((1, 1, 2, 3)))}
        rules = []
        for name in own:
            rules += [self.rule(name, own, 0) for _ in range(self.rng.choice((1, 1, 2)))]
            for _ in range(self.rng.choice((1, 1, 2, 3))):
                rules.append(self.rule(name, own, self.rng.choice((1, 1, 1, 2, 2, 3))))
        return "\n".join(rules), own

    def rule(self, head: str, own: dict[str, tuple[str, ...]], recursive: int) -> str:
        body = _Body()
        for _ in range(recursive):
            name = self.rng.choice([head, *own])
            self.add_atom(body, name, own[name])
        for _ in range(self.rng.choice((0, 1, 1, 2) if recursive else (1, 1, 2))):
            name = self.rng.choice(list(INPUTS))
            self.add_atom(body, name, INPUTS[name])
        for kind in dict.fromkeys(own[head]):
            if not body.bound[kind] and self.rng.random() < 0.8:
                name = self.rng.choice([name for name, kinds in INPUTS.items() if kind in kinds])
                self.add_atom(body, name, INPUTS[name])
        for _ in range(self.rng.choice((0, 0, 1, 1))):
            self.add_comparison(body)
        for _ in range(self.rng.choice((0, 0, 0, 0, 1, 1, 2))):
            self.add_negation(body)
        terms: list[str] = []
        for kind in own[head]:
            terms.append(self.head_term(body, kind, terms))
        return f"{head}({', '.join(terms)}) :- {', '.join(self.rng.sample(body.literals, len(body.literals)))}."

    def add_atom(self, body: _Body, name: str, kinds: tuple[str, ...]) -> None:
        terms = []
        joined = False
        for kind in kinds:
            bound = body.bound[kind]
            chance = self.rng.random()
            if chance < 0.1:
                terms.append("_")
            elif chance < 0.15:
                terms.append(self.constant(kind))
            elif bound and chance < (0.22 if joined else 0.75):
                terms.append(self.rng.choice(bound))
                joined = True
            elif bound and chance < (0.27 if joined else 0.8):
                terms.append(self.computed(body, kind))
            else:
                bound.append(f"{kind[0].lower()}{len(bound)}")
                terms.append(bound[-1])
        body.literals.append(f"{name}({', '.join(terms)})")

    def add_negation(self, body: _Body) -> None:
        """Of what is below, by any of its columns, or by none."""
        name = self.rng.choice(list(INPUTS))
        terms = []
        for kind in INPUTS[name]:
            chance, bound = self.rng.random(), body.bound[kind]
            if chance < 0.1 and bound:
                terms.append(self.computed(body, kind))
            elif chance < 0.7 and bound:
                terms.append(self.rng.choice(bound))
            else:
                terms.append("_" if chance < 0.9 else self.constant(kind))
        body.literals.append(f"!{name}({', '.join(terms)})")

    def add_comparison(self, body: _Body) -> None:
        kind = self.rng.choice([kind for kind, names in body.bound.items() if names] or [""])
        if not kind:
            return
        if self.rng.random() < 0.4:
            self.add_computation(body, kind)
            return
        operator = self.rng.choice(ORDERS[:3] if kind == "STRING" else ORDERS)
        left = self.rng.choice(body.bound[kind])
        right = self.rng.choice([name for name in (*body.bound[kind], self.constant(kind)) if name != left])
        body.literals.append(f"isnotnull({left})" if self.rng.random() < 0.1 else f"{left} {operator} {right}")

    def add_computation(self, body: _Body, kind: str) -> None:
        if kind == "INT" and self.rng.random() < 0.6:
            one, other, third = (self.rng.choice(body.bound[kind]) for _ in range(3))
            sum_ = self.rng.choice(
                (f"{one} + {other}", f"{one} - {other} + 2", f"{one} * 2", f"{one} + {other} - {third}")
            )
            sides = [sum_, self.rng.choice((other, third, "3"))]
            body.literals.append(f" {self.rng.choice(ORDERS)} ".join(self.rng.sample(sides, 2)))
        elif self.rng.random() < 0.3:
            body.literals.append(
                f"(isnull({self.rng.choice(body.bound[kind])}) or {self.constant(kind)} != {self.constant(kind)})"
            )
        else:
            body.literals.append(f"{kind[0].lower()}{len(body.bound[kind])} = {self.computed(body, kind)}")
            body.bound[kind].append(f"{kind[0].lower()}{len(body.bound[kind])}")

    def computed(self, body: _Body, kind: str) -> str:
        """A term over few values, so that recursion comes to an end."""
        one, other = self.rng.choice(body.bound[kind]), self.rng.choice(body.bound[kind])
        if kind == "INT":
            return self.rng.choice(
                (f"({one} + {other} + 1) % {self.nodes}", f"least({one}, {other})", f"coalesce({one}, 1)")
            )
        if kind == "STRING":
            return self.rng.choice((f"substr(cat({one}, {other}), 2, 1)", f'coalesce({one}, "b")'))
        return f"greatest({one}, {other})"

    def head_term(self, body: _Body, kind: str, before: list[str]) -> str:
        if not body.bound[kind] or self.rng.random() < 0.06:
            return self.constant(kind)
        if self.rng.random() < 0.07:
            return self.computed(body, kind)
        others = [name for name in body.bound[kind] if name not in before]
        return self.rng.choice(others if others and self.rng.random() < 0.9 else body.bound[kind])

    def constant(self, kind: str) -> str:
        if kind == "DATE":
            return f'DATE "2026-01-0{self.rng.randint(1, 3)}"'
        return f'"{self.rng.choice("ab")}"' if kind == "STRING" else str(self.rng.randrange(self.nodes))


# Least and greatest costs. {n} is a number.
COSTS = (
    "best(x, y, min<c>) :- w(x, y, c). best(x, y, min<c + d>) :- w(x, z, c), best(z, y, d).",
    "best(x, y, min<c>) :- w(x, y, c). best(x, y, min<d + c>) :- best(x, z, d), w(z, y, c), x != y.",
    "best(x, y, max<c>) :- w(x, y, c). best(x, y, max<least(c, d)>) :- w(x, z, c), best(z, y, d).",
    "best(x, y, min<c>) :- w(x, y, c). best(x, y, min<greatest(c, d)>) :- w(x, z, c), best(z, y, d).",
    "best(x, min<c>) :- start(x, c). best(y, min<d + {n}>) :- best(x, d), e(x, y).",
    "best(x, min<c>) :- start(x, c). best(y, min<d + c>) :- best(x, d), w(x, y, c), f(y, _).",
    "best(x, min<c>) :- start(x, c). best(y, min<d + c + h>) :- best(x, d), w(x, y, c), w(y, x, h).",
    "best(x, min<{n}>) :- f(x, _). best(y, min<d + 1>) :- best(x, d), f(x, y), x < 3. best(0, min<d>) :- best({n}, d).",
    "best({n}, x, min<c>) :- start(x, c). best(y, x, min<c + d>) :- best(x, y, d), w(x, y, c), c > {n}.",
    """best(x, min<c>) :- start(x, c). best(x, min<d>) :- other(x, d).
    other(y, min<d + c>) :- best(x, d), w(x, y, c). other(y, min<d + {n}>) :- best(y, d).""",
    """best(x, min<c>) :- start(x, c). best(y, min<d + c>) :- best(x, d), w(x, y, c), seen(x).
    seen({n}) :- f({n}, _). seen(y) :- seen(x), f(x, y).""",
    "best(x, max<c>) :- start(x, c). best(y, max<d - c>) :- best(x, d), w(x, y, c).",
    "best(x, min<c>) :- start(x, c). best(y, min<d + c>) :- best(x, d), w(x, y, c), start(y, c), (x + y) % 3 != {n}.",
    "best(x, min<c>) :- start(x, c). best((y + 1) % 5, min<d + c>) :- best(x, d), w(x, z, c), e(z, y), isnotnull(y).",
    "best(x, y, min<c>) :- w(x, y, c). best(x, y, min<c + d>) :- best(x, z, c), best(z, y, d).",
    """best(x, y, max<c>) :- w(x, y, c), !f(y, x).
    best(x, y, max<least(c, d)>) :- best(x, z, c), best(z, y, d), !e(z, _).""",
    "best(x, y, min<c>) :- w(x, y, c). best(x, y, min<c + d>) :- w(x, z, c), best(z, y, d), !f(z, {n}), !start(x, c).",
    """best(x, min<c>) :- start(x, c).
    best(y, min<c + d + {n}>) :- best(x, c), best(z, d), w(x, y, _), e(y, z), !f(x, z).
    best(y, min<d + c>) :- best(x, d), w(x, y, c), !e(x, y), d < 20.""",
    """best(x, min<c>) :- start(x, c). best(y, min<c + d>) :- other(x, c), best(z, d), f(x, y), f(y, z), x != z.
    other(y, min<d + c>) :- best(x, d), w(x, y, c), !e(y, _). other(x, min<c + d>) :- other(x, c), other(x, d).""",
    """best(x, y, min<c>) :- w(x, y, c). best(x, y, min<c + d>) :- w(x, z, c), best(z, y, d), x != y.
    via(x, y, min<y>) :- w(x, y, c), best(x, y, c).
    via(x, y, min<z>) :- w(x, z, c), best(z, y, d), best(x, y, c + d).
    path(x, y, cat(to_string(x), to_string(y))) :- via(x, y, y).
    path(x, y, cat(to_string(x), p)) :- via(x, y, z), z != y, path(z, y, p).""",
)
# The same where a value can be better than what it is made of, which few ways to maintain it can stand.
TEMPTING = (
    "best(x, min<c>) :- start(x, c). best(y, min<c>) :- w(x, y, c), best(x, _).",
    "best(x, min<c>) :- start(x, c). best(y, min<least(c, d)>) :- w(x, y, c), best(x, d).",
    "best(x, max<c>) :- start(x, c). best(y, max<c>) :- w(x, y, c), best(x, _), x != y.",
    "best(x, max<c>) :- start(x, c). best(y, max<c + d>) :- w(x, y, c), best(x, d), x < y.",
    "best(x, min<c>) :- start(x, c). best(y, min<d - c>) :- w(x, y, c), best(x, d), x < y.",
    "best(x, min<c>) :- start(x, c). best(y, min<{n}>) :- best(x, _), e(x, y).",
    "best(x, min<c>) :- start(x, c). best(y, min<c>) :- way(x, y), start(y, c). way(x, y) :- best(x, _), w(x, y, _).",
)
