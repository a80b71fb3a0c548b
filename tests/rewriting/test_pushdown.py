"""Conditions that go down to hidden relations: which do, and that views stay the same."""

from __future__ import annotations

import random

import pytest

import whence
from whence.lang.datalog.parse import parse_datalog
from whence.lang.datalog.write import rule_text
from whence.rewriting.pushdown import push_conditions


def pushed(program: str, *, hidden: str = "h", recursive: str = "") -> list[str]:
    rules = parse_datalog(program).rules
    found = push_conditions(rules, lambda name: name in hidden.split(), recursive.split())
    return [rule_text(rule) for rule, before in zip(found, rules, strict=True) if rule != before]


def test_every_rule_of_the_relation_gets_it() -> None:
    found = pushed("h(x, y) :- a(x), b(x, y). h(x, 0) :- a(x), !b(x, _). v(y) :- h(x, y), x < 3.")
    assert found == ["h(x, y) :- a(x), b(x, y), x < 3.", "h(x, 0) :- a(x), !b(x, _), x < 3."]


def test_it_goes_on_to_relations_further_down() -> None:
    found = pushed("g(x) :- a(x, _). h(x) :- g(x), b(x). v(x) :- h(x), x < 3.", hidden="g h")
    assert found == ["g(x) :- a(x, _), x < 3.", "h(x) :- g(x), b(x), x < 3."]


def test_an_atom_that_stands_twice_stays_so() -> None:
    """In a bag it counts twice."""
    assert pushed("h(x) :- a(x), a(x). v(x) :- h(x), x < 3.") == ["h(x) :- a(x), a(x), x < 3."]
    assert pushed("h(x) :- a(x), a(x). v(x) :- h(x).") == []


def test_a_group_is_left_out_as_a_whole() -> None:
    assert pushed("h(x, sum<y>) :- a(x, y). v(x, s) :- h(x, s), x < 3, s > 7.") == ["h(x, sum<y>) :- a(x, y), x < 3."]


@pytest.mark.parametrize(
    "program",
    [
        "h(x) :- a(x). v(x) :- h(x), x < 3. w(x) :- h(x).",
        "h(x) :- a(x). v(x) :- b(x), !h(x), x < 3.",
        "h(x) :- a(x). v(x) :- h(x), h(y), x < 3, y < 4.",
        "h(x) :- a(x). v(x) :- h(x), 6 / x < 3.",
        "h(x + 1) :- a(x). v(x) :- h(x), x < 3.",
        "h(x) :- a(x). v(x) :- h(x), b(y), x < y.",
        "h(1). h(x) :- a(x). v(x) :- h(x), x < 3.",
    ],
    ids=["another reader", "negated", "read twice", "may fail", "computed", "of two relations", "a fact"],
)
def test_it_stays_where_it_is(program: str) -> None:
    assert pushed(program) == []


def test_a_recursion_and_what_is_seen_stay_as_they_are() -> None:
    program = "h(x) :- a(x). h(y) :- h(x), b(x, y). v(x) :- h(x), x < 3."
    assert pushed(program, recursive="h") == []
    assert pushed("h(x) :- a(x). v(x) :- h(x), x < 3.", hidden="") == []


QUERIES = (
    "SELECT a.k, y, z FROM a JOIN c ON a.k = c.k LEFT JOIN b ON a.x = b.k WHERE z > 5 AND a.x < 3",
    "SELECT a.k, y FROM a LEFT JOIN b ON a.x = b.k WHERE y IS NULL OR y < 4",
    "SELECT a.k FROM a FULL JOIN a AS other ON a.k = other.k WHERE a.k > 0",
    "SELECT a.k, y FROM a FULL JOIN b ON a.x = b.k WHERE a.k > 1 AND y IN (1, 2, 3)",
    "SELECT * FROM (SELECT k, count(*) AS n, max(x) AS m FROM a GROUP BY k) AS g WHERE k <> 2 AND n > 1",
    "SELECT * FROM (SELECT k FROM a UNION ALL SELECT y FROM b) AS u WHERE k BETWEEN 2 AND 4",
    "SELECT * FROM (SELECT k, x, rank() OVER (PARTITION BY k ORDER BY x) AS r FROM a) AS w WHERE k = 1 AND r = 1",
    "SELECT a.k FROM a WHERE x > 1 AND NOT EXISTS (SELECT * FROM (SELECT k, y FROM b) AS s WHERE s.k = a.x AND y > 2)",
)


@pytest.mark.parametrize("query", QUERIES)
def test_views_follow_changes(query: str) -> None:
    """Against what DuckDB answers, over the same rows."""
    pick = random.Random(query)
    with whence.connect() as db, whence.connect(engine="reference") as reference:
        for each in (db, reference):
            each.execute("CREATE TABLE a(k INT, x INT); CREATE TABLE b(k INT, y INT); CREATE TABLE c(k INT, z INT)")
        db.execute(f"CREATE VIEW v AS {query}")
        rows: dict[str, list[tuple[int | None, ...]]] = {"a": [], "b": [], "c": []}
        for _ in range(25):
            name = pick.choice("abc")
            came = [tuple(pick.choice([None, 0, 1, 2, 3, 4, 6]) for _ in "kx") for _ in range(pick.randrange(4))]
            gone = pick.sample(rows[name], min(len(rows[name]), pick.randrange(3)))
            for row in gone:
                rows[name].remove(row)
            rows[name] += came
            for each in (db, reference):
                with each.batch() as batch:
                    batch.insert(name, came)
                    batch.delete(name, gone)
            answer = sorted(map(str, reference.query(query).to_pylist()))
            assert sorted(map(str, db.table("v").to_pylist())) == answer
