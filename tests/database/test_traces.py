"""A question leaves no trace, and what a row is worth in a semiring follows from the tables alone."""

from __future__ import annotations

from pathlib import Path

import pytest

import whence
from tests.database.traces import check, forest_of, records, room_used

REACHABLE = """
    .decl e(x: number, y: number)
    r(x, y) :- e(x, y).
    r(x, y) :- e(x, z), r(z, y).
"""
NON_LINEAR = "r(x, y) :- e(x, y).  r(x, y) :- r(x, z), r(z, y)."


@pytest.fixture
def db() -> whence.Database:
    db = whence.connect()
    db.rules(REACHABLE)
    db.insert("e", [(0, 1), (1, 3), (2, 1), (2, 3)])
    return db


class TestDerivations:
    @pytest.fixture(params=["what_if", "impact", "commits"])
    def disturbed(self, db: whence.Database, request: pytest.FixtureRequest) -> whence.Database:
        for _ in range(3):
            if request.param == "what_if":
                db.what_if(delete={"e": [(2, 1)]})
            elif request.param == "impact":
                db.impact("e", (2, 1))
            else:
                db.delete("e", [(2, 1)])
                db.insert("e", [(2, 1)])
        return db

    def test_each_is_counted_once(self, disturbed: whence.Database) -> None:
        assert disturbed.evaluate("r", "counting", row=(2, 3)) == {(2, 3): 2}

    def test_each_is_in_a_polynomial_once(self, disturbed: whence.Database) -> None:
        (polynomial,) = disturbed.evaluate("r", "how", row=(2, 3)).values()
        assert str(polynomial) == "e(1, 3)·e(2, 1) + e(2, 3)"

    def test_the_proof_that_was_supposed_away_is_the_proof_again(self, db: whence.Database) -> None:
        before = str(db.why("r", (2, 3)))
        db.what_if(delete={"e": [(2, 3)]})
        assert str(db.why("r", (2, 3))) == before

    def test_a_history_changes_nothing(self, db: whence.Database) -> None:
        db.delete("e", [(2, 1)])
        proof, kept = str(db.why("r", (2, 3))), dict(records(db))
        assert "r(2, 1)" in str(db.what_removed("r", (2, 1)))
        assert "e(2, 3)" in str(db.why("r", (2, 3), version=2))
        assert (str(db.why("r", (2, 3))), dict(records(db))) == (proof, kept)


class TestState:
    @pytest.mark.parametrize("rules", [REACHABLE, f".decl e(x: number, y: number)\n{NON_LINEAR}"])
    def test_it_does_not_grow_with_rows_that_come_and_go(self, rules: str) -> None:
        db = whence.connect()
        db.rules(rules)
        db.insert("e", [(x, x + 1) for x in range(30)])
        state, kept = forest_of(db, "r").state_bytes, dict(records(db))
        most = 0
        for _ in range(100):
            db.delete("e", [(15, 16)])
            db.insert("e", [(15, 16)])
            most = max(most, room_used(forest_of(db, "r"))[1])
        # 480 pairs come and go each time, and as many derivations at least.
        assert most < 12_000
        assert (forest_of(db, "r").state_bytes, dict(records(db))) == (state, kept)

    def test_it_does_not_grow_with_rows_from_which_nothing_follows(self) -> None:
        db = whence.connect()
        db.rules(".decl e(x: number, y: number)  .decl f(x: number, y: number)")
        db.rules("r(x, y) :- f(x, y), e(x, y).  r(x, y) :- e(x, z), r(z, y), f(x, z).")
        for round_ in range(20):
            rows = [(1_000 * round_ + x, 0) for x in range(1_000)]
            db.insert("e", rows)
            db.delete("e", rows)
        assert room_used(forest_of(db, "r"))[0] < 10_000


@pytest.mark.parametrize("seed", range(8))
def test_no_question_leaves_a_trace(seed: int, tmp_path: Path) -> None:
    check(seed, 5, tmp_path / "db" if seed % 5 == 0 else None)
