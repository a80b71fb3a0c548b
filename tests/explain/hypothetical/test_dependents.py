"""What depends on a row, by the engine's own walk and row by row, is what all derivations tell together."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.local.forest_programs import COSTS, SETS, TABLES, PlainPrograms
from tests.explain.proofs.worlds import counted_engine, recursive_engine
from whence.database.database import Database
from whence.engines.engine import Readable
from whence.engines.local.engine import LocalEngine
from whence.engines.local.forest import reach
from whence.errors import WhenceError
from whence.explain.hypothetical.contents import DatabaseContents
from whence.explain.hypothetical.dependents import dependents
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.reasons import Fact
from whence.incremental.keyed import Key
from whence.model.types import Row
from whence.session.session import Session

NODES = 5
ABOVE = """
back(x, y) :- {view}(x, y{rest}), {view}(y, x{rest}).
alone(x, y) :- {view}(x, y{rest}), !{view}(y, x{rest}).
many(x, count<y>) :- {view}(x, y{rest}).
all(count<*>, max<y>) :- {view}(_, y{rest}).
next(x, count<*>) :- {view}(x, x + 1{rest}).
few(x) :- many(x, n), n < 3.
few(x) :- back(x, y), alone(y, x).
"""

# Linear, not linear, mutual, and with costs, whose value stands at the end.
RECURSIONS = {
    "p(x, y) :- f(x, y). p(x, y) :- f(x, z), p(z, y).": "",
    "p(x, y) :- f(x, y). p(x, y) :- p(x, z), p(z, y).": "",
    "p(x, y) :- f(x, y). p(x, y) :- f(x, z), q(z, y). q(x, y) :- p(x, z), w(z, y, _). q(x, x) :- p(x, x), q(x, _).": "",
    "p(x, y, min<c>) :- w(x, y, c). p(x, y, min<c + d>) :- w(x, z, c), p(z, y, d).": ", _",
    "p(x, y, n) :- f(x, y), n = 1. p(x, y, n + 1) :- p(x, z, n), f(z, y), n < 4.": ", _",
}


class Present(Readable):
    """The rows of a relation that are there, without an index."""

    def __init__(self, rows: list[Row]) -> None:
        self._rows = rows

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        values = key if len(positions) != 1 else (key,)
        return {row: 1 for row in self._rows if tuple([row[at] for at in positions]) == values}


def by_trying_all(engine: LocalEngine, backwards: Backwards, given: set[Fact]) -> dict[str, set[Row]]:
    """Every way to satisfy every rule, again and again, until no more rows are found."""
    rows = {name: [r for r, n in engine.counts(name).items() if n > 0] for name in backwards.relations}
    sources = {name: Present(of_name) for name, of_name in rows.items()}
    found, size = set(given), 0
    while size < len(found):
        size = len(found)
        for name in backwards.relations:
            for matcher in backwards.matchers(name) if not backwards.is_table(name) else ():
                plain = [at for at in range(len(matcher.rule.head.terms)) if at not in matcher.rule.aggregates]
                for way in matcher.all(sources) if matcher.rule.sign > 0 else ():
                    if not found.isdisjoint(zip(matcher.positive, way.body, strict=True)):
                        found.update((name, r) for r in rows[name] if tuple([r[at] for at in plain]) == way.head)
    views: dict[str, set[Row]] = {}
    for name, row in found - given:
        views.setdefault(name, set()).add(row)
    return views


def agree(engine: LocalEngine, rng: Random, questions: int = 3) -> None:
    kept, walked = engine.evidence(), engine.evidence()
    trying = Backwards(kept)
    tables = [name for name in trying.relations if trying.is_table(name)]
    for _ in range(questions):
        table = rng.choice(tables)
        there = sorted((row for row, count in engine.counts(table).items() if count > 0), key=repr)
        asked = set(rng.sample(there, min(len(there), rng.choice((1, 1, 2, 20)))))
        expected = by_trying_all(engine, trying, {(table, row) for row in asked})
        with patch.object(walked, "dependents_within", return_value=None):
            for evidence in (kept, walked):
                parts = (DatabaseContents(evidence), Backwards(evidence), table, asked)
                found, partial = dependents(*parts, steps=10**6, seconds=60.0)
                assert not partial
                assert {name: set(rows) for name, rows in found.items()} == expected
                assert {name: len(rows) for name, rows in found.items()} == {n: len(r) for n, r in expected.items()}


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), maintenance=st.sampled_from(["auto", "dred"]))
def test_random_recursive_programs(seed: int, maintenance: str) -> None:
    _, engine, _ = recursive_engine(seed, maintenance, size=8, steps=4)
    agree(engine, Random(seed))


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6))
def test_random_programs_without_recursion(seed: int) -> None:
    engine, _ = counted_engine(seed)
    agree(engine, Random(seed))


def grown(rng: Random, text: str, maintenance: str) -> LocalEngine | None:
    """A program after some rows have come and gone; None where the program is not accepted."""
    engine = LocalEngine(maintenance)
    db = Database(Session(engine))
    db.execute(TABLES)
    db.rules(SETS)
    db.insert("e", [(1, 2), (None, 3)])
    db.insert("s", [("a", 1), ("b", 2)])
    try:
        db.rules(text)
        for _ in range(5):
            pairs = [(rng.randrange(NODES), rng.randrange(NODES)) for _ in range(rng.choice((1, 4, 8)))]
            for table, rows in {
                "f": pairs,
                "w": [(x, y, rng.randrange(4)) for x, y in pairs],
                "start": [(x, y) for x, y in pairs[:2]],
            }.items():
                db.insert(table, rows)
                held = sorted(db.rows(table))
                db.delete(table, rng.sample(held, len(held) // 3))
    except WhenceError:
        return None
    return engine


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), maintenance=st.sampled_from(["auto", "dred"]))
def test_forests_and_views_above_them(seed: int, maintenance: str) -> None:
    rng = Random(seed)
    recursion, rest = rng.choice([*RECURSIONS.items()])
    engine = grown(rng, recursion + ABOVE.format(view="p", rest=rest), maintenance)
    assert engine is not None
    agree(engine, rng)


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), has_costs=st.booleans())
def test_random_forests(seed: int, has_costs: bool) -> None:
    rng = Random(seed)
    text = rng.choice(COSTS).format(n=rng.randrange(3)) if has_costs else PlainPrograms(rng, NODES).program()[0]
    engine = grown(rng, text, "auto")
    if engine is not None:
        agree(engine, rng)


def test_a_computed_column_tells_rows_apart() -> None:
    engine = LocalEngine()
    db = Database(Session(engine))
    db.rules("""
        .decl e(x: number, y: number)
        p(x, y) :- e(x, y).
        p(x, y) :- e(x, z), p(z, y).
        next(x, count<*>) :- p(x, x + 1).
    """)
    db.insert("e", [(1, 2), (2, 3), (3, 4), (4, 5)])
    assert db.impact("e", (1, 2)).depend == {"p": 4, "next": 1}


def test_where_matches_are_too_many_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    db = Database(Session(LocalEngine()))
    db.execute(TABLES)
    db.rules("p(x, y) :- f(x, y). p(x, y) :- p(x, z), p(z, y). c(count<*>) :- p(_, _).")
    db.insert("f", [(x, x + 1) for x in range(30)])
    assert db.impact("f", (15, 16)).depend == {"p": 16 * 15, "c": 1}
    monkeypatch.setattr(reach, "MOST_MATCHES", 40)
    answer = db.impact("f", (15, 16))
    # What would go stands on derivations that are kept.
    assert answer.depend["p"] == len(answer.vanish["p"]) == 16 * 15
    assert answer.partial == ("p", "c")
    assert "  p: at least 240 rows\n  c: at least 1 row" in str(answer)
    # A pair that has a link of its own has its other derivation found by matching.
    db.insert("f", [(40, 41), (41, 42), (40, 42)])
    assert db.impact("f", (40, 41)).depend["p"] == 2
    monkeypatch.setattr(reach, "MOST_MATCHES", 0)
    assert db.impact("f", (40, 41)).depend["p"] == 1
