"""Rules that join a relation with itself, and the rules that take their place where supports are asked for."""

from __future__ import annotations

from random import Random

import pytest

import whence
from tests.engines.local.recursive_driver import analysis_of
from whence.engines.local.engine import LocalEngine
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.reasons import Fact, Watch
from whence.explain.provenance.cone import absorbed, explore
from whence.explain.provenance.linearization import LinearRules, linearized
from whence.explain.provenance.provenance import Weighing
from whence.explain.provenance.supports import Enumeration, base_rows
from whence.model.types import Row
from whence.model.updates import Delta, Update
from whence.rewriting.substitution import with_names

TABLES = """
.decl edge(x: number, y: number)
.decl road(x: number, y: number)
.decl mark(x: number)
"""
STEP = "p(x, y) :- edge(x, y)."
NODES = 4
BLOCK = 25


def rules_of(*rules: str) -> int | None:
    """How many rules take the place of these; None if they stay."""
    analysis = analysis_of(TABLES + "\n".join(rules))
    found = linearized([with_names(rule) for rule in analysis.program.rules])
    return None if found is None else len(found)


@pytest.mark.parametrize(
    ("rules", "number"),
    [
        ((STEP, "p(x, z) :- p(x, y), p(y, z)."), 2),
        ((STEP, "p(x, z) :- p(y, z), p(x, y)."), 2),
        ((STEP, "p(x, y) :- road(x, y).", "p(x, z) :- p(x, y), p(y, z)."), 4),
        ((STEP, "p(x, z) :- p(x, y), mark(y), p(y, z)."), 2),
        ((STEP, "p(x, z) :- p(x, y), !mark(y), p(y, z)."), 2),
        # What is said of the whole cannot be said of a part.
        ((STEP, "p(x, z) :- p(x, y), p(y, z), x != z."), None),
        ((STEP, "p(x, z) :- p(x, y), p(y, z), mark(x), mark(z)."), None),
        ((STEP, "p(x, z) :- p(x, y), p(y, z), y != 2."), 2),
        # Where a step more can be taken at the end, it is the last part that is a single one.
        ((STEP, "p(x, z) :- p(x, y), p(y, z).", "p(x, z) :- p(x, y), road(y, z)."), 3),
        ((STEP, "p(x, z) :- p(x, y), p(y, z).", "p(x, z) :- road(x, y), p(y, z)."), 3),
        ((STEP, "p(x, z) :- p(x, y), road(y, w), p(w, z)."), 2),
        # Both parts begin where the whole does, or end where it begins.
        ((STEP, "p(y, z) :- p(x, y), p(x, z)."), None),
        ((STEP, "p(x, z) :- p(x, y), p(z, y)."), None),
        ((STEP, "p(x, w) :- p(x, y), p(y, z), p(z, w)."), None),
        ((STEP, "p(x, z) :- edge(x, y), p(y, z)."), None),
    ],
)
def test_which_rules_can_be_replaced(rules: tuple[str, ...], number: int | None) -> None:
    assert rules_of(*rules) == number


def random_rule(rng: Random) -> str:
    """A rule that joins p with itself, mostly one that could be turned."""
    shapes = ["p(x, y), p(y, z)", "p(x, y), p(y, z)", "p(x, y), p(w, z)", "p(y, z), p(x, y)", "p(x, y), p(z, y)"]
    body = [rng.choice(shapes)]
    if "w" in body[0]:
        body.append(rng.choice(["road(y, w)", "edge(y, w)", "edge(w, y)"]))
    others = ("mark(y)", "!mark(y)", "!mark(x)", "road(x, _)", "road(_, y)", "y != 1", "x <= y", "mark(z)")
    body += [literal for literal in others if rng.random() < 0.1]
    rng.shuffle(body)
    return f"p(x, z) :- {', '.join(body)}."


def random_text(rng: Random) -> str:
    others = (
        "p(x, y) :- road(x, y), mark(x).",
        "p(x, x) :- mark(x).",
        "p(x, z) :- road(x, y), p(y, z).",
        "p(x, z) :- p(x, y), road(y, z).",
        "p(x, z) :- p(x, z), mark(z).",
        random_rule(rng),
    )
    rules = [STEP, random_rule(rng), *(rule for rule in others if rng.random() < 0.25)]
    return TABLES + "\n".join(rules)


def random_rows(rng: Random) -> dict[str, Delta]:
    sizes = {"edge": 2, "road": 2, "mark": 1}
    return {
        name: {tuple(rng.randrange(NODES) for _ in range(arity)): 1 for _ in range(rng.randint(0, 5))}
        for name, arity in sizes.items()
    }


@pytest.mark.parametrize("first", range(0, 150, BLOCK))
def test_supports_are_the_same(first: int) -> None:
    replaced = 0
    for seed in range(first, first + BLOCK):
        rng = Random(seed)
        text, rows = random_text(rng), random_rows(rng)
        analysis = analysis_of(text)
        engine = LocalEngine()
        engine.define(analysis, {}, Update())
        engine.apply(Update(rows))
        backwards = Backwards(engine.evidence())
        for row in engine.counts("p"):
            fact = ("p", row)
            replaced += LinearRules(backwards).derivations(fact) is not None
            found = Weighing(backwards, fact).supports(None)
            assert found.complete, f"seed {seed}"
            assert set(found) == supports_by_own_rules(backwards, fact), f"seed {seed}: {row}\n{text}\n{rows}"
    assert replaced > BLOCK // 2


def supports_by_own_rules(backwards: Backwards, fact: Fact) -> set[frozenset[Fact]]:
    cone = absorbed(explore(backwards, [fact], 10**6, 60.0))
    enumeration = Enumeration(cone, fact, Watch(10**7, 60.0))
    return {base_rows(enumeration.leaves_of(support)) for support in enumeration}


def test_a_large_graph() -> None:
    """As many pairs behind each pair as there are, if every pair was put together from any two."""
    nodes = 150
    rng = Random(1)
    links: list[Row] = sorted({(rng.randrange(nodes), rng.randrange(nodes)) for _ in range(2 * nodes)})
    found = []
    for rule in (
        "reachable(x, z) :- reachable(x, y), reachable(y, z).",
        "reachable(x, z) :- link(x, y), reachable(y, z).",
    ):
        db = whence.connect()
        db.rules(f".decl link(x: number, y: number)\nreachable(x, y) :- link(x, y).\n{rule}")
        db.insert("link", links)
        row = max(db.rows("reachable"))
        supports = db.why("reachable", row).supports()
        assert supports.complete
        found.append([len(support) for support in supports])
    assert found[0] == found[1] and len(found[0]) == 10


def test_sql_that_joins_a_view_with_itself() -> None:
    db = whence.connect()
    db.execute("""
        CREATE TABLE link(src STRING, dst STRING);
        CREATE VIEW reach AS WITH RECURSIVE way(src, dst) AS (
            SELECT src, dst FROM link UNION SELECT a.src, b.dst FROM way a JOIN way b ON a.dst = b.src)
        SELECT src, dst FROM way;
        INSERT INTO link VALUES ('a', 'b'), ('b', 'c'), ('c', 'd'), ('a', 'c'), (NULL, 'a'), ('d', NULL), (NULL, 'b');
    """)
    backwards = db._knowledge(db._session, db.catalog().relations["reach"])  # noqa: SLF001 - no question tells
    assert LinearRules(backwards).derivations(("reach", ("a", "d"))) is not None
    assert [len(support) for support in db.why("reach", ("a", "d")).supports()] == [2, 3]
    assert len(db.why("reach", {"src": None, "dst": "c"}).supports()) == 3
    assert ("d", "a") not in db.rows("reach")
