"""Examples whose formulas, probabilities and costs are printed elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import whence
from whence.database.database import Database
from whence.errors import StratificationError
from whence.model.types import Row

REACH = """
  CREATE TABLE edge(src INT NOT NULL, dst INT NOT NULL);
  CREATE VIEW reach AS
  WITH RECURSIVE reach(node) AS (SELECT 1 UNION SELECT e.dst FROM edge e JOIN reach r ON e.src = r.node)
  SELECT node FROM reach
"""
# The edges of ProvSQL's tests of recursion, with their probabilities and costs.
DIAMOND = {(1, 2): 0.9, (1, 3): 0.5, (2, 3): 0.8, (2, 4): 0.6, (3, 4): 0.7}
CYCLE = {(1, 2): 0.9, (2, 3): 0.8, (3, 2): 0.5, (2, 4): 0.6, (3, 4): 0.7}
TRIANGLE = {(1, 2): 3, (2, 3): 4, (3, 1): 1, (3, 4): 5}


def reach(edges: Sequence[tuple[int, int]]) -> Database:
    db = whence.connect()
    db.execute(REACH)
    db.insert("edge", list(edges))
    return db


def test_reachability_in_a_diamond() -> None:
    db = reach([*DIAMOND])
    assert {node: db.why("reach", (node,)).formula() for node in (1, 2, 3, 4)} == {
        1: "true",
        2: "edge(1, 2)",
        3: "edge(1, 3) ∨ (edge(1, 2) ∧ edge(2, 3))",
        4: "(edge(1, 2) ∧ edge(2, 4)) ∨ (edge(1, 3) ∧ edge(3, 4)) ∨ (edge(1, 2) ∧ edge(2, 3) ∧ edge(3, 4))",
    }
    for node, chance in {1: 1.0, 2: 0.9, 3: 0.86, 4: 0.8018}.items():
        found = db.probability("reach", (node,), {"edge": DIAMOND})
        assert found.exact and found.value == pytest.approx(chance)
    assert db.evaluate("reach", "counting") == {(1,): 1, (2,): 1, (3,): 2, (4,): 3}


def test_reachability_around_a_cycle() -> None:
    db = reach([*CYCLE])
    for node, chance in {1: 1.0, 2: 0.9, 3: 0.72, 4: 0.7416}.items():
        assert db.probability("reach", (node,), {"edge": CYCLE}).value == pytest.approx(chance)
    with pytest.raises(StratificationError, match=r"counts have no value here: reach\(\d\) follows from itself"):
        db.evaluate("reach", "counting")


def test_costs_in_a_triangle() -> None:
    db = reach([*TRIANGLE])
    assert db.evaluate("reach", "tropical", {"edge": TRIANGLE}) == {(1,): 0, (2,): 3, (3,): 7, (4,): 12}
    halves = db.evaluate("reach", "viterbi", {"edge": 0.5})
    assert halves == {(1,): 1.0, (2,): 0.5, (3,): 0.25, (4,): 0.125}


def test_provenance_after_reduction() -> None:
    """Table 2 of the paper on p-semirings: a relation joined with itself, and the expressions that are left."""
    db = whence.connect()
    db.rules("""
      r1(a, b) :- r(a, b, _).
      r2(b, c) :- r(_, b, c).
      r3(a, c) :- r1(a, b), r2(b, c).
      r("a1", "b", "c1"). r("a1", "b", "c2"). r("a2", "b", "c2").
    """)
    names: dict[tuple[str, Row], str] = {
        ("r", ("a1", "b", "c1")): "t1",
        ("r", ("a1", "b", "c2")): "t2",
        ("r", ("a2", "b", "c2")): "t3",
    }
    reduced = {
        row: {frozenset(names[fact] for fact in support) for support in db.why("r3", row).supports(all=True)}
        for row in db.rows("r3")
    }
    t1, t2, t3 = (frozenset({name}) for name in ("t1", "t2", "t3"))
    assert reduced == {
        ("a1", "c1"): {t1},
        ("a1", "c2"): {t1 | t3, t2},
        ("a2", "c1"): {t1 | t3},
        ("a2", "c2"): {t3},
    }
    # Before the reduction, multiplied out: (t1 + t2)·(t2 + t3) for the second row.
    how = {row: str(value) for row, value in db.evaluate("r3", "how").items()}
    for fact, name in names.items():
        how = {row: text.replace(f"r({', '.join(map(repr, fact[1]))})", name) for row, text in how.items()}
    assert how == {
        ("a1", "c1"): "t1² + t1·t2",
        ("a1", "c2"): "t1·t2 + t1·t3 + t2² + t2·t3",
        ("a2", "c1"): "t1·t3",
        ("a2", "c2"): "t2·t3 + t3²",
    }
    present = {("a1", "b", "c1"): True, ("a1", "b", "c2"): False, ("a2", "b", "c2"): True}
    assert db.evaluate("r3", "boolean", {"r": present}, row=("a1", "c2")) == {("a1", "c2"): True}
