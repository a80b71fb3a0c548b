"""Types of recursive columns: those of the branches that do not recurse."""

from __future__ import annotations

import decimal

import pytest

import whence
from whence.errors import EvaluationError

START = 2**52


@pytest.mark.parametrize("engine", ["local", "reference"])
@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("t.x + t.x", {START, 2 * START, 4 * START}),
        ("t.x * 2", {START, 2 * START, 4 * START}),
        ("-t.x", {START, -START}),
        ("abs(t.x)", {START}),
        ("round(t.x)", {START}),
    ],
)
def test_integers_stay_exact(engine: str, step: str, expected: set[int]) -> None:
    db = whence.connect(engine=engine)
    db.execute("CREATE TABLE k(a BIGINT NOT NULL)")
    db.insert("k", [(START,)])
    db.execute(
        f"CREATE VIEW v AS WITH RECURSIVE t(x) AS (SELECT a FROM k UNION SELECT {step} FROM t WHERE t.x < {3 * START}) "
        "SELECT x FROM t"
    )
    rows = db.rows("v")
    assert rows == {(x,) for x in expected}
    assert all(type(x) is int for (x,) in rows)


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_overflow_is_noticed(engine: str) -> None:
    db = whence.connect(engine=engine)
    db.execute("CREATE TABLE k(a BIGINT NOT NULL)")
    db.insert("k", [(2**62,)])
    with pytest.raises(EvaluationError, match="does not fit BIGINT"):
        db.execute(
            "CREATE VIEW v AS WITH RECURSIVE t(x) AS (SELECT a FROM k UNION SELECT x + x FROM t) SELECT x FROM t"
        )


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_the_best_of_decimals_joined_with_themselves(engine: str) -> None:
    db = whence.connect(engine=engine)
    db.execute("CREATE TABLE hop(src INT NOT NULL, dst INT NOT NULL, km DECIMAL(10,2) NOT NULL)")
    db.insert("hop", [(1, 2, decimal.Decimal("0.10")), (2, 3, decimal.Decimal("0.20"))])
    db.execute(
        "CREATE VIEW v AS WITH RECURSIVE way(src, dst, km) AS ("
        "SELECT src, dst, CAST(km AS DECIMAL(38,2)) FROM hop UNION "
        "SELECT a.src, b.dst, min(a.km + b.km) FROM way a JOIN way b ON a.dst = b.src GROUP BY a.src, b.dst) "
        "SELECT * FROM way"
    )
    assert (1, 3, decimal.Decimal("0.30")) in db.rows("v")


def test_types_pass_through_expressions_that_need_each_other() -> None:
    db = whence.connect()
    db.execute("CREATE TABLE k(a BIGINT NOT NULL)")
    db.insert("k", [(2**53 + 1,)])
    db.execute(
        "CREATE VIEW v AS WITH RECURSIVE odd(x) AS (SELECT -x FROM even), "
        "even(x) AS (SELECT a FROM k UNION SELECT abs(x) FROM odd) SELECT x FROM odd"
    )
    assert db.rows("v") == {(-(2**53) - 1,)}


def test_a_branch_that_reads_itself_through_an_inner_with() -> None:
    db = whence.connect()
    db.execute("CREATE TABLE k(a BIGINT NOT NULL)")
    db.insert("k", [(2**53 + 1,)])
    db.execute(
        "CREATE VIEW v AS WITH RECURSIVE t(x) AS ("
        "WITH s(y) AS (SELECT -x FROM t) SELECT a FROM k UNION SELECT y FROM s) SELECT x FROM t"
    )
    assert db.rows("v") == {(2**53 + 1,), (-(2**53) - 1,)}
