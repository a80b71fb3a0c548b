"""min and max over costs that may be NULL, in the compiled forest: against the reference engine after every commit.

`WHENCE_COST_CASES` is how many random cases are played; each is a program, its tables, and a sequence of commits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest

import whence
from tests.explain.proofs.helpers import check, exactly
from whence.database.database import Database
from whence.errors import WhenceError
from whence.model.types import Row, Value

CASES = int(os.environ.get("WHENCE_COST_CASES", "60"))
NULLS = (0.0, 0.1, 0.5, 0.9, 1.0)
KINDS: Mapping[str, Callable[[Random], Value]] = {
    "INT": lambda rng: rng.randrange(9),
    "BIGINT": lambda rng: rng.choice((0, 1, 2, 3, 5, 2**40)),
    "DOUBLE": lambda rng: rng.randrange(9) / 4,
    "DECIMAL(9,2)": lambda rng: Decimal(rng.randrange(900)).scaleb(-2),
}

# {k} is a small number, {s} a sum of c and d.
PROGRAMS = (
    "best(x, y, min<c>) :- w(x, y, c). best(x, y, min<{s}>) :- w(x, z, c), best(z, y, d).",
    "best(x, y, min<c>) :- w(x, y, c). best(x, y, min<{s}>) :- best(x, z, d), w(z, y, c), x != y.",
    "best(x, y, max<c>) :- w(x, y, c). best(x, y, max<{s}>) :- w(x, z, c), best(z, y, d), x < y.",
    "best(x, y, max<c>) :- w(x, y, c). best(x, y, max<least(c, d)>) :- w(x, z, c), best(z, y, d), isnotnull(d).",
    "best(x, y, min<c>) :- w(x, y, c). best(x, y, min<greatest(c, d)>) :- w(x, z, c), best(z, y, d), isnotnull(d).",
    "best(x, y, min<c>) :- w(x, y, c). best(x, y, min<least(c, d)>) :- w(x, z, c), best(z, y, d).",
    "best(x, y, max<c>) :- w(x, y, c). best(x, y, max<greatest(c, d)>) :- w(x, z, c), best(z, y, d).",
    "best(x, min<c>) :- start(x, c). best(y, min<d>) :- best(x, d), e(x, y).",
    "best(x, max<c>) :- start(x, c). best(y, max<d>) :- best(x, d), e(x, y).",
    "best(x, max<c>) :- start(x, c). best(y, max<d - c>) :- best(x, d), w(x, y, c), x < y.",
    "best(x, min<c>) :- start(x, c). best(y, min<d + c>) :- best(x, d), w(x, y, c), c > {k}.",
    # Costs that decide whether something follows.
    "best(x, min<c>) :- start(x, c). best(y, min<d + c>) :- best(x, d), w(x, y, c), d < {k}.",
    "best(x, min<c>) :- start(x, c). best(y, min<s>) :- best(x, d), w(x, y, c), s = d + c, s <= 5, x != y.",
    "best(x, max<c>) :- start(x, c). best(y, max<least(d, {k})>) :- best(x, d), w(x, y, c), d > c, isnotnull(d).",
    "best(x, min<c>) :- start(x, c). best(y, min<c>) :- best(x, d), w(x, y, c), c >= d.",
    """best(x, y, min<c>) :- w(x, y, c).
    best(x, y, min<c + d>) :- w(x, z, c), best(z, y, d), c + d < 5, d < c + 3.
    above(x, y, z) :- best(x, y, d), best(y, z, c), c < d.""",
    "best(x, min<c>) :- start(x, c). best(y, min<d + c>) :- best(x, d), w(x, y, c), isnotnull(d).",
    "best(x, min<c>) :- start(x, c). best(y, min<d + coalesce(c, {k})>) :- best(x, d), w(x, y, c).",
    "best(x, min<coalesce(c, 1)>) :- start(x, c). best(y, min<d + coalesce(c, {k}, 2)>) :- best(x, d), w(x, y, c).",
    "best(x, min<c>) :- start(x, c). best(y, min<d + c + h>) :- best(x, d), w(x, y, c), start(y, h), h + c > 1.",
    "best(x, min<c>) :- start(x, c). best(y, min<least(d + x, c * x, h)>) :- best(x, d), w(x, y, c), start(y, h).",
    "best(x, min<c>) :- start(x, c). best(y, min<s + x>) :- best(x, d), w(x, y, c), s = d + abs(c - 4).",
    "best(x, min<c>) :- start(x, c). best(y, min<d + c>) :- best(x, d), w(x, y, c), isnull(c).",
    "best(x, min<c>) :- start(x, c). best(y, min<d + c + h>) :- best(x, d), w(x, y, c), w(y, x, h).",
    "best(x, min<c>) :- start(x, c). best(y, min<NULL>) :- best(x, _), e(x, y).",
    """best(x, min<c>) :- start(x, c). best(x, min<d>) :- other(x, d). other(y, min<d + c>) :- best(x, d), w(x, y, c).
    other(y, min<d + c>) :- best(y, d), w(y, _, c).""",
    # Forests above forests: they hand each other costs, and costs as columns.
    """best(x, y, min<c>) :- w(x, y, c). best(x, y, min<{s}>) :- w(x, z, c), best(z, y, d).
    via(x, y, min<z>) :- w(x, z, c), best(z, y, d), best(x, y, c + d). far(y, max<d>) :- best(x, y, d), e(x, _).
    nulls(x, y) :- best(x, y, d), isnull(d).
    again(x, d) :- start(x, d). again(y, d) :- best(x, y, d), again(x, _).""",
    """best(x, y, min<c>) :- w(x, y, c). best(x, y, min<{s}>) :- w(x, z, c), best(z, y, d).
    worst(x, max<d>) :- best(x, y, d), start(y, _). worst(y, max<least(c, d)>) :- best(x, y, c), worst(x, d), x < y,
    isnotnull(d).""",
    # What falls here rises there.
    """best(x, min<c>) :- start(x, c). best(y, min<{k} - h>) :- high(x, h), e(x, y), x < y.
    high(x, max<{k} - d>) :- best(x, d).""",
)


@dataclass
class Case:
    """A program over tables whose costs may be NULL, and commits that are drawn for it."""

    number: int

    def __post_init__(self) -> None:
        self.rng = rng = Random(self.number)
        self.kind = rng.choice(list(KINDS))
        constant = str(rng.randrange(4))
        sums = ("c + d", "d + c", f"c + d + {constant}", "d", "d + least(c, d)")
        program = PROGRAMS[self.number % len(PROGRAMS)]
        self.rules = program.replace("{s}", rng.choice(sums)).replace("{k}", constant)
        self.has_keys = rng.random() < 0.5
        self.null_nodes = not self.has_keys and rng.random() < 0.5
        self.nulls = rng.choice(NULLS)
        self.nodes = rng.choice((3, 5))
        self.held: dict[str, list[Row]] = {"e": [], "w": [], "start": []}

    @property
    def tables(self) -> str:
        node = "INT" if self.null_nodes else "INT NOT NULL"
        of_link, of_start = (", PRIMARY KEY (a, b)", ", PRIMARY KEY (a)") if self.has_keys else ("", "")
        return f"""CREATE TABLE e(a INT, b INT); CREATE TABLE w(a {node}, b {node}, cost {self.kind}{of_link});
        CREATE TABLE start(a {node}, cost {self.kind}{of_start})"""

    def commit(self) -> list[tuple[str, str, Row]]:
        """Rows that go and come, such that no key is held twice."""
        rng, found = self.rng, []
        for _ in range(rng.choice((1, 1, 2, 6))):
            table = rng.choice(("w", "w", "w", "start", "e"))
            held = self.held[table]
            if held and rng.random() < 0.45:
                row = held.pop(rng.randrange(len(held)))
                found.append(("delete", table, row))
                if table == "e" or rng.random() < 0.5:
                    continue
                row = (*row[:-1], self.cost())
            else:
                key = tuple(self.node() for _ in range(1 if table == "start" else 2))
                row = key if table == "e" else (*key, self.cost())
                if self.has_keys and table != "e" and any(other[:-1] == key for other in held):
                    continue
            held.append(row)
            found.append(("insert", table, row))
        return found

    def node(self) -> Value:
        return None if self.null_nodes and self.rng.random() < 0.1 else self.rng.randrange(self.nodes)

    def cost(self) -> Value:
        return None if self.rng.random() < self.nulls else KINDS[self.kind](self.rng)


def outcome(db: Database, changes: Sequence[tuple[str, str, Row]]) -> str | None:
    """The name of the error, if there is one."""
    try:
        with db.batch() as batch:
            for verb, table, row in changes:
                getattr(batch, verb)(table, [row])
    except WhenceError as error:
        return type(error).__name__
    return None


def is_compiled(db: Database, view: str) -> bool:
    return "a compiled proof forest" in str(db.explain(view))


def defined(case: Case) -> list[Database]:
    """The case in the local engine and in the reference engine; none where the program is refused."""
    found = [whence.connect(), whence.connect(engine="reference")]
    for db in found:
        db.execute(case.tables)
        try:
            db.rules(case.rules)
        except WhenceError:
            return []
    return found


@pytest.mark.parametrize("first", range(0, CASES, 20))
def test_random_commits(first: int) -> None:
    for number in range(first, min(first + 20, CASES)):
        case = Case(number)
        databases = defined(case)
        if not databases:
            continue
        local, oracle = databases
        views = sorted(local.catalog().views)
        for _ in range(case.rng.choice((8, 20))):
            before = {name: list(rows) for name, rows in case.held.items()}
            changes = case.commit()
            outcomes = [outcome(db, changes) for db in databases]
            assert outcomes[0] == outcomes[1], (case, changes)
            if outcomes[0] is not None:
                case.held = before
            for view in views:
                assert local.rows(view) == oracle.rows(view), (case, changes)
        for view in views:
            feeds = [db.changes(view).drop_columns("_commit_timestamp") for db in databases]
            assert feeds[0].equals(feeds[1]), case
            for row in sorted(local.rows(view), key=repr)[:3]:
                check(local, local.why(view, exactly(local, view, row)))


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_every_program_is_compiled(number: int) -> None:
    databases = defined(Case(number))
    if databases:
        assert is_compiled(databases[0], "best"), databases[0].explain("best")


def test_the_first_example_is_compiled() -> None:
    page = (Path(__file__).parents[3] / "README.md").read_text()
    db = whence.connect()
    db.execute(page.split('db.execute("""')[1].split('""")')[0])
    assert is_compiled(db, "shortest")


LINKS = """
CREATE TABLE link(src INT, dst INT, km INT, toll BIGINT, limit DOUBLE, day DATE, road STRING);
CREATE MATERIALIZED VIEW shortest AS
WITH RECURSIVE way(src, dst, km) AS (
  SELECT src, dst, {first} FROM link GROUP BY src, dst
  UNION
  SELECT l.src, w.dst, {next} FROM link l JOIN way w ON l.dst = w.src {where} GROUP BY l.src, w.dst)
SELECT src, dst, km FROM way
"""


@pytest.mark.parametrize(
    ("first", "following", "where"),
    [
        ("min(km)", "min(l.km + w.km)", ""),
        ("min(km)", "min(l.km + w.km)", "WHERE w.km < 100 AND l.km + w.km < 1000"),
        ("max(km)", "max(least(l.km, w.km))", "WHERE w.km IS NOT NULL AND l.road = 'A1'"),
        ("min(coalesce(km, 0))", "min(coalesce(l.km, 0) + w.km)", ""),
        ("min(CAST(km AS BIGINT))", "min(l.km + w.km + l.toll)", ""),
        ("min(CAST(km AS DOUBLE))", "min(l.km * 1.5 + w.km)", ""),
        ("min(CAST(km AS DECIMAL(12,2)))", "min(CAST(l.km + w.km + 0.25 AS DECIMAL(12,2)))", ""),
        ("min(limit)", "min(CASE WHEN l.road = 'A1' THEN l.limit ELSE 2 * l.limit END + w.km)", "WHERE l.src <> w.dst"),
        ("min(1)", "min(w.km + 1)", ""),
    ],
)
def test_ordinary_queries_are_compiled(first: str, following: str, where: str) -> None:
    db = whence.connect()
    db.execute(LINKS.format(first=first, next=following, where=where))
    assert is_compiled(db, "shortest"), db.explain("shortest")


@pytest.mark.parametrize("function", ["min", "max"])
@pytest.mark.parametrize("extreme", [2**63 - 1, -(2**63) + 1, -(2**63)])
def test_the_largest_numbers_are_not_taken_for_null(function: str, extreme: int) -> None:
    found = []
    for engine in ("local", "reference"):
        db = whence.connect(engine=engine)
        db.execute("CREATE TABLE start(a INT, cost BIGINT); CREATE TABLE e(a INT, b INT)")
        db.rules(f"best(x, {function}<c>) :- start(x, c). best(y, {function}<d>) :- best(x, d), e(x, y).")
        db.insert("e", [(1, 2), (2, 3), (3, 1)])
        db.insert("start", [(1, None)])
        db.insert("start", [(2, extreme)])
        db.insert("start", [(2, 5)])
        found.append(db.rows("best"))
        db.delete("start", [(2, 5)])
        found.append(db.rows("best"))
    assert found[:2] == found[2:]


@pytest.mark.parametrize("rule", ["d + c", "d + c - c", "d * c"])
@pytest.mark.parametrize(
    ("kind", "two", "large"),
    [("INT", 2, 2**31 - 1), ("DOUBLE", 2.0, 1.7e308), ("DECIMAL(38,0)", Decimal(2), Decimal(10**37))],
)
def test_what_overflows_is_an_error_and_not_null(rule: str, kind: str, two: Value, large: Value) -> None:
    outcomes = []
    for engine in ("local", "reference"):
        db = whence.connect(engine=engine)
        db.execute(f"CREATE TABLE start(a INT, cost {kind}); CREATE TABLE w(a INT, b INT, cost {kind})")
        db.rules(f"best(x, min<c>) :- start(x, c). best(y, min<{rule}>) :- best(x, d), w(x, y, c), x < y.")
        db.insert("w", [(1, 2, two), (2, 3, large), (3, 4, two), (4, 5, None)])
        outcomes.append((outcome(db, [("insert", "start", (1, large))]), db.rows("best")))
    assert outcomes[0] == outcomes[1]
