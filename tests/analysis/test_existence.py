"""Parts of a body that only have to exist are matched once, and mean what they meant."""

from __future__ import annotations

import time
from collections import Counter

import pytest

import whence
from whence.analysis.analyze import analyze
from whence.analysis.existence import with_existence_tests
from whence.lab.strategies import connect
from whence.lang.datalog.parse import parse_datalog
from whence.lang.datalog.write import to_datalog

TABLES = ".decl k(x: number)\n.decl pair(x: number, y: number)\n"


def rewritten(text: str) -> list[str]:
    program = parse_datalog(TABLES + text)
    analysis = analyze(program)
    together = {name: each.relations for each in analysis.components if each.recursive for name in each.relations}
    tests = with_existence_tests(program.rules, analysis.relations, together)
    return [line for line in to_datalog(tests).splitlines() if ":-" in line]


class TestRules:
    def test_what_shares_no_variable_with_the_head_is_a_test(self) -> None:
        assert rewritten("q(x) :- k(x), pair(_, _).") == ["q$some1(1) :- pair(_, _).", "q(x) :- k(x), q$some1(1)."]

    def test_what_belongs_together_stays_together(self) -> None:
        assert rewritten("q(x) :- k(x), pair(y, z), !pair(z, y), z > 1, pair(_, 2).") == [
            "q$some1(1) :- pair(y, z), !pair(z, y), z > 1.",
            "q$some2(1) :- pair(_, 2).",
            "q(x) :- k(x), q$some1(1), q$some2(1).",
        ]

    def test_the_same_is_made_once(self) -> None:
        assert rewritten("q(x) :- k(x), pair(_, _).  q(y) :- pair(y, _), pair(_, _).") == [
            "q$some1(1) :- pair(_, _).",
            "q(x) :- k(x), q$some1(1).",
            "q(y) :- pair(y, _), q$some1(1).",
        ]

    def test_one_part_is_matched_in_place(self) -> None:
        assert rewritten("q(1) :- pair(_, _), k(_).") == ["q$some1(1) :- k(_).", "q(1) :- pair(_, _), q$some1(1)."]

    @pytest.mark.parametrize(
        "rule",
        [
            "q(x) :- k(x).",
            "q(1) :- pair(_, _).",
            "q(x) :- k(x), pair(1, 2).",
            "q(x) :- k(x), pair(x, y), pair(y, _).",
            "q(x) :- k(x).  q(x) :- k(x), q(_).",
            "q(x) :- k(x), !pair(_, _).",
        ],
    )
    def test_everything_else_stays(self, rule: str) -> None:
        assert not any("some" in line for line in rewritten(rule))


PROGRAM = """
    CREATE TABLE k(x INT, PRIMARY KEY (x)); CREATE TABLE pair(x INT, y INT);
    CREATE VIEW pairs AS SELECT k.x FROM k, pair, pair AS f;
    CREATE VIEW numbers AS SELECT k.x, count(*) AS n, sum(k.x) AS total FROM k, pair GROUP BY k.x;
"""
RULES = """
    q(x) :- k(x), pair(y, _), pair(_, y), pair(_, _).
    up(x, y) :- k(x), k(y), y = x + 1, pair(_, _).
    up(x, y) :- up(x, z), up(z, y), pair(_, _), pair(_, 1).
"""
VIEWS = ("pairs", "numbers", "q", "up")


def filled(db: whence.Database) -> whence.Database:
    db.execute(PROGRAM)
    db.rules(RULES)
    return db


@pytest.mark.parametrize("maintenance", ["auto", "dred", "relative", "recompute"])
def test_all_engines_agree(maintenance: str) -> None:
    db, reference = filled(connect(maintenance)), filled(whence.connect(engine="reference"))

    def compare() -> None:
        for view in VIEWS:
            seen = [Counter(tuple(row.values()) for row in each.table(view).to_pylist()) for each in (db, reference)]
            assert seen[0] == seen[1]

    for each in (db, reference):
        each.insert("k", [(x,) for x in range(4)])
    for change in ([(0, 1)], [(1, 0), (1, 0)], [(2, 2)]):
        for each in (db, reference):
            each.insert("pair", change)
        compare()
    for change in ([(1, 0)], [(0, 1)], [(1, 0)], [(2, 2)]):
        for each in (db, reference):
            each.delete("pair", change)
        compare()
    assert not any(db.rows(view) for view in VIEWS)


def test_counts_of_derivations_are_those_of_the_rule_as_it_was_written() -> None:
    db = whence.connect()
    db.rules(f"{TABLES} q(x) :- k(x), pair(_, _), pair(_, _).")
    db.insert("k", [(7,)])
    db.insert("pair", [(0, 0), (1, 1), (2, 2)])
    assert db.evaluate("q", "counting") == {(7,): 9}
    assert len(db.why("q", (7,)).supports()) == 3
    assert str(db.why("q", (7,))).splitlines()[2:] == ["├─ k(7)", "├─ pair(0, 0)", "└─ pair(0, 0)"]


def test_it_takes_the_time_of_the_rows_and_not_of_their_combinations() -> None:
    db = whence.connect()
    db.rules(f"{TABLES} q(x) :- k(x), pair(_, _), pair(_, _), pair(_, _), pair(_, _).")
    db.insert("k", [(7,)])
    started = time.monotonic()
    db.insert("pair", [(x, x) for x in range(200)])
    db.delete("pair", [(x, x) for x in range(199)])
    # There are 1,600,000,000 combinations.
    assert time.monotonic() - started < 5
    assert db.rows("q") == {(7,)}
    db.delete("pair", [(199, 199)])
    assert db.rows("q") == set()
