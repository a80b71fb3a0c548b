"""Views that compare every row with every row: who is told, where, and who is not."""

from __future__ import annotations

import pytest

import whence

TABLES = "CREATE TABLE s(id INT, qty INT); CREATE TABLE t(id INT PRIMARY KEY, lim INT);\n"
DECLARED = ".decl a(x: number, y: number)\n.decl b(x: number)\n"
ADVICE = (
    ", because no equality links them; where these are many, link them by one as well, such as a key or a range of "
    "values that both have as a column, or compare with an aggregate"
)


def in_sql(query: str) -> whence.Database:
    db = whence.connect()
    db.execute(f"{TABLES}CREATE VIEW q AS\n{query}")
    return db


def in_datalog(rules: str) -> whence.Database:
    db = whence.connect()
    db.rules(DECLARED + rules)
    return db


@pytest.mark.parametrize(
    ("query", "notice"),
    [
        (
            "SELECT id FROM s\nWHERE (SELECT count(*) FROM s b WHERE b.qty > s.qty) < 10",
            "'q' compares every row of 's' with every row of 's' (<sql>:4:39)",
        ),
        (
            "SELECT s.id, lim FROM s JOIN t ON s.qty < lim",
            "'q' compares every row of 's' with every row of 't' (<sql>:3:35)",
        ),
        # Which becomes two rules.
        (
            "SELECT s.id, lim FROM s LEFT JOIN t ON s.qty < lim",
            "'q' compares every row of 't' with every row of 's' (<sql>:3:40)",
        ),
        (
            "SELECT s.id FROM s, t WHERE s.id = t.id OR s.qty = lim",
            "'q' compares every row of 's' with every row of 't' (<sql>:3:29)",
        ),
        (
            "SELECT id FROM s WHERE NOT EXISTS (SELECT 1 FROM t WHERE lim < qty)",
            "'q' compares every row of 't' with every row of 's' (<sql>:3:58)",
        ),
    ],
)
def test_sql(query: str, notice: str) -> None:
    db = in_sql(query)
    assert db.notices == (notice + ADVICE,)
    assert notice in db.explain("q").splitlines()


@pytest.mark.parametrize(
    ("rules", "notice"),
    [
        ("q(x, z) :- a(x, _), b(z), x < z.", "'q' compares every row of 'a' with every row of 'b' (<rules>:3:27)"),
        (
            "q(x, count<*>) :- a(x, _), b(y), y < x.",
            "'q' compares every row of 'a' with every row of 'b' (<rules>:3:34)",
        ),
        (
            "q(x) :- a(x, y), a(y, _), b(z), d = x - z, d > 1.",
            "'q' compares every row of 'a' with every row of 'b' (<rules>:3:44)",
        ),
        # What only has to exist is found out once, and yet by comparing.
        ("q(x) :- b(x), a(y, _), b(z), y < z.", "'q' compares every row of 'a' with every row of 'b' (<rules>:3:30)"),
        (
            "q(x) :- b(x).\nq(x) :- q(x), b(z), x < z.",
            "'q' compares every row of 'q' with every row of 'b' (<rules>:4:21)",
        ),
    ],
)
def test_datalog(rules: str, notice: str) -> None:
    db = in_datalog(rules)
    assert db.notices == (notice + ADVICE,)
    assert notice in db.explain("q").splitlines()


@pytest.mark.parametrize(
    "query",
    [
        # An equality, of whatever terms.
        "SELECT s.id FROM s JOIN t ON s.id = t.id AND s.qty < lim",
        "SELECT s.id FROM s JOIN t ON s.id + 1 = t.id * 2 AND s.qty < lim",
        "SELECT id FROM s WHERE (SELECT count(*) FROM s b WHERE b.id = s.id AND b.qty > s.qty) < 10",
        "SELECT id FROM s WHERE qty NOT IN (SELECT lim FROM t)",
        # All pairs are what was asked for.
        "SELECT s.id, lim FROM s CROSS JOIN t",
        "SELECT s.id, lim FROM s, t",
        # One side has few rows.
        "SELECT id FROM s WHERE qty > (SELECT avg(qty) FROM s)",
        "SELECT s.id FROM s JOIN t ON s.qty < lim AND t.id = 7",
        "SELECT s.id FROM s, (VALUES (1, 5), (5, 10)) AS r(a, b) WHERE s.qty BETWEEN a AND b",
    ],
)
def test_sql_that_nothing_is_said_about(query: str) -> None:
    db = in_sql(query)
    assert db.notices == ()
    assert "every row" not in db.explain("q")


@pytest.mark.parametrize(
    "rules",
    [
        "q(x, z) :- a(x, _), b(z).",
        "q(x, z, d) :- a(x, _), b(z), d = x + z.",
        "q(x, z) :- a(x, _), b(z), !a(x, z).",
        "q(x) :- a(x, y), b(z), z = y + 1, z > x.",
        "q(x) :- a(x, y), d = y + 1, b(d), d > x.",
        "q(x) :- a(x, y), b(y + x), y > x.",
        "m(max<x>) :- b(x).\nq(x) :- a(x, _), m(z), x < z.",
    ],
)
def test_datalog_that_nothing_is_said_about(rules: str) -> None:
    assert in_datalog(rules).notices == ()


def test_views_that_were_there_before_are_known() -> None:
    db = in_datalog("m(max<x>) :- b(x).")
    db.rules("q(x) :- a(x, _), m(z), x < z.")
    assert not db.notices
    db.execute("DROP VIEW q; CREATE OR REPLACE VIEW m AS SELECT x AS z FROM b")
    db.rules("r(x) :- a(x, _), m(z), x < z.")
    assert db.notices == (f"'r' compares every row of 'a' with every row of 'm' (<rules>:1:24){ADVICE}",)


def test_of_a_view_that_is_replaced() -> None:
    db = in_sql("SELECT id FROM s")
    db.execute("CREATE OR REPLACE VIEW q AS SELECT s.id FROM s JOIN t ON qty < lim")
    assert db.notices == (f"'q' compares every row of 's' with every row of 't' (<sql>:1:58){ADVICE}",)
