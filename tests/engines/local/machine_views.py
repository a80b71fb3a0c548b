"""Views to define in the middle of everything: random ones, in SQL and rules, over the tables and views there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from whence.model.schema import Relation
from whence.model.types import BIGINT, DATE, DOUBLE, INT, STRING

TABLES = """
CREATE TABLE link(src INT, dst INT, cost INT);
CREATE TABLE edge(src INT NOT NULL, dst INT NOT NULL);
CREATE TABLE weight(src INT NOT NULL, dst INT NOT NULL, cost INT NOT NULL);
CREATE TABLE owner(node INT PRIMARY KEY, who STRING, since DATE);
CREATE TABLE reading(node INT, value DOUBLE);
CREATE TABLE beat(node INT) TBLPROPERTIES ('ttl' = '2 minutes');
CREATE TABLE lease(node INT PRIMARY KEY, other INT) TBLPROPERTIES ('ttl' = '4 minutes');
CREATE TABLE sighting(node INT, minute TIMESTAMP) TBLPROPERTIES ('ttl' = '3 minutes', 'ttl_column' = 'minute')
"""
SETS = ".decl seen(a: INT, b: INT)\n.decl blocked(a: INT)\n.decl on()"
WHOLE = (INT, BIGINT)
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")

# Binary recursion over `e`, two columns of nodes; {n} is a number.
RECURSIONS = (
    "{v}(x, y) :- {e}. {v}(x, y) :- {v}(x, z), {f}.",
    "{v}(x, y) :- {e}. {v}(x, y) :- {f2}, {v}(z, y).",
    "{v}(x, y) :- {e}. {v}(x, y) :- {v}(x, z), {v}(z, y).",
    "{v}(x, y) :- {e}. {v}(x, y) :- {v}(x, z), {v}(z, y), x != y. {v}(y, x) :- {v}(x, y), x < {n}.",
    "{v}(x, y) :- {e}. {w}(x, y) :- {v}(x, z), {f}. {v}(x, y) :- {w}(x, z), {f}.",
    "{v}(x) :- {e}, y = {n}. {w}(y) :- {v}(x), {e}. {v}(y) :- {w}(x), {e}, !blocked(y).",
    "{v}(x, y) :- {e}, !blocked(x). {v}(x, y) :- {v}(x, z), {f}, !blocked(z).",
    "{v}(x, y) :- {e}. {v}((x + {n}) % 4, y) :- {v}(x, z), {f}.",
    "{v}(x, y) :- {e}. {v}(twist(x), y) :- {v}(x, y), on().",
    "{v}(x, y) :- {e}. {v}(x, y) :- {v}(x, z), {f}, 4 / (x - y + 6) != 1.",
    "{v}(x, y) :- {e}. {v}(x, y) :- {v}(x, z), {v}(z, y), 4 / (x + y - 7) != 1.",
    "{v}(x, x) :- {e}. {v}(x, y) :- {f3}, {v}(z, w), {f2}.",
    "{v}(x) :- {e}, x = {n}. {v}(y) :- {v}(x), {e}. {w}(x) :- {e}, !{v}(x). {w}(y) :- {w}(x), {e}.",
    "{v}() :- on(). {v}() :- {v}(), {e}. {w}(x) :- {e}, {v}(). {w}(y) :- {w}(x), {e}.",
    "{v}(x, y, {n}) :- {e}. {v}(x, y, c) :- {v}(x, z, c), {f}, c != z. {v}(x, y, x) :- {v}(x, y, _), y > {n}.",
    "{v}(x, y, min<c>) :- weight(x, y, c). {v}(x, y, min<c + d>) :- weight(x, z, c), {v}(z, y, d).",
    "{v}(x, y, min<c>) :- link(x, y, c). {v}(x, y, min<c + d>) :- link(x, z, c), {v}(z, y, d).",
    "{v}(x, y, max<c>) :- weight(x, y, c). {v}(x, y, max<least(c, d)>) :- weight(x, z, c), {v}(z, y, d).",
    "{v}(x, y, max<c>) :- weight(x, y, c). {v}(x, y, max<least(c, d)>) :- {v}(x, z, c), {v}(z, y, d).",
    "{v}(x, y, min<c>) :- weight(x, y, c). {v}(x, y, min<c + d>) :- {v}(x, z, c), {v}(z, y, d).",
    "{v}(x, y, min<c>) :- weight(x, y, c), c < {n}. {v}(x, y, min<d + {n}>) :- {f2}, {v}(z, y, d).",
    """{v}(x, y, min<c>, max<c>) :- weight(x, y, c).
    {v}(x, y, min<greatest(c, d)>, max<least(c, m)>) :- weight(x, z, c), {v}(z, y, d, m).""",
    """{v}(x, y, min<c>, max<c>) :- link(x, y, c).
    {v}(x, y, min<d>, max<m>) :- link(x, z, _), {v}(z, y, d, m).""",
    "{v}(x, min<0>) :- {e}, x = {n}. {v}(y, min<d + 1>) :- {v}(x, d), {e}. {w}(x, y) :- {v}(x, c), {e}, {v}(y, c + 1).",
    """{v}(x, min<c>) :- weight(x, _, c). {v}(y, min<c>) :- {w}(x, y), {v}(x, c).
    {w}(x, y) :- {e}. {w}(x, y) :- {w}(x, z), {f}.""",
)


class ViewMaker:
    def __init__(self, rng: Random, relations: Mapping[str, Relation], tables: frozenset[str]) -> None:
        self.rng = rng
        self.relations = {name: r for name, r in relations.items() if self.ints(r)}
        self.tables = [name for name in self.relations if name in tables]

    # What there is

    @staticmethod
    def ints(relation: Relation) -> list[str]:
        return [column.name for column in relation.columns if column.type in WHOLE]

    def relation(self) -> Relation:
        """Tables more often than views, so that joins of joins do not grow without bounds."""
        names = self.tables if self.rng.random() < 0.6 else list(self.relations)
        return self.relations[self.rng.choice(names)]

    def table(self) -> Relation:
        return self.relations[self.rng.choice(self.tables)]

    def column(self, alias: str, relation: Relation) -> str:
        return f"{alias}.{self.rng.choice(self.ints(relation))}"

    def number(self) -> int:
        return self.rng.randrange(4)

    def comparison(self, *operands: str) -> str:
        left, right = self.rng.choice(operands), self.rng.choice((*operands, str(self.number())))
        return f"{left} {self.rng.choice(COMPARISONS)} {right}"

    # SQL

    def select(self) -> str:
        kinds: tuple[Callable[[], str], ...] = (
            self.plain,
            self.join,
            self.join,
            self.outer_join,
            self.outer_join,
            self.absent,
            self.grouped,
            self.grouped,
            self.total,
            self.combined,
            self.computed,
            self.recursive,
        )
        return self.rng.choice(kinds)()

    def plain(self) -> str:
        r = self.relation()
        a, b = self.column("r", r), self.column("r", r)
        distinct = self.rng.choice(("", "DISTINCT "))
        return f"SELECT {distinct}{a} AS c0, {b} AS c1 FROM {r.name} r WHERE {self.comparison(a, b)}"

    def join(self) -> str:
        r, s = self.relation(), self.table()
        on = f"{self.column('r', r)} = {self.column('s', s)}"
        a, b = self.column("r", r), self.column("s", s)
        where = self.rng.choice(("", f" WHERE {self.comparison(a, b)}"))
        extra = self.rng.choice(("", f", edge e WHERE e.src = {a}" if not where else ""))
        return f"SELECT {a} AS c0, {b} AS c1 FROM {r.name} r JOIN {s.name} s ON {on}{where}{extra}"

    def outer_join(self) -> str:
        r, s = self.relation(), self.table()
        kind = self.rng.choice(("LEFT", "RIGHT", "FULL"))
        on = f"{self.column('r', r)} = {self.column('s', s)}"
        if self.rng.random() < 0.3:
            on += f" AND {self.comparison(self.column('r', r), self.column('s', s))}"
        a, b = self.column("r", r), self.column("s", s)
        return f"SELECT {a} AS c0, {b} AS c1 FROM {r.name} r {kind} JOIN {s.name} s ON {on}"

    def absent(self) -> str:
        r, s = self.relation(), self.relation()
        a, b = self.column("r", r), self.column("s", s)
        condition = self.rng.choice(
            (
                f"NOT EXISTS (SELECT 1 FROM {s.name} s WHERE {b} = {a})",
                f"EXISTS (SELECT 1 FROM {s.name} s WHERE {b} = {a} AND {self.comparison(b)})",
                f"{a} IN (SELECT {b} FROM {s.name} s)",
                f"{a} NOT IN (SELECT {b} FROM {s.name} s WHERE {b} IS NOT NULL)",
                f"{a} NOT IN (SELECT {b} FROM {s.name} s)",
                f"{a} < (SELECT max({b}) FROM {s.name} s)",
                f"{a} = (SELECT count(*) FROM {s.name} s WHERE {b} = {a})",
            )
        )
        return f"SELECT {a} AS c0, {self.column('r', r)} AS c1 FROM {r.name} r WHERE {condition}"

    def aggregate(self, relation: Relation) -> str:
        a = self.column("r", relation)
        choices = ["count(*)", f"count({a})", f"sum({a})", f"min({a})", f"max({a})", f"count(DISTINCT {a})"]
        choices += [f"avg({a})", f"sum(DISTINCT {a})", f"max({a} + 1)"]
        for column in relation.columns:
            if column.type == DOUBLE:
                choices += [f"sum(r.{column.name})", f"avg(r.{column.name})", f"min(r.{column.name})"]
            if column.type in (STRING, DATE):
                choices += [f"max(r.{column.name})", f"count(DISTINCT r.{column.name})"]
        return self.rng.choice(choices)

    def grouped(self) -> str:
        r = self.relation()
        a = self.column("r", r)
        having = self.rng.choice(("", "", " HAVING count(*) > 1"))
        folds = f"{self.aggregate(r)} AS c1, {self.aggregate(r)} AS c2"
        return f"SELECT {a} AS c0, {folds} FROM {r.name} r GROUP BY {a}{having}"

    def total(self) -> str:
        r = self.relation()
        return f"SELECT {self.aggregate(r)} AS c0, {self.aggregate(r)} AS c1 FROM {r.name} r"

    def combined(self) -> str:
        r, s = self.relation(), self.relation()
        operator = self.rng.choice(("UNION ALL", "UNION ALL", "UNION", "EXCEPT", "INTERSECT", "EXCEPT ALL"))
        left = f"SELECT {self.column('r', r)} AS c0, {self.column('r', r)} AS c1 FROM {r.name} r"
        return f"{left} {operator} SELECT {self.column('s', s)}, {self.column('s', s)} FROM {s.name} s"

    def computed(self) -> str:
        """What fails for some rows: those with 7 to 9 in them."""
        r, s = self.relation(), self.table()
        a = self.column("r", r)
        if self.rng.random() < 0.3:
            b = self.column("s", s)
            return f"SELECT 1 div ({a} + {b} - 9) AS c0, {a} AS c1 FROM {r.name} r JOIN {s.name} s ON {a} != {b}"
        term = self.rng.choice((f"picky({a})", f"picky({a})", f"1 div ({a} - 8)", f"CAST({a} AS INT) * 300000000"))
        return f"SELECT {a} AS c0, {term} AS c1 FROM {r.name} r"

    def recursive(self) -> str:
        r, s = self.table(), self.table()
        a, b, c, d = self.column("r", r), self.column("r", r), self.column("s", s), self.column("s", s)
        return (
            f"WITH RECURSIVE w(a, b) AS (SELECT {a}, {b} FROM {r.name} r UNION "
            f"SELECT w.a, {d} FROM w JOIN {s.name} s ON w.b = {c}) SELECT a AS c0, b AS c1 FROM w"
        )

    # Rules

    def rules(self, name: str) -> str:
        text = self.rng.choice(RECURSIONS)
        r, s = self.binary(), self.binary()
        parts = {
            "e": self.atom(r, "x", "y"),
            "f": self.atom(s, "z", "y"),
            "f2": self.atom(s, "x", "z"),
            "f3": self.atom(r, "y", "w"),
        }
        return text.format(v=name, w=f"{name}b", n=self.number(), **parts)

    def binary(self) -> Relation:
        return self.rng.choice([self.relations[name] for name in ("link", "edge", "weight", "seen", "lease")])

    def atom(self, relation: Relation, first: str, second: str) -> str:
        return f"{relation.name}({', '.join([first, second, '_'][: relation.arity])})"
